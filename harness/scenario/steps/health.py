"""`health`: devices fall ill, or recover."""

from dataclasses import dataclass
from typing import Any, Self

from numaproof.errors import UserError
from numaproof.fake_sysfs.forms import TRUTH, Form, Key, list_of, shape
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.scenario.fields import TEXT, Fields
from numaproof.harness.scenario.steps.action import Action, Done, Known, Story
from numaproof.near import did_you_mean


@dataclass(frozen=True, slots=True)
class Health(Action):
    """Devices of a plugin fall ill, or recover.

    - health: {resource: example.com/nic, ids: [nic-a], healthy: false}
    """

    name = "health"
    form = shape(
        "health",
        "Devices of a plugin, and how they are from now on.",
        {
            "resource": Key(TEXT, "the plugin's resource", required=True),
            "ids": Key(list_of(Form({}), least=1), "the devices, by their ids", required=True),
            "healthy": Key(TRUTH, "false: they fall ill, true: they recover", default=False),
        },
    )
    resource: str
    ids: tuple[str, ...]
    healthy: bool

    @classmethod
    def parse(cls, value: Any, where: Where, known: Known) -> Self:
        """`resource`, `ids` and `healthy`; ids that the scenario does not name are checked on the machine."""
        fields = Fields(value, where, cls.form)
        ids = tuple(str(one) for one in fields.items("ids"))
        resource = known.check_resource(fields.text("resource"), fields.at("resource"))
        for i, one in enumerate(ids):
            if known.devices[resource] and one not in known.devices[resource]:
                here = ", ".join(sorted(known.devices[resource]))
                told = f"{resource} has no device {one!r} (it has: {here})"
                raise UserError(f"{fields.at('ids').at(i)}: {told}{did_you_mean(one, known.devices[resource])}")
        return cls(resource, ids, fields.flag("healthy"))

    def act(self, story: Story, where: str) -> Done:
        """Change the devices' health, and wait until the node knows."""
        story.rig.plugins.set_health(self.resource, self.ids, self.healthy)
        return Done(story.held())

    def told(self, story: Story, where: str) -> str:
        """The devices, and what becomes of them."""
        return f"{', '.join(self.ids)} of {self.resource} {'recover' if self.healthy else 'fall ill'}"
