"""What bound pods share is given to nobody alone: which CPUs of a small machine are kept, worked out by hand."""

import pytest

from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.pod import Pod
from numaproof.harness.providers.cpu.bound_pods import Claim, claim_of, kept
from numaproof.harness.providers.cpu.sets import ids_of, set_of
from numaproof.harness.providers.cpu.topology import CpuTopology

# Two NUMA nodes, each of two cores with two threads: the cores are 0+1, 2+3 and 4+5, 6+7.
MACHINE = CpuTopology.of([(cpu, cpu // 2, cpu // 4, cpu // 4, cpu // 4) for cpu in range(8)])
ALL = set(range(8))


def node(number: int, thousandths: int) -> Claim:
    return Claim(number, 0, thousandths)


def cpus(ids: set[int], thousandths: int) -> Claim:
    return Claim(None, set_of(ids), thousandths)


@pytest.mark.parametrize(
    ("claims", "free", "expected"),
    [
        ([], ALL, set()),
        ([Claim()], ALL, set()),
        ([node(0, 1)], ALL, {3}),
        ([node(0, 1000)], ALL, {3}),
        ([node(0, 1001)], ALL, {2, 3}),  # of one core
        ([node(0, 500), node(0, 500), node(1, 500)], ALL, {3, 7}),
        ([node(0, 500)], ALL - {0}, {1}),  # of the core that is broken already
        ([node(0, 2500)], ALL - {3}, {0, 1, 2}),
        ([node(0, 4000)], {0, 5}, {0}),  # no more than there is
        ([cpus({1, 2}, 500)], ALL, {1, 2}),
        ([cpus({1, 2}, 500), node(0, 1500)], ALL, {1, 2}),  # which these two CPUs hold as well
        ([cpus({1, 2}, 500), node(0, 1501)], ALL, {1, 2, 3}),
        ([cpus({1, 2}, 500)], {0, 1}, {1}),
    ],
)
def test_which_cpus_stay_shared(claims: list[Claim], free: set[int], expected: set[int]) -> None:
    assert ids_of(kept(claims, MACHINE, set_of(free))) == expected


def pod(cpu: str, key: str, **spec: str) -> Pod:
    limits = {"cpu": cpu, "memory": "1Gi"}
    containers = [{"name": "c", "resources": {"limits": limits}}]
    return pod_from(
        {"metadata": {"name": "p"}, "spec": {"containers": containers, "tolerations": [_all_of(key)], **spec}}
    )


def _all_of(key: str) -> dict[str, str]:
    return {"key": key, "operator": "Exists"}


def test_who_claims_what() -> None:
    assert claim_of(pod("1500m", "NUMACPUAffinity", numaNodeID="1"), 0) == node(1, 1500)
    assert claim_of(pod("0", "NUMACPUAffinity", numaNodeID="1"), 0) == node(1, 1)
    assert claim_of(pod("2", "NUMACPUAffinity", numaNodeID="1"), 2) == Claim()
    assert claim_of(pod("2", "NUMACPUAffinity", numaNodeID="1", cpuAffinity="4-6"), 2) == cpus({4, 5, 6}, 2000)
    assert claim_of(pod("2", "CPUAffinity", cpuAffinity="4-5"), 0) == Claim()
