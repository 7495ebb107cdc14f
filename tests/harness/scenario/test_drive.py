"""The driver, on a rig of the test's own: what always must hold is seen failing, and each step does its one thing."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.harness.providers.memory import Block
from tests.harness.scenario.fake_rig import GPU, FakeRig, Held, admit, driven, given_of


def test_a_story_without_differences(tmp_path: Path) -> None:
    rig = FakeRig()
    story = [
        admit("a"),
        admit("b"),
        {"restart": "node"},
        {"restart": GPU},
        {"health": {"resource": GPU, "ids": ["gpu-1"], "healthy": False}},
        {"remove": "a"},
        {"offline": {"last_of_numa": 1}},
        {"look": "machine"},
        {"start": "b"},
    ]
    assert driven(tmp_path, rig, *story) == []
    assert rig.done == [
        ("admit", "a"),
        ("admit", "b"),
        ("restart", "node"),
        ("restart", GPU),
        ("health", GPU, ("gpu-1",), False),
        ("remove", "a"),
        ("offline", 7),
    ]


def lose(held: Held) -> None:
    held["a"] = {"app": replace(held["a"]["app"], cpus=frozenset())}


def vanish(held: Held) -> None:
    del held["a"]


def appear(held: Held) -> None:
    held["x"] = {}


def swap(held: Held) -> None:
    held["a"], held["b"] = held["b"], held["a"]


@pytest.mark.parametrize(
    ("disturb", "said"),
    [
        (lose, "steps[2]: a was given "),
        (vanish, "steps[2]: the node holds the pods ['b'], admitted were ['a', 'b']"),
        (appear, "steps[2]: the node holds the pods ['a', 'b', 'x'], admitted were ['a', 'b']"),
        (swap, "steps[2]: a was given "),
    ],
)
def test_a_pod_keeps_what_it_got(tmp_path: Path, disturb: Callable[[Held], None], said: str) -> None:
    rig = FakeRig()
    steps = [admit("a"), admit("b"), {"restart": "node"}]
    assert driven(tmp_path, rig, *steps) == []
    rig = FakeRig()
    # Only once both are there: the third step is the one that goes wrong.
    rig.disturb = lambda held: disturb(held) if ("restart", "node") in rig.done else None
    found = driven(tmp_path, rig, *steps)
    assert found
    assert found[0].startswith(said), found


def hide_pod(told: Held) -> None:
    told.pop("a", None)


def show_more(told: Held) -> None:
    told["x"] = {}


def hide_container(told: Held) -> None:
    told["a"].pop("app")


def other_cpus(told: Held) -> None:
    told["a"]["app"] = replace(told["a"]["app"], cpus=frozenset({7}))


def other_memory(told: Held) -> None:
    told["a"]["app"] = replace(told["a"]["app"], memory=(Block((0,), "memory", 1),))


def other_node(told: Held) -> None:
    told["a"]["app"] = replace(told["a"]["app"], devices=given_of(devices={GPU: {"gpu-1": (1,)}}).devices)


@pytest.mark.parametrize("mistell", [hide_pod, hide_container, other_cpus, other_memory, other_node])
def test_pod_resources_must_tell_what_was_admitted(tmp_path: Path, mistell: Callable[[Held], None]) -> None:
    rig = FakeRig()
    rig.mistell = mistell
    (found,) = driven(tmp_path, rig, admit("a"))
    assert found.startswith("steps[0]: PodResources lists ")
    assert " for a, admitted was {'app': Assignment(" in found


def test_pod_resources_must_not_tell_of_others(tmp_path: Path) -> None:
    rig = FakeRig()
    rig.mistell = show_more
    assert driven(tmp_path, rig, admit("a")) == ["steps[0]: PodResources lists {} for x, admitted was None"]


def test_list_and_get_must_agree(tmp_path: Path) -> None:
    rig = FakeRig()
    rig.forgets = "a"
    (found,) = driven(tmp_path, rig, admit("a"), {"remove": "a"})
    assert found.startswith("steps[0]: PodResources lists {'app': Assignment(")
    assert found.endswith(" for a, and gets None")


def test_a_device_whose_topology_has_no_nodes_is_not_listed(tmp_path: Path) -> None:
    rig = FakeRig()

    rig.answer = lambda given: replace(given, devices=given_of(devices={GPU: {"gpu-1": ()}}).devices)
    rig.mistell = lambda told: told["a"].update(app=replace(told["a"]["app"], devices={}))
    assert driven(tmp_path, rig, admit("a")) == []


def test_what_no_step_expects_is_not_asked(tmp_path: Path) -> None:
    rig = FakeRig()
    assert driven(tmp_path, rig, admit("a")) == []
    assert rig.asked == []


def test_metrics_are_those_after_the_step(tmp_path: Path) -> None:
    labelled = 'held{b="2",a="1"}'  # the order of labels does not matter
    story = [admit("a", metrics={"admissions": 1, labelled: 1}), admit("b", metrics={"admissions": 2})]
    assert driven(tmp_path, FakeRig(), *story) == []
    wrong = {"admissions": 2, "nothing": 0}
    assert driven(tmp_path, FakeRig(), admit("a", metrics=wrong)) == [
        "steps[0]: expected the metric admissions to be 2, was 1.0",
        "steps[0]: expected the metric nothing to be 0, was absent",
    ]


def test_what_pod_resources_shows_of_a_pod(tmp_path: Path) -> None:
    story = [admit("a", listed={"a": ["app"]}), {"remove": "a", "expect": {"listed": {"a": None}}}]
    assert driven(tmp_path, FakeRig(), *story) == []
    story = [admit("a"), {"remove": "a"}, admit("b", listed={"a": [], "b": []})]
    assert driven(tmp_path, FakeRig(), *story) == [
        "steps[2]: expected PodResources to show the containers [] of a, was nothing",
        "steps[2]: expected PodResources to show the containers [] of b, was the containers ['app']",
    ]


def test_what_is_allocatable(tmp_path: Path) -> None:
    right = {
        "cpus": "1-7",
        "cpu_count": 7,
        "memory": {"memory": "3Gi", "hugepages-2Mi": 0},
        "devices": {GPU: ["gpu-1"]},
    }
    assert driven(tmp_path, FakeRig(), admit("a", allocatable=right)) == []
    wrong = {"cpus": "0-7", "memory": {"memory": "1Gi"}, "memory_nodes": [0], "devices": {GPU: {"1": 1}}}
    assert driven(tmp_path, FakeRig(), admit("a", allocatable=wrong)) == [
        "steps[0]: expected all that is allocatable on the CPUs 0-7, were 1-7",
        "steps[0]: expected all that is allocatable's memory on [0], was on [0, 1]",
        "steps[0]: expected 1073741824 bytes of memory for all that is allocatable, were 3221225472",
        f"steps[0]: expected {GPU} for all that is allocatable by NUMA node {{'1': 1}}, were {{'0': 1}}",
    ]


@pytest.mark.parametrize("thing", ["CPU 1", f"{GPU} gpu-1"])
def test_nothing_is_given_twice(tmp_path: Path, thing: str) -> None:
    rig = FakeRig()

    def twice(held: Held) -> None:
        if "b" in held:
            first = held["a"]["app"]
            held["b"]["app"] = given_of(first.cpus) if thing.startswith("CPU") else replace(first, cpus=frozenset())

    rig.disturb = twice
    found = driven(tmp_path, rig, admit("a"), admit("b"))
    assert f"steps[1]: {thing} belongs to both a and b" in found


def test_containers_of_one_pod_may_share(tmp_path: Path) -> None:
    rig = FakeRig()

    def reuse(held: Held) -> None:
        held["a"]["init"] = held["a"]["app"]  # an init container's CPUs are its pod's

    def ended(told: Held) -> None:
        del told["a"]["init"]

    rig.disturb, rig.mistell = reuse, ended
    assert driven(tmp_path, rig, admit("a"), {"restart": "node"}) == []


def test_a_rejected_pod_holds_nothing(tmp_path: Path) -> None:
    rig = FakeRig()
    rejected = admit("d", admitted=False, reason="TopologyAffinityError")
    assert driven(tmp_path, rig, admit("a"), admit("b"), admit("c"), rejected) == []
    rig = FakeRig()
    rig.disturb = appear  # holds a pod that nobody admitted
    assert any("the node holds the pods" in text for text in driven(tmp_path, rig, admit("a")))


@pytest.mark.parametrize(("policy", "differs"), [("none", False), ("restricted", True)])
def test_when_selects_the_instance(tmp_path: Path, policy: str, differs: bool) -> None:
    step = admit("a")
    step["expect"] = [
        {"when": {"policy": "none"}, "admitted": True},
        {"when": {"policy": ["restricted"]}, "reason": "TopologyAffinityError"},
    ]
    found = driven(tmp_path, FakeRig(), step, policy=policy)
    assert found == (["steps[0]: expected rejection (TopologyAffinityError), was admitted"] if differs else [])


@pytest.mark.parametrize(("machine", "differs"), [("m", True), ("other", False)])
def test_when_selects_the_machine(tmp_path: Path, machine: str, differs: bool) -> None:
    step = admit("a", when={"machine": machine}, admitted=False)
    matrix = {"policy": ["none"], "machine": ["m", "other"]}
    assert bool(driven(tmp_path, FakeRig(), step, matrix=matrix)) is differs


def test_calls_are_those_of_the_step(tmp_path: Path) -> None:
    once = {"calls": {GPU: {"Allocate": 1, "PreStartContainer": 0}}}
    none = {"calls": {GPU: {"Allocate": 0}}}
    story = [admit("a", **once), admit("b", **once), {"restart": "node", "expect": none}]
    assert driven(tmp_path, FakeRig(), *story) == []
    twice = {"calls": {GPU: {"Allocate": 2}}}
    (found,) = driven(tmp_path, FakeRig(), admit("a"), admit("b", **twice))
    assert found.startswith(f"steps[1]: expected 2 x Allocate of {GPU}, were ")


def test_after_other_steps_all_pods_are_judged(tmp_path: Path) -> None:
    expect = {"containers": {"a/app": {"cpus": "1"}, "b/app": {"cpus": "2"}}}
    assert driven(tmp_path, FakeRig(), admit("a"), admit("b"), {"restart": "node", "expect": expect}) == []
    wrong = {"containers": {"a/app": {"cpus": "3"}}}
    assert driven(tmp_path, FakeRig(), admit("a"), {"restart": "node", "expect": wrong}) == [
        "steps[1]: expected a/app on the CPUs 3, were 1"
    ]


@pytest.mark.parametrize("step", [{"look": "machine"}, {"start": "a"}])
def test_what_is_seen_wrong_is_told(tmp_path: Path, step: dict[str, Any]) -> None:
    rig = FakeRig()
    rig.seen_wrong = ["wrong"]
    (found,) = driven(tmp_path, rig, admit("a"), step)
    assert found in ("steps[1]: wrong", "steps[1]: a: wrong")


@pytest.mark.parametrize("expect", [{"aligned": "container"}, {"numa": 1}, {"nodes": []}, {"containers": {}}])
def test_where_a_pod_runs_implies_that_it_does(tmp_path: Path, expect: dict[str, Any]) -> None:
    rig = FakeRig()
    for name in ("a", "b", "c"):
        rig.held[name] = {}
    found = driven(tmp_path, rig, admit("d", **expect))
    assert "steps[0]: expected admission, was rejected (TopologyAffinityError: no locality)" in found


def test_a_numa_node_without_cpus_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"steps\[0\]\.offline: NUMA node 5 of .* has no CPUs"):
        driven(tmp_path, FakeRig(), {"offline": {"last_of_numa": 5}})


MISTAKES = [
    ({"restart": "example.com/nic"}, "steps[0].restart: no plugin here offers example.com/nic (offered: " + GPU),
    ({"health": {"resource": "x/y", "ids": ["a"]}}, "steps[0].health.resource: no plugin here offers x/y"),
    (admit("a", containers={"app": {"nodes": 0}}), "containers.app.nodes: 0 is not a list of NUMA nodes"),
    (admit("a", containers={"app": {"cpus": "one"}}), "containers.app.cpus: 'one' is not a CPU list"),
    (admit("a", containers={"app": {"devices": {GPU: "x"}}}), "containers.app.devices: "),
    (admit("a", calls={GPU: 1}), f"calls.{GPU}: 1 is not a mapping"),
    (admit("a", metrics={"a b": 1}), "expect.metrics: 'a b' is not a sample; write name or name{label="),
    (admit("a", metrics={"a": [1]}), "expect.metrics.a: [1] is not a number"),
    (admit("a", listed={"a": "app"}), "expect.listed.a: 'app' is not a list of containers; null: no such pod"),
    (admit("a", allocatable={"cpu": 1}), "expect.allocatable.cpu: unknown key; known: cpus"),
    (admit("a", containers={"app": {"same_cpus_as": "x"}}), "app.same_cpus_as: there is no container 'x' to look at"),
    (admit("a", containers={"ap": {}}), "containers.ap: there is no container 'ap' to look at (there are: app)"),
    (admit("a", containers={"app": {"memory": 1}}), "containers.app.memory: 1 is not by resource: a size"),
]


@pytest.mark.parametrize(("step", "said"), MISTAKES, ids=[said[:30] for _, said in MISTAKES])
def test_a_mistake_in_a_step_is_told_before_anything_runs(tmp_path: Path, step: dict[str, Any], said: str) -> None:
    rig = FakeRig()
    with pytest.raises(UserError) as told:
        driven(tmp_path, rig, step)
    assert said in str(told.value)
    assert rig.done == []


def test_a_matrix_of_mappings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="a matrix holds plain words"):
        driven(tmp_path, FakeRig(), admit("a"), matrix={"cpuManagerPolicyOptions": [{"full-pcpus-only": "true"}]})


def test_a_pod_that_goes_elsewhere_than_expected_is_explained(tmp_path: Path) -> None:
    rig = FakeRig()
    rig.explained = ["as it pleases me"]
    found = driven(tmp_path, rig, admit("a"), admit("b", reason="TopologyAffinityError"), {"restart": "node"})
    assert found == [
        "steps[1]: expected rejection (TopologyAffinityError), was admitted",
        "the node: b: as it pleases me",
    ]
