"""The place that a scenario gives to a pod: a NUMA node by its position, and CPUs by how many of a NUMA node."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs.forms import Form, Key, any_of, mapping_of, shape
from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.pods.taints import AFFINITY_VALUES, ALL_THREE, NUMA_AFFINITY
from numaproof.harness.scenario.fields import Fields
from numaproof.harness.scenario.size_words import COUNT, check_count
from numaproof.harness.scenario.sizes import Sizes

CPUS_OF_NODE = shape(
    "cpusOfNode",
    "So many CPUs of a NUMA node that are not reserved, the lowest ones after those that are skipped.",
    {
        "numa": Key(Form({"type": "integer"}), "the position of the node: 0 is the first, -1 the last", default=0),
        "count": Key(COUNT, "how many CPUs, a size", required=True),
        "skip": Key(COUNT, "how many CPUs before them stay free, a size", default=0),
    },
)
_CPUS_AS_TEXT = Form({"type": ["string", "integer"]})
PLACE: Mapping[str, Key] = {
    "numa": Key(
        Form({"type": ["integer", "string"]}),
        "the NUMA node that the pod is bound to: its position; a text is an id, and reaches the node as it is",
    ),
    "cpus": Key(
        any_of(CPUS_OF_NODE, _CPUS_AS_TEXT),
        "the CPUs that the pod is bound to: so many of a node, cores of the first one (core1-2), or a list as it is",
    ),
}
# Kubernetes' own fields, which the node judges, or in short.
TOLERATION = any_of(
    Form({"type": "string", "pattern": "^[^=:]+(?:=[^:]+)?$", "examples": ["CPUAffinity=dedicated", "CPUAffinity"]}),
    mapping_of(Form({})),
)
OFFER = "affinity"  # what a node must offer to be told of such places
_OWN_TAINTS = {*AFFINITY_VALUES, NUMA_AFFINITY}


@dataclass(frozen=True, slots=True)
class CpusOfNode:
    """So many CPUs of a NUMA node that are not reserved, the lowest ones after those that are skipped."""

    node: int  # its position
    count: str
    skip: str = "0"

    def listed(self, sizes: Sizes, where: str) -> str:
        """The CPUs on a machine, in the kernel's list format."""
        free = sizes.free_cpus.get(sizes.node(self.node), ())
        skip, count = sizes.count(self.skip, f"{where}.skip"), sizes.count(self.count, f"{where}.count")
        if count < 1 or skip < 0 or skip + count > len(free):
            wanted = f"{count} CPUs after {skip} of NUMA node {self.node}"
            raise UserError(f"{where}: {wanted}, which has {len(free)} that are not reserved; say so in `needs`")
        return format_cpulist(free[skip : skip + count])


@dataclass(frozen=True, slots=True)
class Place:
    """Where a pod is bound to."""

    numa: int | str | None = None  # a position; a text is an id, and reaches the node as it is; None: not told
    cpus: CpusOfNode | str | None = None  # a text: cores of the first NUMA node, or a list as it is; None: not told

    def numa_node_id(self, sizes: Sizes) -> str | None:
        """What a pod's spec has as numaNodeID; None: nothing."""
        return str(sizes.node(self.numa)) if isinstance(self.numa, int) else self.numa

    def cpu_affinity(self, sizes: Sizes, where: str) -> str | None:
        """What a pod's spec has as cpuAffinity; None: nothing."""
        if isinstance(self.cpus, CpusOfNode):
            return self.cpus.listed(sizes, f"{where}.cpus")
        if self.cpus is not None and self.cpus.startswith("core"):
            return format_cpulist(sorted(sizes.cpus(self.cpus, f"{where}.cpus")))
        return self.cpus

    def fields(self, sizes: Sizes, where: str) -> dict[str, str]:
        """What it adds to a pod's spec."""
        told = {"numaNodeID": self.numa_node_id(sizes), "cpuAffinity": self.cpu_affinity(sizes, where)}
        return {name: value for name, value in told.items() if value is not None}

    def named_nodes(self) -> Iterator[int]:
        """The NUMA nodes that it names, by their positions."""
        if isinstance(self.numa, int):
            yield self.numa
        if isinstance(self.cpus, CpusOfNode):
            yield self.cpus.node


NOWHERE = Place()


def parse_place(fields: Fields) -> Place:
    """The place of `numa` and `cpus`, each of which may be left out."""
    numa = fields.raw("numa")
    if "numa" in fields and not fields.fits("numa"):
        raise UserError(f"{fields.at('numa')}: {numa!r} is not a NUMA node; write its position, or an id as a text")
    return Place(numa, _cpus(fields.raw("cpus"), fields.at("cpus")) if "cpus" in fields else None)


def _cpus(value: Any, where: Where) -> CpusOfNode | str:
    if _CPUS_AS_TEXT.fits(value):
        return str(value)
    if not isinstance(value, Mapping):
        example = "{numa: 0, count: half numa.cpus}"
        raise UserError(f"{where}: {value!r} is not a set of CPUs; write {example}, core1-2 or a list such as 0-3,8")
    fields = Fields(value, where, CPUS_OF_NODE)
    node = fields.raw("numa")
    if not fields.fits("numa"):
        raise UserError(f"{fields.at('numa')}: {node!r} is not the position of a NUMA node; write 0, 1 or -1")
    if "count" not in fields:
        raise UserError(f"{fields.at('count')}: is missing; write how many CPUs, such as half numa.cpus")
    return CpusOfNode(
        node,
        check_count(fields.raw("count"), fields.at("count")),
        check_count(fields.raw("skip"), fields.at("skip")),
    )


def parse_toleration(value: Any, where: Where) -> dict[str, Any]:
    """A toleration as Kubernetes has it, or in short: `KEY=VALUE`, or `KEY`, which may have any value."""
    if isinstance(value, Mapping):
        return dict(value)  # the node says what is wrong in it: that may be what a story is about
    if not TOLERATION.fits(value):
        raise UserError(f"{where}: {value!r} is not a toleration; write KEY=VALUE, KEY, or a mapping with its fields")
    key, equals, told = str(value).partition("=")
    return {"key": key, "operator": "Equal", "value": told} if equals else {"key": key, "operator": "Exists"}


def names_own_taints(taints: Any) -> bool:
    """Whether some of a list of taints, or of tolerations, are those of the NUMA proposal."""
    return isinstance(taints, list | tuple) and any(
        isinstance(one, Mapping) and (one.get("key") in _OWN_TAINTS or one.get("effect") == ALL_THREE) for one in taints
    )


def speaks_of_places(spec: Mapping[str, Any]) -> bool:
    """Whether a pod's spec asks for what the NUMA proposal adds."""
    return bool({"numaNodeID", "cpuAffinity"} & spec.keys()) or names_own_taints(spec.get("tolerations"))
