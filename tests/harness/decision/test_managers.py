"""The wired managers: alignment across providers, the feature gate, and what stays after a refusal."""

from typing import Any

from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.decision.managers import ManagerConfig, Managers, NodeDescription
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.pod import Pod
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import Block, MemoryNode
from numaproof.harness.topology.bitmask import mask_of
from numaproof.harness.topology.hints import TopologyHint
from numaproof.harness.topology.verdict import NO_COMMON_AFFINITY

GIB = 1 << 30


def machine(nodes: int = 2, cpus_a_node: int = 4) -> NodeDescription:
    ids = tuple(range(nodes))
    rows = [
        (cpu, cpu, cpu // cpus_a_node, cpu // cpus_a_node, cpu // cpus_a_node) for cpu in range(nodes * cpus_a_node)
    ]
    return NodeDescription(rows, tuple(MemoryNode(node, 8 * GIB) for node in ids), ids)


def managers_of(description: NodeDescription, **changes: Any) -> Managers:
    settings: dict[str, Any] = {
        "topology_policy": "single-numa-node",
        "cpu_policy": "static",
        "reserved_cpus": frozenset({0}),
        "memory_policy": "Static",
        "reserved_memory": {0: {"memory": GIB}},
    }
    managers = Managers(description, ManagerConfig(**{**settings, **changes}))
    managers.devices.update("x.io/gpu", [Device(f"g{node}", (node,), healthy=True) for node in description.node_ids])
    return managers


def pod(name: str, **limits: str) -> Pod:
    named = {"cpu": "1", "memory": "1Gi", **limits}
    if "gpu" in named:
        named["x.io/gpu"] = named.pop("gpu")
    resources = {"limits": named}
    return pod_from(
        {"metadata": {"name": name, "uid": name}, "spec": {"containers": [{"name": "c", "resources": resources}]}}
    )


def test_cpus_memory_and_devices_come_from_one_node() -> None:
    managers = managers_of(machine())
    assert managers.admit(pod("p", cpu="4", gpu="1")).verdict.admitted  # node 0 has three CPUs left
    held = managers.assignment("p", "c")
    assert held.affinity == TopologyHint(mask_of([1]), True)
    assert held.cpus == frozenset({4, 5, 6, 7})
    assert held.memory == (Block((1,), "memory", GIB),)
    assert held.devices == {"x.io/gpu": (Device("g1", (1,)),)}


def test_a_removed_pod_holds_nothing() -> None:
    managers = managers_of(machine())
    managers.admit(pod("p", cpu="4", gpu="1"))
    managers.remove("p")
    managers.remove("p")
    held = managers.assignment("p", "c")
    assert held == Assignment()
    assert managers.admit(pod("q", cpu="4", gpu="1")).verdict.admitted


def test_what_a_refused_pod_got_is_free_for_the_next() -> None:
    managers = managers_of(machine(), topology_policy="best-effort")
    both = {"limits": {"cpu": "3", "memory": "1Gi", "x.io/gpu": "2"}}
    containers = [{"name": name, "resources": both} for name in ("c", "d")]
    refused = managers.admit(pod_from({"metadata": {"name": "p", "uid": "p"}, "spec": {"containers": containers}}))
    assert refused.verdict.reason == "UnexpectedAdmissionError"
    assert refused.verdict.message == (
        "Allocate failed due to requested number of devices unavailable for x.io/gpu. Requested: 2, Available: 0, "
        "which is unexpected"
    )
    assert managers.admit(pod("q", cpu="7", gpu="2")).verdict.admitted
    assert managers.assignment("p", "c").cpus == frozenset()


def test_without_the_feature_gate_all_is_allocated_unaligned() -> None:
    wide = pod("p", cpu="5", gpu="2")
    assert managers_of(machine()).admit(wide).verdict == NO_COMMON_AFFINITY
    managers = managers_of(machine(), topology_manager_enabled=False)
    assert managers.admit(wide).verdict.admitted
    held = managers.assignment("p", "c")
    assert held.affinity == TopologyHint(None, False)
    assert len(held.cpus) == 5
    assert held.device_ids() == {"x.io/gpu": frozenset({"g0", "g1"})}


def test_without_the_feature_gate_any_number_of_nodes_will_do() -> None:
    managers = managers_of(machine(nodes=20), topology_manager_enabled=False)
    assert managers.admit(pod("p", cpu="2", gpu="1")).verdict.admitted


def test_64_nodes_place_as_8_do() -> None:
    few, many = (
        managers_of(
            machine(nodes=nodes),
            topology_policy="best-effort",
            topology_options={"max-allowable-numa-nodes": "64"},
        )
        for nodes in (8, 64)
    )
    for number, limits in enumerate(
        ({"cpu": "4", "gpu": "1"}, {"cpu": "2"}, {"cpu": "6", "gpu": "2", "memory": "9Gi"}, {"cpu": "9"}, {"gpu": "3"})
    ):
        asked = pod(f"p{number}", **limits)
        assert few.admit(asked).verdict == many.admit(asked).verdict
        assert few.assignment(asked.uid, "c") == many.assignment(asked.uid, "c")
