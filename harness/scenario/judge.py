"""Compares what was seen with what a step expects; the answer is every difference, in words."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.fake_sysfs.pci_places import Place
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.pods.quantity import parse_quantity
from numaproof.harness.scenario.model import Expected, ExpectedConfined, ExpectedCost
from numaproof.harness.scenario.outcome import ChosenCost, Confined, Outcome, Seen
from numaproof.harness.scenario.pci_ways import of_bridges
from numaproof.harness.scenario.record import Calls
from numaproof.harness.scenario.sizes import Sizes

_ROUNDING = 1e-9  # costs are fractions, and come as doubles


def differences(
    expected: Expected,
    seen: Seen,
    sizes: Sizes,
    node_of_cpu: Mapping[int, int],
    places: Mapping[str, Place],  # of the machine's PCI functions
    where: str,
) -> list[str]:
    """Every way in which what was seen differs from an expectation; empty: none."""
    found = [
        *_of_outcome(expected, seen.outcome, sizes, node_of_cpu, where),
        *_of_bridges(expected, seen.outcome, places),
        *_of_calls(expected, seen.calls),
        *_of_metrics(expected, seen.metrics, sizes, where),
        *_of_pod_resources(expected, seen, sizes, node_of_cpu, where),
        *_of_pods("wait", expected.pending, seen.pending),
    ]
    return [f"{where}: {text}" for text in found]


def _of_outcome(
    expected: Expected, seen: Outcome, sizes: Sizes, node_of_cpu: Mapping[int, int], where: str
) -> Iterable[str]:
    if expected.refuses is not None:
        yield f"expected a refusal to start with {expected.refuses!r}, was up"
    if expected.admitted is not None and expected.admitted != seen.admitted:
        was = "admitted" if seen.admitted else told_refusal(seen)
        rejection = f"rejection ({expected.reason})" if expected.reason is not None else "rejection"
        yield f"expected {'admission' if expected.admitted else rejection}, was {was}"
        return
    if expected.reason is not None and expected.reason != seen.reason:
        yield f"expected the reason {expected.reason}, was {seen.reason} ({seen.message})"
    message = sizes.filled(expected.message or "", f"{where}.expect.message")
    if message not in seen.message:
        yield f"expected a message with {message!r}, was {seen.message!r}"
    by_container = {name: nodes_of(given, node_of_cpu) for name, given in seen.containers.items()}
    if expected.aligned is not None:
        yield from _alignment(expected.aligned, by_container)
    if expected.numa is not None:
        count = sizes.count(expected.numa, f"{where}.expect.numa")
        for name, nodes in by_container.items():
            if nodes and len(nodes) != count:
                yield f"expected {name} on {count} NUMA nodes, was on {sorted(nodes)}"
    if expected.nodes is not None:
        used = set().union(*by_container.values())
        if used != set(sizes.node_ids(expected.nodes)):
            yield f"expected the NUMA nodes {sorted(sizes.node_ids(expected.nodes))}, were {sorted(used)}"
    yield from _of_cost(expected.cost, seen.cost)
    yield from _of_confined(expected.confined, seen.confined, sizes, node_of_cpu, where)
    yield from _of_pods("are evicted", expected.evicted, seen.evicted)
    for name, keys in expected.containers.items():
        if name not in seen.containers:
            yield f"expected a container {name}, were {sorted(seen.containers)}"
        else:
            yield from _container(name, keys, seen, sizes, node_of_cpu, where)


def _of_cost(expected: ExpectedCost, seen: ChosenCost | None) -> Iterable[str]:
    if expected == ExpectedCost():
        return
    if seen is None:
        yield "expected a cost, the node told none (only the policy cost has them)"
        return
    if expected.at_most is not None and seen.cost > expected.at_most + _ROUNDING * seen.cost:
        yield f"expected a cost of at most {expected.at_most:g}, was {seen.cost:g}"
    if expected.optimal is not None and expected.optimal != seen.optimal:
        yield f"expected a cost that is {'' if expected.optimal else 'not '}proven to be the least"


def told_refusal(seen: Outcome) -> str:
    """That something was refused, and why."""
    return f"{'pended' if seen.waits else 'rejected'} ({seen.reason}: {seen.message})"


def _of_confined(
    expected: ExpectedConfined, seen: Confined | None, sizes: Sizes, node_of_cpu: Mapping[int, int], where: str
) -> Iterable[str]:
    if expected == ExpectedConfined():
        return
    if seen is None:
        yield "expected a bound pod, was one that is confined to nothing"
        return
    if expected.cpus is not None:
        name = "the pod's cgroup"
        whole = Outcome(True, containers={name: Assignment(cpus=seen.cpus)})
        yield from _container(name, {"cpus": expected.cpus}, whole, sizes, node_of_cpu, where)
    if expected.memory_nodes is not None:
        nodes = sizes.node_ids(expected.memory_nodes)
        if seen.memory_nodes != frozenset(nodes):
            yield f"expected the pod's memory confined to {sorted(nodes)}, was to {sorted(seen.memory_nodes)}"


def _of_pods(what: str, expected: frozenset[str] | None, seen: Iterable[str]) -> Iterable[str]:
    if expected is not None and expected != frozenset(seen):
        yield f"expected that {sorted(expected)} {what}, were {sorted(seen)}"


def _of_bridges(expected: Expected, seen: Outcome, places: Mapping[str, Place]) -> Iterable[str]:
    for name, keys in expected.containers.items():
        if "bridges" in keys and name in seen.containers:
            yield from of_bridges(name, keys["bridges"], seen.containers[name], places)


def _of_calls(expected: Expected, calls: Calls) -> Iterable[str]:
    for resource, wanted in expected.calls.items():
        for call, times in wanted.items():
            if calls.get(resource, {}).get(call, 0) != times:
                yield f"expected {times} x {call} of {resource}, were {dict(calls.get(resource, {}))}"


def _of_metrics(expected: Expected, samples: Mapping[str, float], sizes: Sizes, where: str) -> Iterable[str]:
    for told, wanted in expected.metrics.items():
        value = sizes.number(wanted, f"{where}.expect.metrics")
        name = re.sub(r'(?<=numa_node=")\d+(?=")', lambda found: str(sizes.node(int(found[0]))), told)
        if samples.get(name) != value:
            yield f"expected the metric {name} to be {value:g}, was {samples.get(name, 'absent')}"


def _of_pod_resources(
    expected: Expected, seen: Seen, sizes: Sizes, node_of_cpu: Mapping[int, int], where: str
) -> Iterable[str]:
    for pod, names in expected.listed.items():
        shown = seen.listed.get(pod)
        if (shown is None) != (names is None) or sorted(shown or ()) != sorted(names or ()):
            yield f"expected PodResources to show {_told(names)} of {pod}, was {_told(shown)}"
    if expected.allocatable:
        name = "all that is allocatable"
        everything = Outcome(True, containers={name: seen.allocatable})
        yield from _container(name, expected.allocatable, everything, sizes, node_of_cpu, where)


def _told(names: Iterable[str] | None) -> str:
    return "nothing" if names is None else f"the containers {sorted(names)}"


def nodes_of(given: Assignment, node_of_cpu: Mapping[int, int]) -> frozenset[int]:
    """The NUMA nodes that a container's CPUs, memory and devices come from."""
    of_devices = (one.numa or () for devices in given.devices.values() for one in devices)
    return frozenset(node_of_cpu[cpu] for cpu in given.cpus).union(_memory_nodes(given), *of_devices)


