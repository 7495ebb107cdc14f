"""`remove`: a pod goes."""

from dataclasses import dataclass
from typing import Any, Self

from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.scenario.steps.action import NAME, Action, Done, Known, Story


@dataclass(frozen=True, slots=True)
class Remove(Action):
    """A pod of an earlier step goes; one that was rejected holds nothing.

    - remove: first
    """

    name = "remove"
    form = NAME
    pod: str

    @classmethod
    def parse(cls, value: Any, where: Where, known: Known) -> Self:
        """The name of a pod."""
        return cls(known.check_pod(value, where))

    def act(self, story: Story, where: str) -> Done:
        """Take the pod away."""
        story.rig.node.remove(self.pod)
        story.gone(self.pod)
        return Done(story.held())

    def told(self, story: Story, where: str) -> str:
        """Who goes."""
        return f"remove {self.pod}"
