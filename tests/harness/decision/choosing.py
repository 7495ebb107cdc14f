"""A small machine with the policy cost, pods for it, and what was chosen for them."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from numaproof.harness.cost.costs import Entry
from numaproof.harness.cost.system import CpuGroup, System
from numaproof.harness.decision.managers import ManagerConfig, Managers, NodeDescription
from numaproof.harness.decision.selection import Account
from numaproof.harness.decision.trace import Trace
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.pod import Pod
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import MemoryNode

GIB = 1 << 30
GPU, NIC = "x.io/gpu", "x.io/nic"
NODES = (0, 1)


def description() -> NodeDescription:
    """Two nodes of two cores of two threads: CPUs 0 and 1 are a core, 2 and 3, and on node 1 so on."""
    rows = [(cpu, cpu // 2, cpu // 4, cpu // 4, cpu // 4) for cpu in range(8)]
    groups = {
        node: CpuGroup(10, tuple(CpuGroup(1, cpus=(first, first + 1)) for first in (4 * node, 4 * node + 2)))
        for node in NODES
    }
    distances = {node: {other: 10 if node == other else 20 for other in NODES} for node in NODES}
    memory = tuple(MemoryNode(node, 8 * GIB) for node in NODES)
    return NodeDescription(rows, memory, NODES, distances, System(groups, NODES, distances))


def managers_of(**changes: Any) -> Managers:
    """With two old GPUs on each node: g0 and g1 on node 0, g2 and g3 on node 1."""
    config: dict[str, Any] = {
        "topology_policy": "cost",
        "cpu_policy": "static",
        "reserved_cpus": frozenset({0}),
        "memory_policy": "Static",
        "reserved_memory": {0: {"memory": GIB}},
    }
    managers = Managers(description(), ManagerConfig(**{**config, **changes}))
    managers.devices.update(GPU, [Device(f"g{number}", (number // 2,)) for number in range(4)])
    return managers


def container(name: str, **more: Any) -> dict[str, Any]:
    limits = {"gpu": GPU, "nic": NIC}
    asked = {limits.get(key, key): str(amount) for key, amount in more.items() if key != "restartPolicy"}
    policy = {"restartPolicy": more["restartPolicy"]} if "restartPolicy" in more else {}
    return {"name": name, "resources": {"limits": asked}, **policy}


def pod_of(name: str, *containers: dict[str, Any], first: Iterable[dict[str, Any]] = ()) -> Pod:
    spec = {"initContainers": list(first), "containers": list(containers)}
    return pod_from({"metadata": {"name": name, "uid": name}, "spec": spec})


def pod(name: str, **asked: Any) -> Pod:
    return pod_of(name, container("c", **{"cpu": 1, "memory": "1Gi", **asked}))


def linked(pairs: Iterable[tuple[str, str]], ids: Iterable[str], far: int = 10) -> tuple[Entry, ...]:
    """What a plugin reports of devices in linked pairs: 1 within a pair, `far` to all others."""
    partner = dict(pairs) | {other: one for one, other in pairs}
    everybody = tuple(ids)
    found = [Entry(GPU, (one,), GPU, (partner[one],), Fraction(1)) for one in everybody if one in partner]
    for one in everybody:
        others = tuple(other for other in everybody if other not in (one, partner.get(one)))
        found.append(Entry(GPU, (one,), GPU, others, Fraction(far)))
    return tuple(found)


def ids(trace: Trace, name: str = "c", resource: str = GPU) -> set[str]:
    return {one.id for one in trace.given[name].devices.get(resource, ())}


def account(trace: Trace, step: int = 0) -> Account:
    selection = trace.steps[step].selection
    assert selection is not None
    assert isinstance(selection.account, Account)
    return selection.account
