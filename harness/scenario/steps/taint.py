"""`taint`: the node's taints change."""

from dataclasses import dataclass, replace
from typing import Any, Self

from numaproof.errors import UserError
from numaproof.fake_sysfs.forms import Form, Key, list_of, shape
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.scenario.binding import OFFER
from numaproof.harness.scenario.fields import Fields
from numaproof.harness.scenario.steps.action import Action, Done, Known, Story

_ADDED = Form({"type": "string", "pattern": r"\S.*:|:.*\S", "examples": ["CPUAffinity=dedicated:NoSchedule"]})
_REMOVED = Form({"type": "string", "pattern": r"^[^=]*[^=\s][^=]*$", "examples": ["NUMACPUAffinity"]})


@dataclass(frozen=True, slots=True)
class Taint(Action):
    """Taints come to the node, or go; pods that do not tolerate a new one are evicted.

    - taint: {add: ["CPUAffinity=dedicated:NoScheduleNoAdmitNoExecute"], remove: [NUMACPUAffinity]}
      expect: {evicted: [first]}
    """

    name = "taint"
    form = shape(
        "taint",
        "The taints that change.",
        {
            "add": Key(list_of(_ADDED), "taints that come: KEY=VALUE:EFFECT"),
            "remove": Key(list_of(_REMOVED), "taints that go: KEY, or KEY:EFFECT"),
        },
        {"anyOf": [{"required": [key], "properties": {key: {"minItems": 1}}} for key in ("add", "remove")]},
    )
    evicts = True
    add: tuple[str, ...]
    remove: tuple[str, ...]

    @classmethod
    def parse(cls, value: Any, where: Where, known: Known) -> Self:
        """`add` and `remove`; whether a node may have such taints it says itself."""
        fields = Fields(value, where, cls.form)
        add = tuple(_text(one, fields.at("add").at(i), "KEY=VALUE:EFFECT") for i, one in enumerate(fields.items("add")))
        remove = tuple(
            _text(one, fields.at("remove").at(i), "KEY or KEY:EFFECT") for i, one in enumerate(fields.items("remove"))
        )
        for i, one in enumerate(add):
            if ":" not in one:
                raise UserError(f"{fields.at('add').at(i)}: {one!r} is not a taint; write KEY=VALUE:EFFECT")
        for i, one in enumerate(remove):
            if "=" in one:
                raise UserError(f"{fields.at('remove').at(i)}: {one!r}: taints go by key; write KEY or KEY:EFFECT")
        if not add and not remove:
            raise UserError(f"{where}: changes nothing; give add, remove, or both")
        return cls(add, remove)

    @property
    def needs_offer(self) -> str:
        """A kubelet has taints from its first start on, and the API server's after that."""
        return OFFER

    def act(self, story: Story, where: str) -> Done:
        """Change the taints; who is evicted holds nothing any more."""
        outcome = story.rig.node.taint(self.add, self.remove)
        for name in outcome.evicted:
            story.gone(name)
        return Done(replace(outcome, containers=story.held().containers))

    def told(self, story: Story, where: str) -> str:
        """The taints that come and go."""
        parts = [f"{', '.join(self.add)} come" + ("s" if len(self.add) == 1 else "")] if self.add else []
        parts += [f"{', '.join(self.remove)} go" + ("es" if len(self.remove) == 1 else "")] if self.remove else []
        return f"taints of the node: {'; '.join(parts)}"


def _text(value: Any, where: Where, form: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UserError(f"{where}: {value!r} is not a taint; write {form}")
    return value.strip()
