"""`start`: a pod's containers run for real."""

from dataclasses import dataclass
from typing import Any, Self

from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.scenario.steps.action import NAME, Action, Done, Known, Story


@dataclass(frozen=True, slots=True)
class Start(Action):
    """The containers of a pod are started, and must get what was decided.

    - start: first
    """

    name = "start"
    form = NAME
    starts_containers = True
    pod: str

    @classmethod
    def parse(cls, value: Any, where: Where, known: Known) -> Self:
        """The name of a pod."""
        return cls(known.check_pod(value, where))

    def act(self, story: Story, where: str) -> Done:
        """Start them, and tell what differs."""
        return Done(story.held(), tuple(story.rig.surroundings.start(self.pod)))

    def told(self, story: Story, where: str) -> str:
        """Whose containers start."""
        return f"start the containers of {self.pod} for real"
