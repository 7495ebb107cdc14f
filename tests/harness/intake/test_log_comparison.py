"""A log beside a decision here: where they agree, and each way in which they do not.

The node has 2 NUMA nodes with 4 CPUs each, of which CPU 0 is reserved. A container that asks for 3 CPUs fits on NUMA
node 0, which has 3 left, on NUMA node 1, which has 4, and with less preference on both: the hints are {0} and {1},
preferred, and {0,1}, not preferred. Of two preferred ones the lower is the best.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from numaproof.fake_sysfs import parse_machine
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.decision.config import settings_of
from numaproof.harness.decision.trace import Trace
from numaproof.harness.intake.assembly import assemble
from numaproof.harness.intake.kubelet_log import read_kubelet_log
from numaproof.harness.intake.log_comparison import Compared, comparison, comparison_lines
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.pod import Pod
from numaproof.harness.providers.devices import Device
from numaproof.harness.topology.bitmask import mask_of
from numaproof.harness.topology.hints import TopologyHint

FIRST, SECOND = TopologyHint(mask_of([0]), True), TopologyHint(mask_of([1]), True)
BOTH = TopologyHint(mask_of([0, 1]), False)
GPU = "example.com/gpu"
STATE = "where they differ, the node was in another state then, or not all of it is known here"


def pod_of(cpus: int = 3, name: str = "web", containers: int = 1, gpus: int = 0) -> Pod:
    limits = {"cpu": cpus, "memory": "1Gi"} | ({GPU: gpus} if gpus else {})
    listed = [{"name": f"c{number}", "resources": {"limits": limits}} for number in range(containers)]
    return pod_from({"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": listed}})


def decided(
    pod: Pod,
    kubelet: Mapping[str, Any] | None = None,
    machine: str = "pack:2 [numa(memory=8GiB)] core:4 pu:1",
    devices: Mapping[str, tuple[Device, ...]] | None = None,
) -> Trace:
    settings = {
        "topologyManagerPolicy": "restricted",
        "cpuManagerPolicy": "static",
        "reservedSystemCPUs": "0",
        **(kubelet or {}),
    }
    node = assemble(parse_machine(machine), settings_of(settings, Where("kubelet")), devices or {}, [])
    return node.replica.decide(pod)


def hints(said: str, pod: str = "default/web", container: str = "c0") -> str:
    """A line with what a provider said."""
    named = f' containerName="{container}"' if container else ""
    return f'"TopologyHints" hints={said} pod="{pod}"{named}\n'


def best(hint: str, pod: str = "default/web", container: str = "c0") -> str:
    """A line with the best hint."""
    named = f' containerName="{container}"' if container else ""
    return f'"Best TopologyHint" bestHint={hint} pod="{pod}"{named}\n'


THREE = "map[cpu:[{01 true} {10 true} {11 false}]]"
AGREES = ("container c0: cpu: the hints of the log are those here",)
BEST_AGREES = "container c0: the best hint of the log is that here: NUMA node 0 (preferred)"


def lines(text: str, pod: Pod, trace: Trace) -> tuple[str, ...]:
    return tuple(comparison_lines(read_kubelet_log(text, "log"), pod, trace))


def compared(text: str, pod: Pod, trace: Trace) -> tuple[Compared, ...]:
    return comparison(read_kubelet_log(text, "log"), pod, trace)


@pytest.mark.parametrize(
    "said",
    [
        THREE,
        "map[cpu:[{11 false} {10 true} {01 true}]]",  # the order tells nothing
        '{"cpu":[{"NUMANodeAffinity":1,"Preferred":true},{"NUMANodeAffinity":2,"Preferred":true},'
        '{"NUMANodeAffinity":3,"Preferred":false}]}',
    ],
)
def test_a_log_that_agrees(said: str) -> None:
    pod = pod_of()
    text = hints("map[]") + hints(said) + best("{01 true}")
    assert lines(text, pod, decided(pod)) == (*AGREES, BEST_AGREES)
    found = compared(text, pod, decided(pod))
    assert [(one.container, one.resource, one.agrees) for one in found] == [("c0", "cpu", True), ("c0", "", True)]
    assert frozenset(found[0].logged or ()) == frozenset(found[0].ours or ()) == {FIRST, SECOND, BOTH}
    assert found[1].logged == found[1].ours == (FIRST,)


def test_other_hints_and_another_best() -> None:
    """As on a node where a CPU more of NUMA node 0 is taken: 2 are left there, too few."""
    pod = pod_of()
    text = hints("map[cpu:[{10 true} {11 false}]]") + best("{10 true}")
    assert compared(text, pod, decided(pod)) == (
        Compared("c0", "cpu", (SECOND, BOTH), (FIRST, SECOND, BOTH), agrees=False),
        Compared("c0", "", (SECOND,), (FIRST,), agrees=False),
    )
    assert lines(text, pod, decided(pod)) == (
        "container c0: cpu: in the log NUMA node 1 (preferred), NUMA nodes 0+1 (not preferred), here NUMA node 0 "
        "(preferred), NUMA node 1 (preferred), NUMA nodes 0+1 (not preferred)",
        "container c0: the best hint is NUMA node 1 (preferred) in the log, and NUMA node 0 (preferred) here",
        STATE,
    )


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ('{"cpu":[]}', "it fits nowhere"),
        ('{"cpu":null}', "it has no preference"),
        ("map[cpu:[]]", "it fits nowhere"),
        ("map[cpu:[{<nil> true}]]", "any NUMA node (preferred)"),
        ("map[cpu:[{00 false}]]", "no NUMA node (not preferred)"),
        ("map[cpu:[{11 true}]]", "NUMA nodes 0+1 (preferred)"),
    ],
)
def test_what_else_a_provider_may_say(said: str, text: str) -> None:
    pod = pod_of()
    told, told_state = lines(hints(said), pod, decided(pod))
    assert told.startswith(f"container c0: cpu: in the log {text}, here NUMA node 0 (preferred), ")
    assert told_state == STATE


def test_many_hints_are_not_all_shown() -> None:
    pod = pod_of()
    said = "map[cpu:[{01 true} {10 true} {11 false} {100 true} {101 false} {110 false}]]"
    told = lines(hints(said), pod, decided(pod))
    assert "NUMA node 2 (preferred) and 2 more, here" in told[0]


def devices_without_numa() -> dict[str, tuple[Device, ...]]:
    """Of devices without a NUMA node nobody has a preference."""
    return {GPU: (Device("a", None), Device("b", None))}


@pytest.mark.parametrize(
    ("said", "agrees"),
    [
        (f'{{"{GPU}":null}}', True),
        (f'{{"{GPU}":[]}}', False),
        (f"map[{GPU}:[]]", True),  # no preference, or nowhere
        (f"map[{GPU}:[{{10 true}}]]", False),
    ],
)
def test_no_preference(said: str, agrees: bool) -> None:
    pod = pod_of(gpus=1)
    [found] = compared(hints(said), pod, decided(pod, devices=devices_without_numa()))
    assert (found.resource, found.ours, found.agrees) == (GPU, None, agrees)


def test_a_device_that_only_the_log_has() -> None:
    pod = pod_of(gpus=1)
    text = hints(f"map[{GPU}:[{{10 true}}]]") + hints(THREE)
    told = lines(text, pod, decided(pod))
    assert told == (
        *AGREES,
        f"container c0: {GPU}: in the log NUMA node 1 (preferred), here nobody gives hints of it",
        STATE,
    )
    assert compared(text, pod, decided(pod))[0] == Compared("c0", GPU, (SECOND,), None, agrees=False, is_here=False)


def test_a_device_that_the_log_does_not_have() -> None:
    pod = pod_of(gpus=1)
    trace = decided(pod, devices={GPU: (Device("a", (1,)),)})
    text = hints("map[]") + hints(THREE) + best("{01 true}")
    assert f"container c0: {GPU}: the log has no hints of it, here NUMA node 1 (preferred)" in lines(text, pod, trace)
    # A line that is cut off may have been the one with them; without the best hint, the log may end before.
    damaged = hints(f"map[{GPU}:[{{10 tr...") + hints(THREE) + best("{01 true}")
    for part in (damaged, text.split('"Best')[0]):
        assert not [one for one in compared(part, pod, trace) if one.resource == GPU]


@pytest.mark.parametrize(
    ("version", "said", "agrees"),
    [
        ("v1.36.0", "{10 true}", True),
        ("v1.36.0", "{10 true} {11 false}", False),
        ("v1.35.1", "{10 true} {11 false}", True),
        (None, "{10 true} {11 false}", True),
        (None, "{10 true}", True),
        ("v1.35.1", "{10 true} {11 true}", False),
        ("v1.35.1", "{10 true} {01 false}", False),
        ("v1.35.1", "{11 false}", False),  # as if the device were on both
    ],
)
def test_a_kubelet_before_v1_36_has_hints_beyond_the_nodes_of_the_devices(
    version: str | None, said: str, agrees: bool
) -> None:
    """One device, on NUMA node 1. Since v1.36 only sets of nodes with devices are looked at, before that all sets."""
    pod = pod_of(gpus=1)
    told = f'"Kubelet version" kubeletVersion="{version}"\n' if version else ""
    text = told + hints(f"map[{GPU}:[{said}]]")
    [found] = compared(text, pod, decided(pod, devices={GPU: (Device("a", (1,)),)}))
    assert found.agrees is agrees


def test_an_older_kubelet_may_decide_otherwise() -> None:
    text = '"Kubelet version" kubeletVersion="v1.24.1"\n' + hints("map[cpu:[]]")
    assert lines(text, pod_of(), decided(pod_of()))[-1] == (
        "where they differ, the node was in another state then, not all of it is known here, or a kubelet v1.24.1 "
        "decides otherwise"
    )


def test_the_last_attempt_counts() -> None:
    pod = pod_of()
    text = hints("map[cpu:[]]") + best("{<nil> false}") + hints(THREE) + best("{01 true}")
    assert lines(text, pod, decided(pod)) == (*AGREES, BEST_AGREES)


def test_each_container_is_compared_with_its_own() -> None:
    """After c0 took 3 of NUMA node 0, nothing is left there: c1 fits on NUMA node 1, or on both."""
    pod = pod_of(containers=2)
    text = hints(THREE) + best("{01 true}") + hints("map[cpu:[{10 true} {11 false}]]", container="c1")
    assert lines(text + best("{10 true}", container="c1"), pod, decided(pod)) == (
        *AGREES,
        BEST_AGREES,
        "container c1: cpu: the hints of the log are those here",
        "container c1: the best hint of the log is that here: NUMA node 1 (preferred)",
    )


def test_scope_pod() -> None:
    """Two containers of 2 CPUs: 4 are only on NUMA node 1, or on both."""
    pod = pod_of(cpus=2, containers=2)
    text = hints("map[cpu:[{10 true} {11 false}]]", container="") + best("{10 true}", container="")
    assert lines(text, pod, decided(pod, {"topologyManagerScope": "pod"})) == (
        "the pod: cpu: the hints of the log are those here",
        "the pod: the best hint of the log is that here: NUMA node 1 (preferred)",
    )
    assert lines(text, pod, decided(pod)) == (
        "the log is of a kubelet with the scope pod, this is container",
        "none of its decisions is one that is made here: the containers or the scope are others",
    )


def test_another_policy() -> None:
    pod = pod_of()
    created = (
        '"Creating topology manager with policy per scope" topologyPolicyName="{}" topologyScopeName="container"\n'
    )
    text = created.format("best-effort") + hints(THREE)
    assert lines(text, pod, decided(pod)) == (
        "the log is of a kubelet with the policy best-effort, this is restricted",
        *AGREES,
    )
    assert lines(created.format("restricted") + hints(THREE), pod, decided(pod)) == AGREES
    assert lines(text, pod, decided(pod, {"topologyManagerPolicy": "none"})) == (
        "the log is of a kubelet with the policy best-effort, this is none",
    )
    # The policy none has no scope.
    other_scope = text.replace('"container"', '"pod"', 1)
    assert len(lines(other_scope, pod, decided(pod, {"topologyManagerPolicy": "none"}))) == 1


# Whose the decisions are.


@pytest.mark.parametrize("name", ["default/web", "web"])
def test_the_pod_by_its_names(name: str) -> None:
    pod = pod_of()
    assert lines(hints(THREE, pod=name), pod, decided(pod)) == AGREES


@pytest.mark.parametrize("name", ["web-7f5f7c755b-xxd5v", "web-xxd5v", "web-0"])
def test_a_pod_that_a_workload_made(name: str) -> None:
    pod = pod_of()
    text = hints("map[cpu:[]]", pod="default/web-aaaaa") + hints(THREE, pod=f"default/{name}")
    assert lines(text, pod, decided(pod)) == (f"the log's pod is default/{name}", *AGREES)


@pytest.mark.parametrize(
    "name", ["other/web", "default/webs", "default/web-server", "other/web-0", "default/web-UPPER"]
)
def test_another_pod(name: str) -> None:
    pod = pod_of()
    assert lines(hints(THREE, pod=name), pod, decided(pod)) == (
        f"the log has no hints of pod default/web, but of {name}",
    )
    assert compared(hints(THREE, pod=name), pod, decided(pod)) == ()


def test_of_several_pods_of_a_workload_the_last_counts_alone() -> None:
    pod = pod_of(containers=2)
    first = hints(THREE, pod="default/web-0") + hints("map[cpu:[]]", pod="default/web-0", container="c1")
    text = first + hints(THREE, pod="default/web-1")
    assert lines(text, pod, decided(pod)) == ("the log's pod is default/web-1", *AGREES)


def test_many_other_pods() -> None:
    pod = pod_of()
    text = "".join(hints(THREE, pod=f"a/p{number}") for number in range(6))
    assert lines(text, pod, decided(pod)) == (
        "the log has no hints of pod default/web, but of a/p0, a/p1, a/p2, a/p3 and 2 more",
    )


def test_the_pod_itself_counts_before_those_named_like_it() -> None:
    pod = pod_of()
    text = hints(THREE) + hints("map[cpu:[]]", pod="default/web-0")
    assert lines(text, pod, decided(pod)) == AGREES


def test_a_log_that_does_not_tell_the_pod() -> None:
    text = "[topologymanager] ContainerTopologyHint: {01 true}\n"
    said = "the log does not tell the pod of its hints; they are taken as this pod's"
    assert lines(text, pod_of(), decided(pod_of())) == (said, BEST_AGREES)
    # Of two containers it is not known which one is meant.
    two = pod_of(containers=2)
    assert compared(text, two, decided(two)) == ()


def test_a_log_without_decisions() -> None:
    assert lines('"Creating topology manager with none policy"\n', pod_of(), decided(pod_of())) == (
        "the log is of a kubelet with the policy none, this is restricted",
    )


# The verdict.

DENIED = '"Pod admission denied" pod="default/web" reason="{}" message="{}"\n'
NOWHERE = "Resources cannot be allocated with Topology locality"


def test_a_refusal_there_and_none_here() -> None:
    told = lines(DENIED.format("TopologyAffinityError", NOWHERE), pod_of(), decided(pod_of()))
    assert told == (f"in the log the pod is refused (TopologyAffinityError: {NOWHERE}), here it is admitted",)


def test_a_refusal_on_both_sides() -> None:
    """8 CPUs of which 7 are there: no hint at all."""
    pod = pod_of(cpus=8)
    text = DENIED.format("TopologyAffinityError", NOWHERE)
    assert lines(text, pod, decided(pod)) == (
        f"the pod is refused in the log as here (TopologyAffinityError: {NOWHERE})",
    )


def test_another_reason() -> None:
    pod = pod_of(cpus=8)
    assert lines(DENIED.format("OutOfcpu", "Node is full"), pod, decided(pod)) == (
        "in the log the pod is refused for another reason (OutOfcpu: Node is full), here it is TopologyAffinityError",
    )


def test_an_admission_there_and_a_refusal_here() -> None:
    pod = pod_of(cpus=8)
    text = '"Pod Admit Result" Message="" pod="default/web"\n'
    assert lines(text, pod, decided(pod)) == (
        "in the log the Topology Manager admits the pod, here it is refused: TopologyAffinityError",
    )
    assert lines(text, pod_of(), decided(pod_of())) == ()


def test_the_verdict_about_another_pod_is_not_told() -> None:
    text = hints(THREE) + DENIED.format("TopologyAffinityError", NOWHERE).replace("/web", "/web-0")
    assert lines(text, pod_of(), decided(pod_of())) == AGREES
