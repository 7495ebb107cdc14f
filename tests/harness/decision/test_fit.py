"""The fit: whether the node has enough for a pod beside the others."""

import pytest

from numaproof.harness.decision.fit import Shortage, find_shortage, requests_of
from numaproof.harness.pods.manifest import pod_from

ALLOCATABLE = {"pods": 2, "cpu": 4000, "memory": 1000, "hugepages-2Mi": 0, "example.com/gpu": 1}


@pytest.mark.parametrize(
    ("requests", "reason", "message"),
    [
        ({"cpu": 4000, "memory": 1000, "example.com/gpu": 1}, None, None),
        ({"cpu": 4001}, "OutOfcpu", "cpu, requested: 4001, used: 0, capacity: 4000"),
        ({"cpu": 4001, "memory": 9999}, "OutOfcpu", "cpu, requested: 4001, used: 0, capacity: 4000"),
        ({"memory": 1001}, "OutOfmemory", "memory, requested: 1001, used: 0, capacity: 1000"),
        ({"hugepages-2Mi": 2048}, "OutOfhugepages-2Mi", "hugepages-2Mi, requested: 2048, used: 0, capacity: 0"),
        ({"example.com/gpu": 2}, "OutOfexample.com/gpu", "example.com/gpu, requested: 2, used: 0, capacity: 1"),
        ({"example.com/unheard-of": 2}, None, None),
        ({"hugepages-2Mi": 0}, None, None),
    ],
)
def test_fit_of_a_first_pod(requests: dict[str, int], reason: str | None, message: str | None) -> None:
    shortage = find_shortage(requests, [], ALLOCATABLE)
    if reason is None:
        assert shortage is None
    else:
        assert shortage is not None
        refusal = shortage.verdict()
        assert (refusal.admitted, refusal.reason) == (False, reason)
        assert refusal.message == f"Node didn't have enough resource: {message}"


def test_fit_counts_the_other_pods() -> None:
    shortage = find_shortage({"cpu": 2000}, [{"cpu": 2500, "memory": 1}], ALLOCATABLE)
    assert shortage == Shortage("cpu", requested=2000, used=2500, capacity=4000)
    text = "Node didn't have enough resource: cpu, requested: 2000, used: 2500, capacity: 4000"
    assert shortage.verdict().message == text
    assert find_shortage({"cpu": 1500}, [{"cpu": 2500}], ALLOCATABLE) is None
    shortage = find_shortage({}, [{}, {}], ALLOCATABLE)
    assert shortage is not None
    assert shortage.verdict().reason == "OutOfpods"


def test_requests_are_those_of_the_hungriest_moment() -> None:
    pod = pod_from(
        {
            "metadata": {"name": "p"},
            "spec": {
                "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "3"}}}],
                "containers": [{"name": "c", "resources": {"requests": {"cpu": "1.5", "memory": "1.5"}}}],
            },
        }
    )
    assert requests_of(pod) == {"cpu": 3000, "memory": 2}
