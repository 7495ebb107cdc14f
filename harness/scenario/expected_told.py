"""What a scenario expects of a step, in words for people, on the machine of an instance."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.scenario.model import Expected
from numaproof.harness.scenario.sizes import Sizes

_ALIGNED = {
    "container": "each container on one NUMA node",
    "pod": "all containers on the same NUMA node",
    "no": "a container on several NUMA nodes",
}


def expected_told(expected: Expected, sizes: Sizes, where: str) -> Iterator[str]:
    """Each thing that is expected; sizes are worked out, and NUMA nodes are those of the machine."""
    if expected.refuses is not None:
        yield f"the node refuses to start, and says {expected.refuses!r}"
    if expected.admitted is not None:
        yield "admitted" if expected.admitted else f"not admitted{_because(expected.reason)}"
    if expected.message is not None:
        yield f"a message with {sizes.filled(expected.message, where)!r}"
    if expected.aligned is not None:
        yield _ALIGNED[expected.aligned]
    if expected.numa is not None:
        count = sizes.count(expected.numa, where)
        yield f"each container on {count} NUMA node{'' if count == 1 else 's'}"
    if expected.nodes is not None:
        yield f"on {_nodes(expected.nodes, sizes)}"
    for name, keys in expected.containers.items():
        yield f"{name}: {'; '.join(_container(keys, sizes, where))}"
    if expected.cost.at_most is not None:
        yield f"a cost of at most {expected.cost.at_most:g}"
    if expected.cost.optimal is not None:
        yield f"a cost that is {'' if expected.cost.optimal else 'not '}proven to be the least"
    if expected.confined.cpus is not None:
        yield f"confined to {_cpus(expected.confined.cpus, sizes, where)}"
    if expected.confined.memory_nodes is not None:
        yield f"memory confined to {_nodes(expected.confined.memory_nodes, sizes) or 'no NUMA node'}"
    for resource, calls in expected.calls.items():
        yield f"calls of {resource}: {', '.join(f'{times} x {call}' for call, times in calls.items())}"
    for sample, value in expected.metrics.items():
        yield f"{sample} = {sizes.number(value, where):g}"
    for pod, names in expected.listed.items():
        shown = "nothing" if names is None else f"the containers {', '.join(names) or 'none'}"
        yield f"PodResources shows {shown} of {pod}"
    if expected.allocatable:
        yield f"allocatable in all: {'; '.join(_container(expected.allocatable, sizes, where))}"
    for what, pods in (("waiting", expected.pending), ("evicted", expected.evicted)):
        if pods is not None:
            yield f"{what}: {', '.join(sorted(pods)) or 'nobody'}"


def _because(reason: str | None) -> str:
    return f" ({reason})" if reason else ""


def _container(keys: Mapping[str, Any], sizes: Sizes, where: str) -> Iterator[str]:
    if "cpus" in keys:
        yield _cpus(keys["cpus"], sizes, where)
    if "cpu_count" in keys:
        count = sizes.count(str(keys["cpu_count"]), where)
        yield f"{count} CPU{'' if count == 1 else 's'}"
    if "same_cpus_as" in keys:
        yield f"the CPUs of {keys['same_cpus_as']}"
    if "nodes" in keys:
        yield f"on {_nodes(keys['nodes'], sizes)}"
    if "memory_nodes" in keys:
        yield f"memory on {_nodes(keys['memory_nodes'], sizes)}"
    for resource, size in keys.get("memory", {}).items():
        yield f"{sizes.resolve(str(size), where)} of {resource}"
    for resource, wanted in keys.get("devices", {}).items():
        yield _devices(resource, wanted, sizes, where)
    if "bridges" in keys:
        one, other = keys["bridges"]["between"]
        yield f"at most {keys['bridges']['at_most']} PCI bridges between {one} and {other}"


def _cpus(cpus: Any, sizes: Sizes, where: str) -> str:
    if isinstance(cpus, Mapping):
        counts = (
            f"{sizes.count(str(count), where)} CPUs of NUMA {sizes.node(int(node))}" for node, count in cpus.items()
        )
        return " and ".join(counts)
    listed = format_cpulist(sorted(sizes.cpus(str(cpus), where)))
    return f"CPUs {listed}" if listed else "no CPUs of its own"


def _devices(resource: str, wanted: Any, sizes: Sizes, where: str) -> str:
    if isinstance(wanted, Mapping):
        counts = (f"{sizes.count(str(count), where)} {_held_by(str(nodes), sizes)}" for nodes, count in wanted.items())
        return f"{resource}: {', '.join(counts)}"
    if isinstance(wanted, int):
        return f"{wanted} {resource}"
    return f"{resource} {' '.join(map(str, wanted)) or 'none'}"


def _held_by(key: str, sizes: Sizes) -> str:
    """Whose devices are counted: those of NUMA nodes by their positions, or of none."""
    nodes = json.loads(f"[{key}]") if key.replace("-", "").replace(",", "").isdecimal() else None
    return "of no NUMA node" if nodes is None else f"of {_nodes(nodes, sizes)}"


def _nodes(positions: Any, sizes: Sizes) -> str:
    return f"NUMA {format_cpulist(sorted(sizes.node_ids(positions)))}"
