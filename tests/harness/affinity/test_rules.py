"""Each rule of the taints and fields, worked out by hand on two nodes: CPUs 0-7 and 8-15, of which CPU 0 is kept."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.harness.affinity.ledger import Holding, used
from numaproof.harness.affinity.rules import check_fields, clash, cpu_text, outside, overcommitted, refusal, untolerable
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.pod import Pod
from numaproof.harness.pods.taints import Taint
from numaproof.harness.providers.memory import Block
from numaproof.harness.topology.verdict import Verdict
from tests.harness.affinity.sites import (
    CPU_TAINT,
    DEDICATED,
    EVERYTHING,
    GI,
    MEMORY_TAINT,
    NUMA,
    NUMA_TAINT,
    holding,
    pod,
    site,
)

HERE = site()
BOTH = [DEDICATED, NUMA]


def two_cpus(tolerations: list[dict[str, str]], **spec: Any) -> Pod:
    return pod("p", {"cpu": 2, "memory": "1Gi"}, tolerations=tolerations, **spec)


@pytest.mark.parametrize(
    ("tolerations", "spec"),
    [
        ([NUMA], {"numaNodeID": "0"}),
        ([NUMA], {"numaNodeID": "1"}),
        ([DEDICATED], {"cpuAffinity": "1-2"}),
        ([DEDICATED], {"cpuAffinity": "7-8"}),  # nobody asks for one node
        (BOTH, {"numaNodeID": "1", "cpuAffinity": "14-15"}),
        ([NUMA], {"numaNodeID": "1", "cpuAffinity": "8-15"}),  # shared ones may be more
        ([NUMA], {"cpuAffinity": "8-10"}),
        ([DEDICATED], {"numaNodeID": "1"}),
    ],
)
def test_places_that_can_be(tolerations: list[dict[str, str]], spec: dict[str, str]) -> None:
    check_fields(two_cpus(tolerations, **spec), HERE, ())


@pytest.mark.parametrize(
    ("tolerations", "spec", "taints", "message"),
    [
        ([NUMA], {"numaNodeID": "2"}, (), "spec.numaNodeID: there is no NUMA node 2 here; choose of 0-1"),
        (BOTH, {"numaNodeID": "9", "cpuAffinity": "1-2"}, (), "spec.numaNodeID: there is no NUMA node 9 here"),
        ([DEDICATED], {"cpuAffinity": "15-16"}, (), "spec.cpuAffinity: CPUs 16 are not online here; choose of 0-15"),
        (
            BOTH,
            {"numaNodeID": "0", "cpuAffinity": "7-8"},
            (),
            "spec.cpuAffinity: CPUs 8 are not of NUMA node 0; choose of 1-7",
        ),
        (
            [NUMA],
            {"cpuAffinity": "7-8"},
            (),
            "spec.cpuAffinity: CPUs 7-8 are of several NUMA nodes; choose those of one",
        ),
        ([DEDICATED], {"cpuAffinity": "7-8"}, (NUMA_TAINT,), "spec.cpuAffinity: CPUs 7-8 are of several NUMA nodes"),
        ([DEDICATED], {"cpuAffinity": "0-1"}, (), "spec.cpuAffinity: CPUs 0 are reserved for the host; choose others"),
        ([DEDICATED], {"cpuAffinity": "1-3"}, (), "spec.cpuAffinity: 3 CPUs, the pod asks for 2; give as many as it"),
        ([DEDICATED], {"cpuAffinity": "1"}, (), "spec.cpuAffinity: 1 CPUs, the pod asks for 2; give as many as it"),
        (
            [NUMA],
            {"numaNodeID": "1", "cpuAffinity": "8"},
            (),
            "spec.cpuAffinity: 1 CPUs, the pod asks for 2; give enough",
        ),
    ],
)
def test_places_that_cannot_be_are_refused_with_the_field(
    tolerations: list[dict[str, str]], spec: dict[str, str], taints: tuple[Taint, ...], message: str
) -> None:
    with pytest.raises(UserError) as caught:
        check_fields(two_cpus(tolerations, **spec), HERE, taints)
    assert str(caught.value).startswith(f"pod p: {message}")


def test_a_fraction_needs_the_next_whole_number_of_cpus() -> None:
    for cpus, fits in (("8-9", True), ("8-10", True), ("8", False)):
        one = pod("p", {"cpu": "1500m", "memory": "1Gi"}, tolerations=[NUMA], cpuAffinity=cpus)
        if fits:
            check_fields(one, HERE, ())
        else:
            with pytest.raises(UserError, match=r"spec\.cpuAffinity: 1 CPUs, the pod asks for 1\.5"):
                check_fields(one, HERE, ())


def reason(verdict: Verdict | None) -> str:
    assert verdict is None or (not verdict.admitted and verdict.message and "\n" not in verdict.message)
    return "" if verdict is None else verdict.reason


def manifest(*resources: Mapping[str, Any], init: Mapping[str, Any] | None = None, **spec: Any) -> Pod:
    containers = [{"name": f"c{i}", "resources": one} for i, one in enumerate(resources)]
    first = {} if init is None else {"initContainers": [{"name": "i", "resources": init}]}
    return pod_from({"metadata": {"name": "p"}, "spec": {"containers": containers, **first, **spec}})


def limits(cpu: str, request: str | None = None) -> dict[str, Any]:
    return {"limits": {"cpu": cpu}, **({} if request is None else {"requests": {"cpu": request}})}


# "Each pod bound to this node must request CPU in whole cores. The CPU limit must equal the request."
@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (manifest(limits("2"), tolerations=[DEDICATED]), ""),
        (manifest(limits("1500m"), limits("500m"), tolerations=[DEDICATED]), ""),  # shared, so whole together
        (manifest(limits("2"), {}, tolerations=[DEDICATED]), ""),
        (manifest(limits("1500m"), tolerations=[DEDICATED]), "spec: the containers ask for 1.5 CPUs together"),
        (manifest({}, tolerations=[DEDICATED]), "spec: the containers ask for 0 CPUs together"),
        (manifest(limits("2", "1"), tolerations=[DEDICATED]), "spec.containers[0].resources: the CPU limit is not"),
        (
            manifest(limits("2"), {"requests": {"cpu": "1"}}, tolerations=[DEDICATED]),
            "spec.containers[1].resources: the CPU limit is not the request",
        ),
        (
            manifest(limits("2"), init=limits("2", "1"), tolerations=[DEDICATED]),
            "spec.initContainers[0].resources: the CPU limit is not",
        ),
        (manifest(limits("2"), init=limits("2500m"), tolerations=[DEDICATED]), "ask for 2.5 CPUs together"),
        (
            manifest(
                limits("1"),
                resources={"requests": {"cpu": "2"}, "limits": {"cpu": "3"}},
                tolerations=[DEDICATED],
            ),
            "spec.resources: the CPU limit is not the request",
        ),
    ],
)
@pytest.mark.parametrize("taints", [(), (CPU_TAINT,)])
def test_dedicated_cpus_are_whole_and_limited_to_the_request(
    one: Pod, expected: str, taints: tuple[Taint, ...]
) -> None:
    verdict = refusal(one, HERE, taints)
    assert reason(verdict) == ("CPUAffinityError" if expected else "")
    if verdict is not None:
        assert verdict.message.startswith("CPUAffinity=dedicated: ")
        assert expected in verdict.message


def test_the_rule_is_for_who_tolerates_the_taint_too_not_only_for_who_names_it() -> None:
    half = manifest(limits("500m"), tolerations=[EVERYTHING])
    assert reason(refusal(half, HERE, ())) == ""
    assert reason(refusal(half, HERE, (CPU_TAINT,))) == "CPUAffinityError"
    assert reason(refusal(manifest(limits("1"), tolerations=[EVERYTHING]), HERE, (CPU_TAINT,))) == ""


# "must request CPU (whole or fractional cores) that fit a single NUMA node cpu allocatable": 7 and 8 here.
@pytest.mark.parametrize(
    ("cpu", "fits"), [("500m", True), ("7500m", True), ("8", True), ("8001m", False), ("9", False)]
)
@pytest.mark.parametrize(
    ("tolerations", "taints"), [([NUMA], ()), ([NUMA], (NUMA_TAINT,)), ([EVERYTHING], (NUMA_TAINT,))]
)
def test_a_pods_cpus_fit_one_numa_node(
    cpu: str, fits: bool, tolerations: list[dict[str, str]], taints: tuple[Taint, ...]
) -> None:
    assert reason(refusal(manifest(limits(cpu), tolerations=tolerations), HERE, taints)) == (
        "" if fits else "NUMACPUAffinityError"
    )


def test_all_containers_count_for_one_node() -> None:
    verdict = refusal(manifest(limits("4"), limits("4500m"), tolerations=[NUMA]), HERE, ())
    assert verdict is not None
    assert verdict.message == (
        "NUMACPUAffinity=strict: the pod asks for 8.5 CPUs, the largest NUMA node has 8 for pods"
    )
    assert reason(refusal(manifest(limits("9")), HERE, ())) == ""  # nobody asks


@pytest.mark.parametrize(
    ("site_name", "node_name", "expected"),
    [("", "", ""), ("", "other", ""), ("n1", "", ""), ("n1", "n1", ""), ("n1", "n2", "NodeName")],
)
def test_a_node_with_a_name_takes_its_own_pods(site_name: str, node_name: str, expected: str) -> None:
    verdict = refusal(pod("p", nodeName=node_name), replace(HERE, name=site_name), ())
    assert reason(verdict) == expected
    if verdict is not None:
        assert "spec.nodeName is n2, this is n1" in verdict.message


def test_a_taint_keeps_those_away_who_do_not_tolerate_it() -> None:
    assert reason(untolerable(pod(), (CPU_TAINT,))) == "TaintToleration"
    assert reason(untolerable(pod(tolerations=[NUMA]), (CPU_TAINT,))) == "TaintToleration"
    assert untolerable(pod(tolerations=[DEDICATED]), (CPU_TAINT,)) is None
    assert untolerable(pod(tolerations=[EVERYTHING]), (CPU_TAINT, NUMA_TAINT, MEMORY_TAINT)) is None
    verdict = untolerable(pod(tolerations=[DEDICATED]), (CPU_TAINT, NUMA_TAINT))
    assert verdict is not None
    assert "spec.tolerations has none for NUMACPUAffinity=strict:NoScheduleNoAdmitNoExecute" in verdict.message
    # The scheduler's business is not the node's.
    assert untolerable(pod(), (Taint("a", "", "NoSchedule"), Taint("b", "", "PreferNoSchedule"))) is None
    assert reason(untolerable(pod(), (Taint("a", "", "NoExecute"),))) == "TaintToleration"


def test_the_name_is_looked_at_before_the_taints() -> None:
    assert reason(refusal(pod(nodeName="n2"), site(name="n1"), (CPU_TAINT,))) == "NodeName"


def try_clash(one: Pod, *others: Holding) -> Verdict | None:
    return clash(one, others, used(HERE.zones, others, {}), HERE.zones)


def test_cpus_of_others_cannot_be_had() -> None:
    wants = two_cpus([DEDICATED], cpuAffinity="4-5")
    assert try_clash(wants) is None
    assert try_clash(wants, holding(pod("a"), [1, 2])) is None
    verdict = try_clash(wants, holding(pod("a"), [1, 2]), holding(pod("b"), [5, 6]))
    assert reason(verdict) == "CPUAffinityError"
    assert verdict is not None
    assert verdict.message == "spec.cpuAffinity: CPUs 5 are those of pod default/b"


def test_shared_cpus_may_be_shared_and_not_be_dedicated() -> None:
    sharer = holding(pod("a", {"cpu": 1, "memory": "1Gi"}, tolerations=[NUMA], cpuAffinity="4-5", numaNodeID="0"))
    again = pod("b", {"cpu": 1, "memory": "1Gi"}, tolerations=[NUMA], cpuAffinity="5-6", numaNodeID="0")
    assert try_clash(again, sharer) is None
    assert reason(try_clash(two_cpus([DEDICATED], cpuAffinity="5-6"), sharer)) == "CPUAffinityError"
    # And shared ones cannot be among dedicated ones.
    assert reason(try_clash(again, holding(pod("c"), [6]))) == "CPUAffinityError"


def test_a_node_that_is_promised_has_no_room_left() -> None:
    first = holding(pod("a", {"cpu": "6500m", "memory": "1Gi"}, tolerations=[NUMA], numaNodeID="0"))
    for cpu, fits in (("500m", True), ("501m", False)):
        one = pod("b", {"cpu": cpu, "memory": "1Gi"}, tolerations=[NUMA], numaNodeID="0")
        assert reason(try_clash(one, first)) == ("" if fits else "NUMACPUAffinityError")
    elsewhere = pod("b", {"cpu": 8, "memory": "1Gi"}, tolerations=[NUMA], numaNodeID="1")
    assert try_clash(elsewhere, first) is None
    verdict = try_clash(pod("b", {"cpu": "1501m", "memory": "1Gi"}, tolerations=[NUMA], numaNodeID="0"), first)
    assert verdict is not None
    assert verdict.message == "NUMA node 0: 1.501 CPUs are wanted, 0.5 are left for pods"


def test_strict_memory_has_to_be_left_on_the_node() -> None:
    def wanting(memory: str, policy: Any) -> Pod:
        one = pod("b", {"cpu": 1, "memory": memory}, tolerations=[NUMA], numaNodeID="1")
        return replace(one, numa_memory=policy)

    first = holding(wanting("60Gi", "strict"))
    assert try_clash(wanting("4Gi", "strict"), first) is None
    verdict = try_clash(wanting("5Gi", "strict"), first)
    assert reason(verdict) == "NUMAMemoryPolicyError"
    assert verdict is not None
    assert verdict.message == f"NUMA node 1: {5 * GI} bytes of memory are wanted, {4 * GI} are left for pods"
    assert try_clash(wanting("5Gi", "preferred"), first) is None
    assert try_clash(wanting("5Gi", None), first) is None


def test_a_pod_without_one_home_has_no_node_to_fit() -> None:
    wide = pod("p", {"cpu": 2, "memory": "100Gi"}, tolerations=[DEDICATED], cpuAffinity="7-8")
    assert try_clash(replace(wide, numa_memory="strict")) is None


def test_what_was_given_lies_at_home() -> None:
    at_home = pod(tolerations=[NUMA], numaNodeID="1")
    assert outside(holding(at_home, [8, 9]), HERE.zones) is None
    assert outside(holding(at_home), HERE.zones) is None
    assert outside(holding(pod(), [7, 8]), HERE.zones) is None
    verdict = outside(holding(at_home, [7, 8]), HERE.zones)
    assert reason(verdict) == "NUMACPUAffinityError"
    assert verdict is not None
    assert verdict.message == "spec.numaNodeID: NUMA node 1: 1 of 2 CPUs could be had there"


@pytest.mark.parametrize(
    ("policy", "nodes", "expected"),
    [
        ("strict", (1,), ""),
        ("strict", (0,), "NUMAMemoryPolicyError"),
        ("strict", (0, 1), "NUMAMemoryPolicyError"),
        ("preferred", (0,), ""),
        (None, (0, 1), ""),
    ],
)
def test_strict_memory_lies_at_home_alone(policy: Any, nodes: tuple[int, ...], expected: str) -> None:
    one = replace(pod(tolerations=[NUMA], numaNodeID="1"), numa_memory=policy)
    assert reason(outside(holding(one, [8, 9], [Block(nodes, "memory", GI)]), HERE.zones)) == expected


def test_others_cannot_break_a_promise() -> None:
    promise = holding(pod("a", {"cpu": "6500m", "memory": "1Gi"}, tolerations=[NUMA], numaNodeID="0"))
    assert overcommitted([promise], HERE.zones, {}) is None
    assert reason(overcommitted([promise, holding(pod("b"), [1, 2])], HERE.zones, {})) == "NUMACPUAffinityError"


def test_amounts_are_told_in_cpus() -> None:
    assert [cpu_text(amount) for amount in (0, 1, 500, 1000, 2500, 12000)] == ["0", "0.001", "0.5", "1", "2.5", "12"]
