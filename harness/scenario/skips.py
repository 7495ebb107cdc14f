"""Whether a scenario means anything on a machine that it was not written for."""

from collections.abc import Iterator, Mapping
from typing import Any

from numaproof.fake_sysfs import Machine
from numaproof.harness.scenario.instances import Instance, reason_to_skip
from numaproof.harness.scenario.sizes import Sizes
from numaproof.harness.topology.bitmask import MAX_NODE


def reason_not_to_run(instance: Instance, machine: Machine, sizes: Sizes) -> str | None:
    """Why an instance means nothing on its machine; None: it applies."""
    written_for = instance.scenario.matrix.get("machine", ())
    elsewhere = instance.machine not in written_for
    if elsewhere and instance.scenario.needs.own_machines:
        return f"is for its own machines ({', '.join(written_for)}): {instance.scenario.needs.own_machines}"
    if reason := reason_to_skip(instance.scenario.needs, machine, sizes):
        return reason
    kubelet = {**instance.scenario.kubelet, **instance.values}
    beyond = [node for node in machine.node_ids if node > MAX_NODE]
    policies = {kubelet.get(key, "none") for key in ("policy", "topologyManagerPolicy", "memoryManagerPolicy")}
    if elsewhere and beyond and policies != {"none"}:
        return f"needs masks of NUMA nodes, which end at {MAX_NODE}; {machine.name} has a node {beyond[0]}"
    if elsewhere and (last := max(_named_nodes(instance), default=0)) >= len(sizes.cpu_nodes):
        return f"speaks of {last + 1} NUMA nodes with CPUs, {machine.name} has {len(sizes.cpu_nodes)}"
    return None


def _named_nodes(instance: Instance) -> Iterator[int]:
    """The NUMA nodes that a scenario speaks of, by their positions."""
    for plugin in instance.scenario.plugins:
        for device in plugin.devices:
            yield from device["numa"] or ()
    for step in instance.scenario.steps:
        for expected in instance.expects(step):
            yield from expected.nodes or ()
            for words in (*expected.containers.values(), expected.allocatable):
                yield from _named_by_container(words)


def _named_by_container(words: Mapping[str, Any]) -> Iterator[int]:
    yield from words.get("nodes", ())
    yield from words.get("memory_nodes", ())
    counts = [words.get("cpus"), *words.get("devices", {}).values()]
    for by_node in counts:
        if isinstance(by_node, Mapping):
            yield from (int(node) for key in by_node for node in str(key).split(",") if node.isdigit())
