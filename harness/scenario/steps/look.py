"""`look`: real tools look at the machine."""

from dataclasses import dataclass
from typing import Any, Self

from numaproof.errors import UserError
from numaproof.fake_sysfs.forms import one_of
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.scenario.steps.action import Action, Done, Known, Story


@dataclass(frozen=True, slots=True)
class Look(Action):
    """lscpu, numactl, lstopo and the node must see the machine.

    - look: machine
    """

    name = "look"
    form = one_of(("machine",))

    @classmethod
    def parse(cls, value: Any, where: Where, known: Known) -> Self:
        """`machine`."""
        if not cls.form.fits(value):
            raise UserError(
                f"{where}: {value!r}: write `machine`: the tools' views and the node's are compared with it"
            )
        return cls()

    def act(self, story: Story, where: str) -> Done:
        """Look, and tell what differs."""
        return Done(story.held(), tuple(story.rig.surroundings.look()))

    def told(self, story: Story, where: str) -> str:
        """Who looks."""
        return "lscpu, numactl, lstopo and the node look at the machine"
