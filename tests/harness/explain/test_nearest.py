"""Where a refused pod nearly fits: the NUMA nodes that lack least, and what they lack."""

from typing import Any

import pytest

from numaproof.fake_sysfs import parse_machine
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.decision.config import settings_of
from numaproof.harness.explain.explanation import Explanation, explain
from numaproof.harness.explain.nearest import Amount, Nearest, nearest
from numaproof.harness.intake.assembly import assemble
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.providers.devices import Device
from tests.harness.explain.states import random_state

GIB = 1 << 30
GPU = "example.com/gpu"


def pod(name: str, cpu: int, memory: str = "1Gi", gpu: int = 0) -> dict[str, Any]:
    limits = {"cpu": cpu, "memory": memory} | ({GPU: gpu} if gpu else {})
    return {
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "app", "resources": {"limits": limits}}]},
    }


def explained(
    asked: dict[str, Any],
    *running: dict[str, Any],
    policy: str = "single-numa-node",
    machine: str = "numa:2(memory=8GiB) core:8 pu:1",
    gpus: dict[int, int] | None = None,
    memory: bool = False,
    **more: Any,
) -> Explanation:
    """On CPUs 0-7 and 8-15, of which 0 is reserved."""
    settings: dict[str, Any] = {
        "topologyManagerPolicy": policy,
        "cpuManagerPolicy": "static",
        "reservedSystemCPUs": "0",
        **more,
    }
    if memory:
        settings |= {
            "memoryManagerPolicy": "Static",
            "evictionHard": {"memory.available": "1Gi"},
            "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
        }
    devices = {GPU: tuple(Device(f"g{node}{n}", (node,)) for node, count in (gpus or {}).items() for n in range(count))}
    pods = [pod_from(one) for one in running]
    node = assemble(parse_machine(machine), settings_of(settings, Where("kubelet")), devices if gpus else {}, pods)
    return explain(node.replica, pod_from(asked))


def test_a_pod_that_is_admitted_is_not_near_anything() -> None:
    assert nearest(explained(pod("fits", 8))) is None


def test_one_resource_is_missing_where_the_others_are() -> None:
    """g00 of node 0 is held, so that one of its two is left; node 1 has none. CPUs: 7 - 1 = 6 and 8."""
    found = explained(pod("asked", 4, gpu=2), pod("a", 1, gpu=1), gpus={0: 2})
    assert nearest(found) == Nearest((0,), (Amount(GPU, 2, 1),), (Amount("cpu", 4, 6),))


def test_devices_and_cpus_that_are_apart() -> None:
    """Node 0: 7 - 5 = 2 of 6 CPUs, both GPUs: 4/6 are missing. Node 1: 8 CPUs, no GPU: all are missing."""
    found = explained(pod("asked", 6, gpu=2), pod("a", 5), gpus={0: 2})
    assert nearest(found) == Nearest((0,), (Amount("cpu", 6, 2),), (Amount(GPU, 2, 2),))


def test_several_resources_are_missing_the_scarcest_first() -> None:
    """5 GiB of 8 less 1 reserved are left of node 0 beside 2 GiB, 8 of node 1; a pod of 7 GiB has 1 left there."""
    found = explained(pod("asked", 8, "6Gi"), pod("a", 2, "2Gi"), pod("b", 4, "7Gi"), memory=True)
    assert nearest(found) == Nearest((0,), (Amount("cpu", 8, 5), Amount("memory", 6 * GIB, 5 * GIB)), ())


def test_where_one_node_can_never_do_the_policy_single_numa_node_asks_for_one_all_the_same() -> None:
    found = nearest(explained(pod("asked", 12)))
    assert found == Nearest((1,), (Amount("cpu", 12, 8),), ())


def test_other_policies_ask_for_as_many_nodes_as_it_takes() -> None:
    """Twelve CPUs take two of three nodes: 0 and 1 have 4 + 3 left, 0 and 2 have 4 + 8, 1 and 2 have 11."""
    machine = "numa:3(memory=8GiB) core:8 pu:1"
    running = (pod("a", 3), pod("b", 5), pod("c", 8))
    found = nearest(explained(pod("asked", 12), *running, policy="restricted", machine=machine, gpus={0: 1}))
    assert found is not None
    # a: node 0, of which 4 are left; b: node 1, of which 3 are left; c: node 2.
    assert found == Nearest((0, 1), (Amount("cpu", 12, 7),), ())


def test_what_would_need_fewer_nodes_than_the_others() -> None:
    """restricted: ten CPUs take both nodes, a GPU takes one, and all must be preferred on the same."""
    found = nearest(explained(pod("asked", 10, gpu=1), policy="restricted", gpus={0: 1, 1: 1}))
    assert found == Nearest((0, 1), (), (Amount("cpu", 10, 15), Amount(GPU, 1, 2)), fewer=(GPU,))


def test_the_machine_as_a_whole_has_too_little() -> None:
    """best-effort admits any placement; the allocation finds 1 + 1 CPUs of 4."""
    found = explained(pod("asked", 4), pod("a", 6), pod("b", 7), policy="best-effort")
    assert found.trace.failure is not None
    assert nearest(found) == Nearest((), (Amount("cpu", 4, 2),), ())


def test_a_node_without_topology_manager_says_nothing_of_numa_nodes() -> None:
    found = nearest(explained(pod("asked", 4), pod("a", 6), pod("b", 7), policy="none"))
    assert found is not None
    assert found.nodes == ()


def test_devices_of_no_numa_node_count_only_where_no_device_has_one() -> None:
    """A kubelet gives hints for the devices with a topology alone, if there are any."""
    asked, nowhere = pod("asked", 2, gpu=2), (Device("n0", None), Device("n1", None))

    def near(*devices: Device) -> Nearest | None:
        settings = {
            "topologyManagerPolicy": "single-numa-node",
            "cpuManagerPolicy": "static",
            "reservedSystemCPUs": "0",
        }
        machine = parse_machine("numa:2(memory=8GiB) core:8 pu:1")
        node = assemble(machine, settings_of(settings, Where("kubelet")), {GPU: devices}, [])
        return nearest(explain(node.replica, pod_from(asked)))

    assert near(*nowhere) is None  # it is admitted
    assert near(*nowhere, Device("g0", (1,))) == Nearest((1,), (Amount(GPU, 2, 1),), (Amount("cpu", 2, 8),))


@pytest.mark.parametrize("seed", range(150))
def test_no_node_lacks_less(seed: int) -> None:
    """Under single-numa-node: of every other node more is missing, each resource as a share of what is wanted."""
    state = random_state(seed)
    found = explain(state.assembled().replica, pod_from(state.pod), remedies=False, matrix=False)
    near = nearest(found)
    if near is None or found.trace.policy != "single-numa-node" or not near.nodes:
        return
    stocks = {name: one for name, one in found.attempt.stocks.items() if one.wanted}
    missing = {
        node: sum(
            max(1 - (one.free.get(node, 0) + (0 if one.total else one.nowhere)) / one.wanted, 0)
            for one in stocks.values()
        )
        for node in state.machine.node_ids
    }
    [chosen] = near.nodes
    assert missing[chosen] == pytest.approx(min(missing.values()))
    assert {one.resource for one in (*near.lacking, *near.enough)} == set(stocks)
    assert near.lacking or near.cannot or near.fewer
    for one in near.lacking:
        assert one.free < one.wanted
