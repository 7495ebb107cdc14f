"""Whole admissions: CPUs, memory and two kinds of devices, policy best-effort, machines of 8 to 64 nodes."""

import sys
import time

from benchmarks.timing import judge
from numaproof.harness.decision.managers import ManagerConfig, Managers, NodeDescription
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import MemoryNode

GIB = 1 << 30
CPUS = 16  # a node
ROUNDS = 5

# name, nodes, nodes with CPUs and devices, the longest admission may take so many seconds
MACHINES = (
    ("8 nodes", 8, 8, 0.020),
    ("16 nodes", 16, 16, 0.150),
    ("34 nodes, 2 with CPUs", 34, 2, 0.500),
    ("64 nodes", 64, 64, 0.500),
)
# On one node, on two, on four and more than one resource wants, and where the resources want different numbers.
PODS = (
    {"cpu": "2", "memory": "2Gi", "x.io/gpu": "1", "x.io/nic": "1"},
    {"cpu": "17", "memory": "10Gi", "x.io/gpu": "3", "x.io/nic": "2"},
    {"cpu": "15", "memory": "20Gi", "x.io/gpu": "1", "x.io/nic": "3"},
    {"cpu": "3", "memory": "30Gi", "x.io/gpu": "2", "x.io/nic": "1"},
)


def managers_of(nodes: int, with_cpus: int) -> Managers:
    """An empty machine with all managers at work."""
    ids = tuple(range(nodes))
    rows = [(cpu, cpu, cpu // CPUS, cpu // CPUS, cpu // CPUS) for cpu in range(with_cpus * CPUS)]
    memory = tuple(MemoryNode(node, 16 * GIB, {"hugepages-2Mi": 0, "hugepages-1Gi": 0}) for node in ids)
    distances = {node: {other: 10 if node == other else 20 + abs(node - other) for other in ids} for node in ids}
    config = ManagerConfig(
        topology_policy="best-effort",
        topology_options={"max-allowable-numa-nodes": "64"},
        cpu_policy="static",
        reserved_cpus=frozenset({0}),
        memory_policy="Static",
        reserved_memory={0: {"memory": GIB}},
    )
    managers = Managers(NodeDescription(rows, memory, ids, distances), config)
    for resource, each in (("x.io/gpu", 2), ("x.io/nic", 2)):
        devices = [
            Device(f"{resource}-{node}-{i}", (node,), healthy=True) for node in range(with_cpus) for i in range(each)
        ]
        managers.devices.update(resource, devices)
    return managers


def longest_admission(nodes: int, with_cpus: int) -> float:
    """Admit all pods one after another; the longest admission in processor time, each at its fastest."""
    best = [float("inf")] * len(PODS)
    for _ in range(ROUNDS):
        managers = managers_of(nodes, with_cpus)
        for number, limits in enumerate(PODS):
            container = {"name": "c", "resources": {"limits": limits}}
            pod = pod_from(
                {"metadata": {"name": f"p{number}", "uid": f"p{number}"}, "spec": {"containers": [container]}}
            )
            begun = time.thread_time()
            managers.admit(pod)
            best[number] = min(best[number], time.thread_time() - begun)
    return max(best)


def main() -> int:
    """Print the times; exit code 1 if one is missed."""
    results = [
        judge(f"longest admission, {name}", longest_admission(nodes, with_cpus) * 1e3, limit * 1e3, " ms")
        for name, nodes, with_cpus, limit in MACHINES
    ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