def _memory_nodes(given: Assignment) -> frozenset[int]:
    return frozenset().union(*(block.nodes for block in given.memory))


def _alignment(aligned: str, by_container: Mapping[str, frozenset[int]]) -> Iterable[str]:
    spread = {name: sorted(nodes) for name, nodes in by_container.items() if len(nodes) > 1}
    if aligned == "no":
        if not spread:
            yield f"expected a container on several NUMA nodes, were {_shown(by_container)}"
        return
    if spread:
        yield f"expected each container on one NUMA node, were {_shown(by_container)}"
    elif aligned == "pod" and len(frozenset().union(*by_container.values())) > 1:
        yield f"expected all containers on the same NUMA node, were {_shown(by_container)}"


def _shown(by_container: Mapping[str, frozenset[int]]) -> str:
    return ", ".join(f"{name} on {sorted(nodes)}" for name, nodes in by_container.items())


def _listed(cpus: Iterable[int]) -> str:
    return format_cpulist(sorted(cpus))


def _nodes_key(key: str, sizes: Sizes) -> str:
    """`1` or `0,1`, positions of NUMA nodes, as ids; anything else (`none`) as it is."""
    if not re.fullmatch(r"-?\d+(,-?\d+)*", key):
        return key
    return ",".join(map(str, sorted(sizes.node_ids(int(node) for node in key.split(",")))))


