"""`offline`: a CPU goes."""

from dataclasses import dataclass
from typing import Any, Self

from numaproof.errors import UserError
from numaproof.fake_sysfs.forms import Key, shape
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.scenario.fields import WHOLE, Fields
from numaproof.harness.scenario.steps.action import Action, Done, Known, Story


@dataclass(frozen=True, slots=True)
class Offline(Action):
    """The last CPU of a NUMA node goes offline, and the node restarts; it may refuse to.

    - offline: {last_of_numa: 0}
    """

    name = "offline"
    form = shape(
        "offline",
        "The CPU that goes.",
        {"last_of_numa": Key(WHOLE, "the last CPU of this NUMA node, by its position", default=0)},
    )
    restarts_node = True
    changes_machine = True
    node: int  # its position

    @classmethod
    def parse(cls, value: Any, where: Where, known: Known) -> Self:
        """`last_of_numa`."""
        return cls(Fields(value, where, cls.form).number("last_of_numa"))

    def act(self, story: Story, where: str) -> Done:
        """Take the CPU offline, and restart the node."""
        story.rig.surroundings.offline(self._cpu(story, where))
        return Done(story.held())

    def told(self, story: Story, where: str) -> str:
        """Which CPU goes."""
        return f"CPU {self._cpu(story, where)} goes offline, and the node restarts"

    def _cpu(self, story: Story, where: str) -> int:
        here = [cpu.id for cpu in story.machine.cpus if cpu.online and cpu.node == story.sizes.node(self.node)]
        if not here:
            raise UserError(f"{where}.offline: NUMA node {self.node} of {story.machine.name} has no CPUs")
        return max(here)
