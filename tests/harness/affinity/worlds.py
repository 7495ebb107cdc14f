"""Small machines and pods for the tests of the predicate and of scheduling."""

from collections.abc import Mapping
from typing import Any

from numaproof.harness.affinity.machine_kind import MachineKind, kind_from
from numaproof.harness.decision.config import NodeConfig
from numaproof.harness.decision.managers import NodeDescription
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.pod import Pod
from numaproof.harness.pods.taints import ALL_THREE, Taint
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import MemoryNode

GIB = 1 << 30
GPU = "x.io/gpu"
PAGES = "hugepages-2Mi"
DEDICATED = Taint("CPUAffinity", "dedicated", ALL_THREE)
NUMA_STRICT = Taint("NUMACPUAffinity", "strict", ALL_THREE)
MEMORY_STRICT = Taint("NUMAMemoryPolicy", "strict", ALL_THREE)
MEMORY_PREFERRED = Taint("NUMAMemoryPolicy", "preferred", ALL_THREE)


def description(*cpus: int, threads: int = 1, gibs: int = 8, pages: tuple[int, ...] = ()) -> NodeDescription:
    """A machine with so many CPUs on each NUMA node, each a socket; a core has so many threads.

    Of the memory of a NUMA node so many GiB are huge pages.
    """
    rows: list[tuple[int, int, int, int, int]] = []
    for node, number in enumerate(cpus):
        for _ in range(number):
            cpu = len(rows)
            rows.append((cpu, cpu // threads, node, node, node))
    nodes = tuple(range(len(cpus)))
    distances = {node: {other: 10 if other == node else 20 for other in nodes} for node in nodes}
    huge = [{PAGES: amount * GIB} for amount in pages] or [{}] * len(nodes)
    memory = tuple(MemoryNode(node, gibs * GIB, huge[node]) for node in nodes)
    return NodeDescription(tuple(rows), memory, nodes, distances)


def kind(
    *cpus: int,
    gpus: tuple[int, ...] = (),
    threads: int = 1,
    gibs: int = 8,
    pages: tuple[int, ...] = (),
    **changes: Any,
) -> MachineKind:
    """Its nodes: CPU 0 is reserved, and 1 GiB of NUMA node 0 where memory is pinned."""
    devices = tuple(Device(f"g{node}{number}", (node,)) for node, count in enumerate(gpus) for number in range(count))
    settings: dict[str, Any] = {
        "topology_policy": "single-numa-node",
        "cpu_policy": "static",
        "reserved_system_cpus": frozenset({0}),
        "eviction_hard": {"memory.available": "1Gi"},
    }
    if changes.get("memory_policy") == "Static":
        settings["reserved_memory"] = {0: {"memory": GIB}}
    config = NodeConfig(**{**settings, **changes})
    described = description(*cpus, threads=threads, gibs=gibs, pages=pages)
    return kind_from(described, {GPU: devices} if devices else {}, config)


def container(name: str, cpu: str = "1", memory: str = "1Gi", gpu: int = 0, **more: Any) -> dict[str, Any]:
    limits = {"cpu": cpu, "memory": memory, **({GPU: gpu} if gpu else {})}
    return {"name": name, "resources": {"limits": limits}, **more}


def pod(name: str, *containers: Mapping[str, Any], init: tuple[Mapping[str, Any], ...] = (), **spec: Any) -> Pod:
    """A pod of the containers, or of one with 1 CPU."""
    content = {**spec, "initContainers": list(init), "containers": list(containers or [container("c")])}
    return pod_from({"metadata": {"name": name, "uid": name}, "spec": content})


def tolerating(*taints: Taint) -> list[dict[str, str]]:
    """The tolerations of a pod that names these taints."""
    return [{"key": one.key, "value": one.value, "effect": one.effect} for one in taints]
