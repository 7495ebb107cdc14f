"""Compares what was seen with what a step expects; the answer is every difference, in words."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from fake_sysfs.lists import format_cpulist, parse_cpulist
from harness.scenario.model import Expected
from harness.scenario.outcome import Given, Outcome
from harness.scenario.sizes import Sizes

# resource -> call -> how often
Calls = Mapping[str, Mapping[str, int]]


def differences(
    expected: Expected, seen: Outcome, calls: Calls, sizes: Sizes, node_of_cpu: Mapping[int, int], place: str
) -> list[str]:
    """Every way in which an outcome differs from an expectation; empty: none."""
    return [f"{place}: {text}" for text in _differences(expected, seen, calls, sizes, node_of_cpu, place)]


def _differences(
    expected: Expected, seen: Outcome, calls: Calls, sizes: Sizes, node_of_cpu: Mapping[int, int], place: str
) -> Iterable[str]:
    if expected.refuses is not None:
        yield f"expected a refusal to start with {expected.refuses!r}, was up"
    if expected.admitted is not None and expected.admitted != seen.admitted:
        was = "admitted" if seen.admitted else f"rejected ({seen.reason}: {seen.message})"
        yield f"expected {'admission' if expected.admitted else f'rejection ({expected.reason})'}, was {was}"
        return
    if expected.reason is not None and expected.reason != seen.reason:
        yield f"expected the reason {expected.reason}, was {seen.reason} ({seen.message})"
    if expected.message is not None and expected.message not in seen.message:
        yield f"expected a message with {expected.message!r}, was {seen.message!r}"
    by_container = {name: nodes_of(given, node_of_cpu) for name, given in seen.containers.items()}
    if expected.aligned is not None:
        yield from _alignment(expected.aligned, by_container)
    if expected.numa is not None:
        count = int(sizes.resolve(expected.numa, place))
        for name, nodes in by_container.items():
            if nodes and len(nodes) != count:
                yield f"expected {name} on {count} NUMA nodes, was on {sorted(nodes)}"
    if expected.nodes is not None:
        used = set().union(*by_container.values())
        if used != set(expected.nodes):
            yield f"expected the NUMA nodes {sorted(expected.nodes)}, were {sorted(used)}"
    for name, words in expected.containers.items():
        if name not in seen.containers:
            yield f"expected a container {name}, were {sorted(seen.containers)}"
        else:
            yield from _container(name, words, seen, sizes, node_of_cpu, place)
    for resource, wanted in expected.calls.items():
        for call, times in wanted.items():
            if calls.get(resource, {}).get(call, 0) != times:
                yield f"expected {times} x {call} of {resource}, were {dict(calls.get(resource, {}))}"


def nodes_of(given: Given, node_of_cpu: Mapping[int, int]) -> frozenset[int]:
    """The NUMA nodes that a container's CPUs, memory and devices come from."""
    of_devices = (nodes for devices in given.devices.values() for nodes in devices.values())
    return frozenset(node_of_cpu[cpu] for cpu in given.cpus).union(*given.memory, *of_devices)


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


def _container(
    name: str, words: Mapping[str, Any], seen: Outcome, sizes: Sizes, node_of_cpu: Mapping[int, int], place: str
) -> Iterable[str]:
    given = seen.containers[name]
    if "cpus" in words and isinstance(words["cpus"], Mapping):
        by_node = Counter(str(node_of_cpu[cpu]) for cpu in given.cpus)
        if dict(by_node) != {str(node): count for node, count in words["cpus"].items()}:
            yield f"expected {name}'s CPUs by NUMA node {dict(words['cpus'])}, were {dict(by_node)}"
    elif "cpus" in words and given.cpus != frozenset(parse_cpulist(str(words["cpus"]))):
        yield f"expected {name} on the CPUs {words['cpus']}, were {format_cpulist(sorted(given.cpus)) or 'shared'}"
    if "cpu_count" in words:
        count = int(sizes.resolve(str(words["cpu_count"]), place))
        if len(given.cpus) != count:
            yield f"expected {count} CPUs for {name}, were {len(given.cpus)}"
    other = seen.containers.get(words["same_cpus_as"]) if "same_cpus_as" in words else given
    if other is None or given.cpus != other.cpus:
        yield f"expected {name} on the CPUs of {words['same_cpus_as']}"
    if "nodes" in words and nodes_of(given, node_of_cpu) != frozenset(words["nodes"]):
        yield f"expected {name} on the NUMA nodes {words['nodes']}, were {sorted(nodes_of(given, node_of_cpu))}"
    if "memory_nodes" in words and frozenset().union(*given.memory) != frozenset(words["memory_nodes"]):
        yield f"expected {name}'s memory on {words['memory_nodes']}, was on {sorted(frozenset().union(*given.memory))}"
    for resource, wanted in words.get("devices", {}).items():
        held = given.devices.get(resource, {})
        if isinstance(wanted, int):
            if len(held) != wanted:
                yield f"expected {wanted} of {resource} for {name}, were {sorted(held)}"
        elif isinstance(wanted, Mapping):
            counts = Counter(",".join(map(str, nodes)) or "none" for nodes in held.values())
            if dict(counts) != {str(key): value for key, value in wanted.items()}:
                yield f"expected {resource} for {name} by NUMA node {dict(wanted)}, were {dict(counts)}"
        elif sorted(held) != sorted(map(str, wanted)):
            yield f"expected {sorted(map(str, wanted))} of {resource} for {name}, were {sorted(held)}"
