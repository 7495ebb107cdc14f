"""`lose`: the node loses a file while it is down."""

from dataclasses import dataclass
from typing import Any, Self

from numaproof.errors import UserError
from numaproof.fake_sysfs.forms import one_of
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.scenario.steps.action import Action, Done, Known, Story


@dataclass(frozen=True, slots=True)
class Lose(Action):
    """The node is killed, loses its device checkpoint, and starts again.

    - lose: device_checkpoint
    """

    name = "lose"
    form = one_of(("device_checkpoint",))
    restarts_node = True

    @classmethod
    def parse(cls, value: Any, where: Where, known: Known) -> Self:
        """`device_checkpoint`."""
        if not cls.form.fits(value):
            raise UserError(f"{where}: {value!r}: write `device_checkpoint`: the node restarts, and the file is gone")
        return cls()

    def act(self, story: Story, where: str) -> Done:
        """Restart the node without the file."""
        story.rig.node.lose_device_checkpoint()
        return Done(story.held())

    def told(self, story: Story, where: str) -> str:
        """What is lost."""
        return "the node is killed, loses its device checkpoint, and starts again"
