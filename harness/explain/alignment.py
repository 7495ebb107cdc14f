"""Whether what a pod was given lies on one NUMA node, container by container or as a whole."""

from collections.abc import Iterator, Mapping

from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.decision.managers import NodeDescription
from numaproof.harness.decision.trace import Trace
from numaproof.harness.pods.affinity import is_bound
from numaproof.harness.pods.pod import Pod


def is_spread(given: Assignment, machine: NodeDescription) -> bool:
    """Whether the things that a container got share no NUMA node; what it did not get does not count."""
    node_of = {row[0]: row[3] for row in machine.cpu_rows}
    return not frozenset(machine.node_ids).intersection(*_places(given, node_of))


def unaligned_container(pod: Pod, trace: Trace, machine: NodeDescription) -> str | None:
    """The first container whose CPUs, memory and devices share no NUMA node; None: there is none.

    In the scope pod all containers count as one, under the name of the pod as a whole, which is empty. A container
    without CPUs of its own runs anywhere; a pod that is bound runs where its owner says; a device of no NUMA node is
    nowhere near where others of its kind would have been preferred.
    """
    node_of = {row[0]: row[3] for row in machine.cpu_rows}
    every = frozenset(machine.node_ids)
    if len(every) == 1 or is_bound(pod):
        return None
    common = every
    steps = {step.container: step.decision.hint.preferred for step in trace.steps}
    unwanted = {one.name for one in pod.all_containers() if not steps.get(one.name, steps.get("", True))}
    for container in pod.all_containers():
        given = trace.given.get(container.name, Assignment())
        own = every.intersection(*_places(given, node_of)) if given.cpus else frozenset[int]()
        if container.name in unwanted and any(not one.numa for devices in given.devices.values() for one in devices):
            own = frozenset()
        common &= own
        if not own and trace.scope != "pod":
            return container.name
    return "" if trace.scope == "pod" and not common else None


def _places(given: Assignment, node_of: Mapping[int, int]) -> Iterator[frozenset[int]]:
    """For everything that was given, the NUMA nodes on which it counts as near."""
    for node in {node_of[cpu] for cpu in given.cpus}:
        yield frozenset((node,))
    for block in given.memory:
        yield from (frozenset((node,)) for node in block.nodes)
    for devices in given.devices.values():
        yield from (frozenset(device.numa) for device in devices if device.numa)
