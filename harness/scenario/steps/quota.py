"""`quota`: how many dedicated CPUs all pods together may have."""

from dataclasses import dataclass, replace
from typing import Any, Self

from numaproof.errors import UserError
from numaproof.fake_sysfs.forms import Form, Key, any_of, shape
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.scenario.binding import OFFER
from numaproof.harness.scenario.fields import Fields
from numaproof.harness.scenario.size_words import SIZE, check_size
from numaproof.harness.scenario.steps.action import Action, Done, Known, Story


@dataclass(frozen=True, slots=True)
class Quota(Action):
    """The namespace of all pods gets a quota of dedicated CPUs, another one, or none any more.

    - quota: {dedicated_cpu: half numa.cpus}
    - quota: {dedicated_cpu: null}
    """

    name = "quota"
    form = shape(
        "quota",
        "What all pods of the namespace together may have.",
        {
            "dedicated_cpu": Key(
                any_of(SIZE, Form({"type": "null"})), "so many dedicated CPUs, a size; null: any number", required=True
            )
        },
    )
    dedicated_cpu: str | None  # a size; None: any number

    @classmethod
    def parse(cls, value: Any, where: Where, known: Known) -> Self:
        """`dedicated_cpu`."""
        fields = Fields(value, where, cls.form)
        if "dedicated_cpu" not in fields:
            raise UserError(f"{fields.at('dedicated_cpu')}: is missing; write a size, or null for any number")
        size = fields.raw("dedicated_cpu")
        return cls(None if size is None else check_size(size, fields.at("dedicated_cpu")))

    @property
    def needs_offer(self) -> str:
        """Quotas are the API server's; this one is the node's own."""
        return OFFER

    def act(self, story: Story, where: str) -> Done:
        """Set the quota; pods that are here stay."""
        outcome = story.rig.node.set_quota(self._amount(story, where))
        return Done(replace(outcome, containers=story.held().containers))

    def told(self, story: Story, where: str) -> str:
        """The new quota."""
        amount = self._amount(story, where)
        limit = "any number of" if amount is None else f"at most {amount}"
        return f"quota: {limit} dedicated CPUs for all pods together"

    def _amount(self, story: Story, where: str) -> str | None:
        size = self.dedicated_cpu
        return None if size is None else story.sizes.resolve(size, f"{where}.quota.dedicated_cpu")
