"""All reasons for which an instance is skipped: its machine or its runtime cannot show what it is about."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from numaproof.fake_sysfs import Machine
from numaproof.harness.scenario.instances import Instance
from numaproof.harness.scenario.model import Needs, Scenario
from numaproof.harness.scenario.sizes import Sizes
from numaproof.harness.vocabulary import is_gpu


def reason_not_to_run(
    instance: Instance,
    machine: Machine,
    sizes: Sizes,
    *,
    runtime: str | None = None,
    usable_cpus: Collection[int] | None = None,
) -> str | None:
    """Why an instance means nothing on its machine in a runtime; None: it applies.

    `usable_cpus` are those of the host that the runtime's containers may be pinned to; None: whatever they like.
    """
    return (
        _not_in(instance, machine, runtime, usable_cpus)
        or _not_written_for(instance, machine, sizes)
        or lacking(instance.scenario.needs, machine, sizes)
    )


def _not_in(
    instance: Instance, machine: Machine, runtime: str | None, usable_cpus: Collection[int] | None
) -> str | None:
    if not any(step.action.starts_containers for step in instance.scenario.steps):
        return None
    if runtime == "process":
        return "starts containers with device nodes, which the process runtime cannot give"
    if usable_cpus is not None and instance.argument == "host" and not set(machine.cpu_ids) <= set(usable_cpus):
        return f"pins containers to CPUs of the host, of which this process may only use {sorted(usable_cpus)}"
    return None


def _not_written_for(instance: Instance, machine: Machine, sizes: Sizes) -> str | None:
    written_for = instance.scenario.matrix.get("machine", ())
    if instance.machine in written_for:
        return None
    if instance.scenario.needs.own_machines:
        return f"names what only its own machines have ({', '.join(written_for)})"
    if missing := sorted(set(_named_nodes(instance.scenario)) - set(sizes.cpu_nodes)):
        return f"names NUMA node {missing[0]}, {machine.name} has CPUs on {', '.join(map(str, sizes.cpu_nodes))}"
    return None


def lacking(needs: Needs, machine: Machine, sizes: Sizes) -> str | None:
    """What a machine lacks of a scenario's needs; None: nothing."""
    numa = sizes.names["numa.count"]
    if numa < needs.numa:
        return f"needs {needs.numa} NUMA nodes with CPUs, {machine.name} has {numa}"
    if needs.most_numa is not None and numa > needs.most_numa:
        return f"is for at most {needs.most_numa} NUMA nodes with CPUs, {machine.name} has {numa}"
    if sizes.names["numa.cpus"] < needs.numa_cpus:
        return f"needs {needs.numa_cpus} free CPUs a NUMA node, {machine.name} has {sizes.names['numa.cpus']}"
    if sizes.names["core.cpus"] < needs.threads:
        return f"needs {needs.threads} threads a core, {machine.name} has cores with {sizes.names['core.cpus']}"
    for size in needs.hugepages:
        if not sizes.names[f"numa.hugepages-{size}"]:
            return f"needs hugepages of {size} on every NUMA node with CPUs, {machine.name} has none on some"
    gpus = sum(1 for device in machine.devices() if is_gpu(device.class_code))
    if gpus < needs.gpus:
        return f"needs {needs.gpus} GPUs in the PCI tree, {machine.name} has {gpus}"
    return None


def _named_nodes(scenario: Scenario) -> Iterator[int]:
    """The NUMA nodes that a scenario speaks of by their ids."""
    for plugin in scenario.plugins:
        for device in plugin.devices:
            yield from device["numa"] or ()
    for step in scenario.steps:
        for expected in step.expected:
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
