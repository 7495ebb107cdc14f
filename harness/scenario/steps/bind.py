"""`bind`: a pod that waits is told its place."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from numaproof.errors import UserError
from numaproof.fake_sysfs.forms import TRUTH, Key, at_least_one, shape
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.scenario.binding import NOWHERE, OFFER, PLACE, Place, parse_place
from numaproof.harness.scenario.fields import Fields
from numaproof.harness.scenario.pods import PodSpec
from numaproof.harness.scenario.steps.action import NAME, Action, Done, Known, Story


@dataclass(frozen=True, slots=True)
class Bind(Action):
    """A pod of an earlier step that waits is told its NUMA node, its CPUs, or both; perhaps without the permission.

    - bind: {pod: first, numa: 0}
      expect: {reason: Pending}
    - bind: {pod: first, cpus: {numa: 0, count: half numa.cpus}}
      expect: {containers: {app: {cpu_count: half numa.cpus}}}
    - bind: {pod: first, cpus: 0-3, permitted: false}
      expect: {reason: Forbidden}
    """

    name = "bind"
    form = shape(
        "bind",
        "The place of a pod that waits.",
        {
            "pod": Key(NAME, "the pod, of an earlier step", required=True),
            **PLACE,
            "permitted": Key(TRUTH, "false: without the permission to bind", default=True),
        },
        at_least_one(tuple(PLACE)),
    )
    must_expect = True
    pod: PodSpec
    place: Place
    permitted: bool

    @classmethod
    def parse(cls, value: Any, where: Where, known: Known) -> Self:
        """`pod`, `numa`, `cpus` and `permitted`."""
        fields = Fields(value, where, cls.form)
        name = known.check_pod(fields.raw("pod"), fields.at("pod"))
        place = parse_place(fields)
        if place == NOWHERE:
            raise UserError(f"{where}: binds {name} to nothing; give numa, cpus, or both")
        return cls(known.pods[name], place, fields.flag("permitted"))

    @property
    def needs_offer(self) -> str:
        """A kubelet binds no pods."""
        return OFFER

    @property
    def about(self) -> PodSpec:
        """The pod."""
        return self.pod

    def named_nodes(self) -> Iterator[int]:
        """Where it is bound to."""
        return self.place.named_nodes()

    def act(self, story: Story, where: str) -> Done:
        """Bind the pod; what it gets it must keep."""
        node_id = self.place.numa_node_id(story.sizes)
        cpus = self.place.cpu_affinity(story.sizes, f"{where}.bind")
        outcome = story.rig.node.bind(self.pod.name, node_id, cpus, permitted=self.permitted)
        story.decided(self.pod, outcome)
        return Done(outcome)

    def told(self, story: Story, where: str) -> str:
        """The pod and its place."""
        node_id = self.place.numa_node_id(story.sizes)
        cpus = self.place.cpu_affinity(story.sizes, f"{where}.bind")
        parts = [] if node_id is None else [f"NUMA node {node_id}"]
        parts += [] if cpus is None else [f"the CPUs {cpus}"]
        return f"bind {self.pod.name} to {' and '.join(parts)}{'' if self.permitted else ', without the permission'}"

    def explain(self, story: Story, where: str) -> list[str]:
        """What the node decides about a pod that came with this place, and why."""
        if "explain" not in story.rig.node.offers:
            return []
        manifest = self.pod.manifest(story.sizes, where)
        place = self.place.fields(story.sizes, f"{where}.bind")
        return story.rig.node.explain({**manifest, "spec": {**manifest["spec"], **place}})
