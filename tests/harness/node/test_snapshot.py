"""Taking back a broken-off decision leaves no trace at all."""

from numaproof.fake_sysfs import parse_machine
from numaproof.harness.decision.discovery import describe
from numaproof.harness.decision.managers import ManagerConfig, Managers
from numaproof.harness.node import snapshot
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.providers.devices import Device
from tests.harness.node.running import GPU, TWO_NODES, pod


def managers() -> Managers:
    config = ManagerConfig(
        topology_policy="best-effort",
        cpu_policy="static",
        reserved_cpus=frozenset({0}),
        memory_policy="Static",
        reserved_memory={0: {"memory": 1 << 30}},
    )
    made = Managers(describe(parse_machine(TWO_NODES)), config)
    made.devices.update(GPU, [Device("a", (0,)), Device("b", (1,))])
    return made


def test_everything_is_as_before() -> None:
    used = managers()
    # Node 0 is full by this, node 1 is not: what comes on top is node 1's, but giving it back begins with node 0.
    assert used.admit(pod_from(pod("wide", {"cpu": 1, "memory": "100Gi"}))).admitted
    before = snapshot.before_attempt(used)
    assert used.admit(
        pod_from(pod("p", {"cpu": 2, "memory": "20Gi", GPU: 1}, init=({"cpu": 5, "memory": "1Gi"},)))
    ).admitted
    snapshot.take_back(used, "uid-p", before)
    assert snapshot.before_attempt(used) == before
    assert used.devices.assignments == {}
    # The CPUs of an init container that was taken back are nobody's to use again.
    small = pod_from(pod("p", {"cpu": 2, "memory": "1Gi"}))
    other = managers()
    other.admit(pod_from(pod("wide", {"cpu": 1, "memory": "100Gi"})))
    assert used.admit(small) == other.admit(small)
    assert used.assignment("uid-p", "c0") == other.assignment("uid-p", "c0")
