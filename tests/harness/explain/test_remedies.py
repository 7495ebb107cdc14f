"""Remedies that need something special of the node; each is applied to another node, which then does what is wanted."""

from dataclasses import replace
from typing import Any

import pytest

from numaproof.fake_sysfs import parse_machine
from numaproof.harness.explain.alignment import unaligned_container
from numaproof.harness.explain.explanation import explain
from numaproof.harness.pods.manifest import pod_from
from tests.harness.explain.states import State, changed

# CPUs 0-7 on NUMA node 0, 8-15 on NUMA node 1; threads of a core are 0 and 1, 2 and 3.
MACHINE = parse_machine("numa:2(memory=8GiB) core:4 pu:2")


def pod(name: str, cpu: int, init: int = 0) -> dict[str, Any]:
    def container(called: str, count: int) -> dict[str, Any]:
        limits = {"cpu": count, "memory": "64Mi"}
        return {"name": called, "resources": {"limits": limits, "requests": dict(limits)}}

    spec: dict[str, Any] = {"containers": [container("app", cpu)]}
    if init:
        spec["initContainers"] = [container("first", init)]
    return {"kind": "Pod", "metadata": {"name": name}, "spec": spec}


def state(kubelet: dict[str, Any], asked: dict[str, Any], *running: dict[str, Any]) -> State:
    return State(MACHINE, kubelet, {}, running, asked)


def told(before: State) -> list[tuple[str, dict[str, Any]]]:
    """What is offered; each was applied to a node that starts anew, and the pod is then admitted and aligned there."""
    node = before.assembled()
    explanation = explain(node.replica, pod_from(before.pod), node.history)
    for remedy in explanation.remedies:
        after = changed(before, remedy.change.apply)
        again = after.assembled()
        trace = again.replica.admit(pod_from(after.pod))
        assert trace.verdict.admitted, remedy.change
        if explanation.trace.verdict.admitted:
            assert unaligned_container(pod_from(after.pod), trace, again.replica.setup.description) is None
    return [(one.change.text, dict(one.change.apply)) for one in explanation.remedies]


STATIC: dict[str, Any] = {"cpuManagerPolicy": "static"}
WITHOUT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # The first core, as no CPU is reserved: CPUs 0 and 1.
    "nothing reserved": ({}, STATIC | {"reservedSystemCPUs": "0-1"}),
    "CPUs reserved": ({"reservedSystemCPUs": "3"}, STATIC),
    # One and a half CPUs: a kubelet picks two.
    "an amount reserved": ({"kubeReserved": {"cpu": "1500m"}}, STATIC),
}


@pytest.mark.parametrize("case", WITHOUT)
@pytest.mark.parametrize("policy", ["restricted", "none"])
def test_without_a_cpu_manager_it_is_switched_on(case: str, policy: str) -> None:
    kubelet, expected = WITHOUT[case]
    # Six CPUs fit either NUMA node, also the first without two.
    offered = told(state(kubelet | {"topologyManagerPolicy": policy}, pod("asked", 6)))
    aligning = {"topologyManagerPolicy": "best-effort"} if policy == "none" else {}
    assert {"config": expected | aligning} in [apply for _, apply in offered]


def test_no_cpu_manager_is_switched_on_where_its_reserved_cpus_would_not_leave_enough() -> None:
    # 9 of the 16 CPUs are promised to others, who share them, and 6 are asked for: two more cannot be reserved.
    others = pod("others", 9)
    del others["spec"]["containers"][0]["resources"]["limits"]
    node = {"topologyManagerPolicy": "best-effort"}
    assert told(state(node, pod("asked", 6), others)) == []
    assert told(state(node, pod("asked", 5), others)) != []


def test_init_containers_that_sink_the_pod_can_share_cpus_or_match() -> None:
    # CPU 0 is reserved, and five of the seven other CPUs of NUMA node 0 are taken: the init container's CPUs are on
    # NUMA node 0, where the fewest are free, and the container of six CPUs has to take them over.
    kubelet = STATIC | {"topologyManagerPolicy": "single-numa-node", "reservedSystemCPUs": "0"}
    before = state(kubelet, pod("asked", 6, init=2), pod("there", 5))
    node = before.assembled()
    explanation = explain(node.replica, pod_from(before.pod), node.history)
    assert explanation.blame is not None
    assert not explanation.trace.verdict.admitted
    offered = told(before)
    assert [apply["pod"] for _, apply in offered[:2]] == [{"first": {"cpu": "1900m"}}, {"first": {"cpu": "6"}}]
    assert told(replace(before, running=())) == []
