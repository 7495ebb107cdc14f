"""All reasons for which an instance is skipped: its machine or its runtime cannot show what it is about."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from numaproof.fake_sysfs import Machine
from numaproof.harness.scenario.binding import OFFER, names_own_taints
from numaproof.harness.scenario.instances import Instance
from numaproof.harness.scenario.model import Needs
from numaproof.harness.scenario.plugins import functions_of
from numaproof.harness.scenario.sizes import Sizes
from numaproof.harness.topology.bitmask import MAX_NODE
from numaproof.harness.vocabulary import SELECTING_POLICY, SMALLEST_NODE_LIMIT


def reason_not_to_run(
    instance: Instance,
    machine: Machine,
    sizes: Sizes,
    *,
    runtime: str | None = None,
    usable_cpus: Collection[int] | None = None,
    offers: Collection[str] | None = None,
) -> str | None:
    """Why an instance means nothing on its machine in a runtime; None: it applies.

    `usable_cpus` are those of the host that the runtime's containers may be pinned to; None: whatever they like.
    `offers` is what the node under test can beyond a kubelet; None: everything.
    """
    return (
        _not_in(instance, machine, runtime, usable_cpus)
        or _not_offered(instance, offers)
        or _of_own_machines(instance)
        or lacking(instance.scenario.needs, machine, sizes)
        or _beyond_masks(instance, machine)
        or _unequal_cores(instance, machine, sizes)
        or _too_few_nodes(instance, machine, sizes)
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


def _not_offered(instance: Instance, offers: Collection[str] | None) -> str | None:
    needed = {step.action.needs_offer for step in instance.scenario.steps} - {""}
    if names_own_taints(instance.scenario.kubelet.get("registerWithTaints")):
        needed.add(OFFER)
    missing = sorted(needed - set(offers)) if offers is not None else []
    return f"needs {missing[0]}, which the node under test does not offer" if missing else None


def _is_elsewhere(instance: Instance) -> bool:
    return instance.machine not in instance.scenario.matrix.get("machine", ())


def _of_own_machines(instance: Instance) -> str | None:
    reason = instance.scenario.needs.own_machines
    if reason is None or not _is_elsewhere(instance):
        return None
    return f"is for its own machines ({', '.join(instance.scenario.matrix.get('machine', ()))}): {reason}"


def _beyond_masks(instance: Instance, machine: Machine) -> str | None:
    kubelet = {**instance.scenario.kubelet, **instance.values}
    policies = {kubelet.get(key, "none") for key in ("policy", "topologyManagerPolicy", "memoryManagerPolicy")}
    beyond = [node for node in machine.node_ids if node > MAX_NODE]
    if policies == {"none"} or not _is_elsewhere(instance):
        return None
    # The policy cost lists no sets of NUMA nodes.
    if instance.semantics == "kep" and SELECTING_POLICY not in policies and len(machine.node_ids) > SMALLEST_NODE_LIMIT:
        most = SMALLEST_NODE_LIMIT
        return (
            f"the proposal knows no option for more than {most} NUMA nodes, {machine.name} has {len(machine.node_ids)}"
        )
    if not beyond:
        return None
    return f"needs masks of NUMA nodes, which end at {MAX_NODE}; {machine.name} has a node {beyond[0]}"


def _unequal_cores(instance: Instance, machine: Machine, sizes: Sizes) -> str | None:
    names_cores = any(
        "core" in str(words.get("cpus", ""))
        for step in instance.scenario.steps
        for expected in instance.expects(step)
        for words in expected.containers.values()
        if not isinstance(words.get("cpus"), Mapping)
    )
    if not names_cores or len({len(core) for core in sizes.cores}) == 1 or not _is_elsewhere(instance):
        return None
    return f"names cores, of which those of {machine.name} do not have equally many threads"


def _too_few_nodes(instance: Instance, machine: Machine, sizes: Sizes) -> str | None:
    last = max(_named_nodes(instance), default=0)
    if last < len(sizes.cpu_nodes) or not _is_elsewhere(instance):
        return None
    return f"speaks of {last + 1} NUMA nodes with CPUs, {machine.name} has {len(sizes.cpu_nodes)}"


def lacking(needs: Needs, machine: Machine, sizes: Sizes) -> str | None:
    """What a machine lacks of a scenario's needs; None: nothing."""
    numa = sizes.names["numa.count"]
    if numa < needs.numa:
        return f"needs {needs.numa} NUMA nodes with CPUs, {machine.name} has {numa}"
    if sizes.names["numa.cpus"] < (cpus := sizes.count(needs.numa_cpus, "needs.numa_cpus")):
        return f"needs {cpus} free CPUs a NUMA node, {machine.name} has {sizes.names['numa.cpus']}"
    if sizes.names["numa.memory"] < 0:
        return f"needs memory on every NUMA node with CPUs, {machine.name} has none on some"
    if sizes.names["core.cpus"] < needs.threads:
        return f"needs {needs.threads} threads a core, {machine.name} has cores with {sizes.names['core.cpus']}"
    if needs.most_threads is not None and max(map(len, sizes.cores)) > needs.most_threads:
        most = max(map(len, sizes.cores))
        return f"is for at most {needs.most_threads} threads a core, {machine.name} has cores with {most}"
    for size in needs.hugepages:
        if not sizes.names[f"numa.hugepages-{size}"]:
            return f"needs hugepages of {size} on every NUMA node with CPUs, {machine.name} has none on some"
    for kind, wanted, what in (("gpu", needs.gpus, "GPUs"), ("rdma", needs.rdma, "network cards")):
        there = sum(1 for _ in functions_of(kind, machine))
        if there < wanted:
            return f"needs {wanted} {what} in the PCI tree, {machine.name} has {there}"
    return None


def _named_nodes(instance: Instance) -> Iterator[int]:
    """The NUMA nodes that a scenario speaks of, by their positions."""
    for plugin in instance.scenario.plugins:
        for device in plugin.devices:
            yield from device["numa"] or ()
    for step in instance.scenario.steps:
        yield from step.action.named_nodes()
        for expected in instance.expects(step):
            yield from expected.nodes or ()
            yield from expected.confined.memory_nodes or ()
            yield from _named_by_container({"cpus": expected.confined.cpus})
            for words in (*expected.containers.values(), expected.allocatable):
                yield from _named_by_container(words)


def _named_by_container(words: Mapping[str, Any]) -> Iterator[int]:
    yield from words.get("nodes", ())
    yield from words.get("memory_nodes", ())
    counts = [words.get("cpus"), *words.get("devices", {}).values()]
    for by_node in counts:
        if isinstance(by_node, Mapping):
            yield from (int(node) for key in by_node for node in str(key).split(",") if node.isdigit())
