"""`stop`: a plugin is killed."""

from dataclasses import dataclass
from typing import Any, Self

from numaproof.errors import UserError
from numaproof.fake_sysfs.forms import Form
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.scenario.steps.action import Action, Done, Known, Story


@dataclass(frozen=True, slots=True)
class Stop(Action):
    """The plugin of a resource is killed, and stays away until it is restarted.

    - stop: example.com/nic
    """

    name = "stop"
    form = Form({"type": "string", "pattern": "^(?!node$).+$"})
    resource: str

    @classmethod
    def parse(cls, value: Any, where: Where, known: Known) -> Self:
        """A resource."""
        if not cls.form.fits(value):
            raise UserError(f"{where}: {value!r}: write the resource whose plugin shall stop")
        return cls(known.check_resource(value, where))

    def act(self, story: Story, where: str) -> Done:
        """End the plugin, and wait until the node knows."""
        story.rig.plugins.stop(self.resource)
        return Done(story.held())

    def told(self, story: Story, where: str) -> str:
        """Who stops."""
        return f"the plugin of {self.resource} is killed, and stays away"
