"""`restart`: the node, or a plugin, is killed and started again."""

from dataclasses import dataclass
from typing import Any, Self

from numaproof.errors import UserError
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.scenario.steps.action import NAME, Action, Done, Known, Story


@dataclass(frozen=True, slots=True)
class Restart(Action):
    """The node, or the plugin of a resource, is killed and started again; a node may refuse to.

    - restart: node
    - restart: example.com/nic
    """

    name = "restart"
    form = NAME
    restarts_node = True
    resource: str | None  # None: the node

    @classmethod
    def parse(cls, value: Any, where: Where, known: Known) -> Self:
        """`node`, or a resource."""
        if not cls.form.fits(value):
            raise UserError(f"{where}: {value!r}: write `node`, or the resource whose plugin shall restart")
        return cls(None if value == "node" else known.check_resource(value, where))

    def act(self, story: Story, where: str) -> Done:
        """Restart it, and wait until all is as before."""
        if self.resource is None:
            story.rig.node.restart()
        else:
            story.rig.plugins.restart(self.resource)
        return Done(story.held())

    def told(self, story: Story, where: str) -> str:
        """Who restarts."""
        who = "the node" if self.resource is None else f"the plugin of {self.resource}"
        return f"{who} is killed, and starts again"
