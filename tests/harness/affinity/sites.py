"""Nodes to try the rules on: a machine as an hwloc string, and what of it is reserved."""

from collections.abc import Mapping, Sequence
from typing import Any

from numaproof.fake_sysfs import parse_machine
from numaproof.harness.affinity.ledger import Holding
from numaproof.harness.affinity.rules import Site
from numaproof.harness.affinity.zones import Zone, zones_of
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.decision.config import node_config
from numaproof.harness.decision.discovery import describe
from numaproof.harness.decision.reservations import reserve
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.pod import Pod
from numaproof.harness.pods.taints import ALL_THREE, Taint
from numaproof.harness.providers.memory import Block

GI = 1 << 30
TWO = "pack:2 [numa(memory=64GiB)] core:4 pu:2"  # CPUs 0-7 on node 0, 8-15 on node 1
KEPT: dict[str, Any] = {"reservedSystemCPUs": "0", "evictionHard": {"memory.available": "0"}}  # CPU 0 alone

DEDICATED = {"key": "CPUAffinity", "operator": "Exists"}
NUMA = {"key": "NUMACPUAffinity", "operator": "Exists"}
EVERYTHING = {"operator": "Exists"}
CPU_TAINT = Taint("CPUAffinity", "dedicated", ALL_THREE)
NUMA_TAINT = Taint("NUMACPUAffinity", "strict", ALL_THREE)
MEMORY_TAINT = Taint("NUMAMemoryPolicy", "strict", ALL_THREE)


def zones(machine: str = TWO, **kubelet: Any) -> tuple[Zone, ...]:
    """The zones of a machine under a configuration; CPU 0 is reserved unless that says otherwise."""
    described = describe(parse_machine(machine))
    return zones_of(described, reserve(node_config(KEPT | kubelet), described))


def site(machine: str = TWO, name: str = "", **kubelet: Any) -> Site:
    """A node of such a machine."""
    return Site(name, zones(machine, **kubelet))


def pod(
    name: str = "p",
    *limits: Mapping[str, Any],
    tolerations: Sequence[Mapping[str, Any]] = (),
    namespace: str = "default",
    **spec: Any,
) -> Pod:
    """A Guaranteed pod; each container by its limits."""
    containers = [
        {"name": f"c{i}", "resources": {"limits": {key: str(amount) for key, amount in one.items()}}}
        for i, one in enumerate(limits or ({"cpu": 2, "memory": "1Gi"},))
    ]
    metadata = {"name": name, "uid": f"uid-{name}", "namespace": namespace}
    return pod_from(
        {"metadata": metadata, "spec": {"containers": containers, "tolerations": list(tolerations), **spec}}
    )


def holding(held: Pod, cpus: Sequence[int] = (), memory: Sequence[Block] = ()) -> Holding:
    """What a pod holds; all of it is its first container's."""
    first, *others = held.all_containers()
    given = {first.name: Assignment(cpus=frozenset(cpus), memory=tuple(memory))}
    return Holding(held, given | {one.name: Assignment() for one in others})
