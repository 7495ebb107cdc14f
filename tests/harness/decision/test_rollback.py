"""Taking back a decision leaves no trace at all, whichever provider took part."""

import pytest

from numaproof.fake_sysfs import parse_machine
from numaproof.harness.decision.discovery import describe
from numaproof.harness.decision.managers import ManagerConfig, Managers
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.providers.devices import Device
from tests.harness.node.running import GPU, TWO_NODES, pod


def managers(policy: str) -> Managers:
    config = ManagerConfig(
        topology_policy=policy,
        cpu_policy="static",
        reserved_cpus=frozenset({0}),
        memory_policy="Static",
        reserved_memory={0: {"memory": 1 << 30}},
    )
    made = Managers(describe(parse_machine(TWO_NODES)), config)
    made.devices.update(GPU, [Device("a", (0,)), Device("b", (1,))])
    return made


def held(of: Managers) -> tuple[object, ...]:
    return (
        of.cpu.assignments,
        of.cpu.shared_pool,
        dict(of.memory.blocks),
        of.memory.state,
        {key: dict(devices) for key, devices in of.devices.assignments.items()},
        of.topology.get_affinity("uid-p", "c0"),
    )


@pytest.mark.parametrize("policy", ["best-effort", "cost"])
def test_everything_is_as_before(policy: str) -> None:
    used = managers(policy)
    # Node 0 is full by this, node 1 is not: what comes on top is node 1's, but giving it back begins with node 0.
    assert used.admit(pod_from(pod("wide", {"cpu": 1, "memory": "100Gi"}))).verdict.admitted
    before, checkpoint = held(used), used.checkpoint()
    asked = pod_from(pod("p", {"cpu": 2, "memory": "20Gi", GPU: 1}, init=({"cpu": 5, "memory": "1Gi"},)))
    assert used.admit(asked).verdict.admitted
    assert held(used) != before
    used.rollback(checkpoint)
    assert held(used) == before
    # The CPUs of an init container that was taken back are nobody's to use again.
    small = pod_from(pod("p", {"cpu": 2, "memory": "1Gi"}))
    other = managers(policy)
    other.admit(pod_from(pod("wide", {"cpu": 1, "memory": "100Gi"})))
    assert used.admit(small) == other.admit(small)
    assert used.assignment("uid-p", "c0") == other.assignment("uid-p", "c0")


@pytest.mark.parametrize("policy", ["best-effort", "cost"])
def test_a_checkpoint_in_the_midst_of_a_pod_remembers_what_init_containers_left(policy: str) -> None:
    """As when another pod is explained between two decisions about this one."""
    used, other = managers(policy), managers(policy)
    asked = pod_from(pod("p", {"cpu": 2, "memory": "1Gi", GPU: 1}, init=({"cpu": 5, "memory": "2Gi", GPU: 1},)))
    for one in (used, other):
        assert one.admit(asked).verdict.admitted
    checkpoint = used.checkpoint()
    assert used.admit(pod_from(pod("q", {"cpu": 1, "memory": "1Gi"}))).verdict.admitted
    used.rollback(checkpoint)
    for one in (used, other):
        one.remove("uid-p")
    assert used.admit(asked) == other.admit(asked)
    assert held(used) == held(other)