def _container(
    name: str, keys: Mapping[str, Any], seen: Outcome, sizes: Sizes, node_of_cpu: Mapping[int, int], where: str
) -> Iterable[str]:
    given = seen.containers[name]
    if "cpus" in keys and isinstance(keys["cpus"], Mapping):
        by_node = Counter(node_of_cpu[cpu] for cpu in given.cpus)
        at = f"{where}.expect.containers.{name}.cpus"
        counts = {sizes.node(int(node)): sizes.count(str(count), at) for node, count in keys["cpus"].items()}
        if dict(by_node) != counts:
            yield f"expected {name}'s CPUs by NUMA node {counts}, were {dict(by_node)}"
    elif "cpus" in keys:
        cpus = sizes.cpus(str(keys["cpus"]), f"{where}.expect.containers.{name}.cpus")
        if given.cpus != cpus:
            yield f"expected {name} on the CPUs {_listed(cpus)}, were {_listed(given.cpus) or 'shared'}"
    if "cpu_count" in keys:
        count = sizes.count(str(keys["cpu_count"]), f"{where}.expect.containers.{name}.cpu_count")
        if len(given.cpus) != count:
            yield f"expected {count} CPUs for {name}, were {len(given.cpus)}"
    other = seen.containers.get(keys["same_cpus_as"]) if "same_cpus_as" in keys else given
    if other is None or given.cpus != other.cpus:
        yield f"expected {name} on the CPUs of {keys['same_cpus_as']}"
    if "nodes" in keys and nodes_of(given, node_of_cpu) != (nodes := frozenset(sizes.node_ids(keys["nodes"]))):
        yield f"expected {name} on the NUMA nodes {sorted(nodes)}, were {sorted(nodes_of(given, node_of_cpu))}"
    if "memory_nodes" in keys and _memory_nodes(given) != (nodes := frozenset(sizes.node_ids(keys["memory_nodes"]))):
        yield f"expected {name}'s memory on {sorted(nodes)}, was on {sorted(_memory_nodes(given))}"
    for resource, size in keys.get("memory", {}).items():
        wanted = int(parse_quantity(sizes.resolve(str(size), where)))
        amount = sum(block.size for block in given.memory if block.resource == resource)
        if amount != wanted:
            yield f"expected {wanted} bytes of {resource} for {name}, were {amount}"
    for resource, wanted in keys.get("devices", {}).items():
        held = {one.id: one.numa for one in given.devices.get(resource, ())}
        if isinstance(wanted, int):
            if len(held) != wanted:
                yield f"expected {wanted} of {resource} for {name}, were {sorted(held)}"
        elif isinstance(wanted, Mapping):
            at = f"{where}.expect.containers.{name}.devices"
            by_nodes = {_nodes_key(str(key), sizes): sizes.count(str(count), at) for key, count in wanted.items()}
            held_by = Counter(",".join(map(str, nodes or ())) or "none" for nodes in held.values())
            if dict(held_by) != by_nodes:
                yield f"expected {resource} for {name} by NUMA node {by_nodes}, were {dict(held_by)}"
        elif sorted(held) != sorted(map(str, wanted)):
            yield f"expected {sorted(map(str, wanted))} of {resource} for {name}, were {sorted(held)}"
