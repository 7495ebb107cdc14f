"""Pods that wait, bind, taints and quota on a rig of the test's own: what must hold is seen failing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.harness.scenario.outcome import Outcome
from tests.harness.scenario.fake_rig import GPU, FakeRig, Held, admit, driven, given_of

DEDICATED = "CPUAffinity=dedicated:NoScheduleNoAdmitNoExecute"
INVALID = Outcome(False, "Invalid", "makes no sense")


def pend(name: str, **expect: Any) -> dict[str, Any]:
    step = admit(name, **(expect or {"reason": "Pending"}))
    step["admit"]["tolerations"] = ["CPUAffinity=dedicated"]
    return step


def bind(name: str, *expect: dict[str, Any], **told: Any) -> dict[str, Any]:
    return {"bind": {"pod": name, **told}, "expect": list(expect) or [{"admitted": True}]}


ON_TWO = {"numa": 0, "count": 2}  # CPUs 1 and 2: CPU 0 is reserved
AT_ONE = {"numa": 1, "count": "half numa.cpus + 1"}  # CPUs 5 and 6


def test_a_story_without_differences(tmp_path: Path) -> None:
    rig = FakeRig()
    rig.evicts = ("plain", "waits")
    story: list[dict[str, Any]] = [
        {"quota": {"dedicated_cpu": "half numa.cpus"}},
        {"quota": {"dedicated_cpu": None}},
        pend("a", reason="Pending", pending=["a"], listed={"a": None}),
        bind("a", {"reason": "Pending", "pending": ["a"]}, numa=1),
        bind("a", {"containers": {"app": {"cpus": "5-6"}}, "pending": []}, cpus=AT_ONE, permitted=False),
        pend("waits"),
        admit("plain"),
        {
            "taint": {"add": [DEDICATED], "remove": ["NUMACPUAffinity"]},
            "expect": {"evicted": ["waits", "plain"], "containers": {"a/app": {"cpus": "5-6"}}, "pending": []},
        },
        {"restart": "node"},
        pend("gone"),
        {"remove": "gone", "expect": {"pending": []}},
    ]
    assert driven(tmp_path, rig, *story) == []
    assert [done for done in rig.done if done[0] != "admit"] == [
        ("quota", "1"),
        ("quota", None),
        ("bind", "a", "1", None, True),
        ("bind", "a", None, "5-6", False),
        ("taint", (DEDICATED,), ("NUMACPUAffinity",)),
        ("restart", "node"),
        ("remove", "gone"),
    ]


def test_a_bound_pod_keeps_what_it_got(tmp_path: Path) -> None:
    story: list[dict[str, Any]] = [pend("a"), bind("a", cpus=ON_TWO), {"restart": "node"}]
    assert driven(tmp_path, FakeRig(), *story) == []
    rig = FakeRig()

    def lose(held: Held) -> None:
        if "a" in rig.held:
            held["a"] = {"app": given_of()}

    rig.disturb = lose
    found = driven(tmp_path, rig, *story)
    assert found[0].startswith("steps[2]: a was given ")


def hold(waiting: Held) -> None:
    waiting["a"] = {"app": given_of({1})}


def forget(waiting: Held) -> None:
    waiting.pop("a", None)


def invent(waiting: Held) -> None:
    waiting["b"] = {}


@pytest.mark.parametrize(
    ("disturb", "said"),
    [
        (hold, "steps[0]: a waits, and holds {'app': Assignment("),
        (forget, "steps[0]: the pods [] wait at the node, told to were ['a']"),
        (invent, "steps[0]: the pods ['a', 'b'] wait at the node, told to were ['a']"),
    ],
)
def test_a_pod_that_waits_is_there_and_holds_nothing(
    tmp_path: Path, disturb: Callable[[Held], None], said: str
) -> None:
    rig = FakeRig()
    rig.disturb = disturb
    (found,) = driven(tmp_path, rig, pend("a"))
    assert found.startswith(said)


def test_a_pod_that_waits_is_not_listed(tmp_path: Path) -> None:
    rig = FakeRig()
    rig.mistell = lambda told: told.update(a={})
    assert driven(tmp_path, rig, pend("a")) == [
        "steps[0]: a waits, and PodResources gets {}",
        "steps[0]: PodResources lists {} for a, admitted was None",
    ]


def test_a_pod_that_waits_is_not_among_those_that_run(tmp_path: Path) -> None:
    rig = FakeRig()
    rig.held["a"] = {}
    rig.mistell = lambda told: told.clear()
    assert driven(tmp_path, rig, pend("a")) == ["steps[0]: the node holds the pods ['a'], admitted were []"]


def test_a_bound_pod_has_nothing_outside_of_its_cgroup(tmp_path: Path) -> None:
    rig = FakeRig()
    rig.answer = lambda given: given_of({1, 2, 3})
    (found,) = driven(tmp_path, rig, pend("a"), bind("a", cpus=ON_TWO))
    assert found.startswith(
        "steps[1]: a is confined to Confined(cpus=frozenset({1, 2}), memory_nodes=frozenset({0})), and"
    )


def test_nodes_that_know_no_places_are_not_asked(tmp_path: Path) -> None:
    rig = FakeRig()
    rig.offers = frozenset({"explain"})
    rig.waiting["x"] = {}
    assert driven(tmp_path, rig, admit("a")) == []


@pytest.mark.parametrize("step", [{"taint": {"add": [DEDICATED]}}, {"quota": {"dedicated_cpu": 1}}])
def test_a_refusal_that_nobody_expects_is_told(tmp_path: Path, step: dict[str, Any]) -> None:
    assert driven(tmp_path, FakeRig(), step) == []
    rig = FakeRig()
    rig.refusal = INVALID
    said = "steps[0]: was rejected (Invalid: makes no sense), which no expectation says"
    assert driven(tmp_path, rig, step) == [said]
    assert driven(tmp_path, rig, {**step, "expect": {"reason": "Invalid", "message": "no sense"}}) == []
    assert driven(tmp_path, rig, {**step, "expect": {"pending": []}}) == [said]


def test_a_refused_bind_leaves_the_pod_waiting(tmp_path: Path) -> None:
    rig = FakeRig()
    rig.refusal = Outcome(False, "CPUAffinityError", "not yours")
    assert driven(tmp_path, rig, pend("a"), bind("a", {"reason": "CPUAffinityError"}, cpus=ON_TWO)) == []
    rig.explained = ["as it pleases me"]
    assert driven(tmp_path, rig, pend("a"), bind("a", cpus=ON_TWO)) == [
        "steps[1]: expected admission, was rejected (CPUAffinityError: not yours)",
        "the node: a: as it pleases me",
    ]


def test_a_bind_is_explained_with_its_place(tmp_path: Path) -> None:
    rig = FakeRig()
    asked: list[Any] = []
    rig.explain = lambda manifest: asked.append(manifest["spec"]) or []  # type: ignore[func-returns-value, method-assign]
    driven(tmp_path, rig, pend("a"), bind("a", {"reason": "Pending"}, numa=1, cpus=ON_TWO))
    assert [(spec["numaNodeID"], spec["cpuAffinity"]) for spec in asked] == [("1", "1-2")]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (pend("a", admitted=True), "steps[0]: expected admission, was pended (Pending: spec.cpuAffinity is missing)"),
        (pend("a", pending=[]), "steps[0]: expected that [] wait, were ['a']"),
        (admit("a", pending=["a"]), "steps[0]: expected that ['a'] wait, were []"),
    ],
)
def test_who_waits(tmp_path: Path, step: dict[str, Any], said: str) -> None:
    assert driven(tmp_path, FakeRig(), step) == [said]


def test_who_is_evicted(tmp_path: Path) -> None:
    rig = FakeRig()
    rig.evicts = ("a",)
    step = {"taint": {"add": [DEDICATED]}, "expect": {"evicted": []}}
    assert driven(tmp_path, rig, admit("a"), step) == ["steps[1]: expected that [] are evicted, were ['a']"]


ADMITTED = admit("a")
MISTAKES: list[tuple[dict[str, Any], str]] = [
    (bind("b", cpus="1"), "steps[1].bind.pod: no step before admits a pod 'b' (admitted: a)"),
    (bind("a"), "steps[1].bind: binds a to nothing; give numa, cpus, or both"),
    (bind("a", cpu="1"), "steps[1].bind.cpu: unknown key; known: pod, numa, cpus, permitted"),
    (bind("a", numa=0, permitted="no"), "steps[1].bind.permitted: 'no' is neither true nor false"),
    ({"bind": {"pod": "a", "numa": 0}}, "steps[1]: expects nothing; say at least `expect: {admitted: true}`"),
    (bind("a", {"containers": {"a/app": {}}}, numa=0), "there is no container 'a/app' to look at (there are: app)"),
    (bind("a", {"evicted": []}, numa=0), "steps[1].expect[0].evicted: bind evicts nobody; expect it of a taint"),
    (
        bind("a", {"cost": {"at_most": 1}}, numa=0),
        "steps[1].expect[0].cost: bind chooses nothing; expect it of an admit",
    ),
    ({"taint": {}}, "steps[1].taint: changes nothing; give add, remove, or both"),
    ({"taint": {"add": "x"}}, "steps[1].taint.add: 'x' is not a list"),
    ({"taint": {"add": ["CPUAffinity"]}}, "taint.add[0]: 'CPUAffinity' is not a taint; write KEY=VALUE:EFFECT"),
    ({"taint": {"add": [1]}}, "steps[1].taint.add[0]: 1 is not a taint; write KEY=VALUE:EFFECT"),
    ({"taint": {"remove": [""]}}, "steps[1].taint.remove[0]: '' is not a taint; write KEY or KEY:EFFECT"),
    ({"taint": {"remove": ["A=b"]}}, "steps[1].taint.remove[0]: 'A=b': taints go by key; write KEY or KEY:EFFECT"),
    ({"quota": {}}, "steps[1].quota.dedicated_cpu: is missing; write a size, or null for any number"),
    ({"quota": None}, "steps[1].quota: null is not a mapping; give some of: dedicated_cpu"),
    ({"quota": {"dedicated_cpu": "few"}}, "steps[1].quota.dedicated_cpu: "),
    ({"restart": "node", "expect": {"pending": ["x"]}}, "expect.pending[0]: no step before admits a pod 'x'"),
    ({"restart": "node", "expect": {"pending": "a"}}, "steps[1].expect.pending: 'a' is not a list"),
    ({"restart": "node", "expect": {"evicted": ["a"]}}, "steps[1].expect.evicted: restart evicts nobody"),
    (
        {"restart": "node", "expect": {"confined": {"cpus": "1"}}},
        "steps[1].expect.confined: restart is not about a pod; expect it of an admit or a bind",
    ),
    (admit("b", confined={"cpus": "x"}), "steps[1].expect.confined.cpus: 'x' is not a CPU list"),
    (admit("b", confined={"memory_nodes": 1}), "steps[1].expect.confined.memory_nodes: 1 is not a list of NUMA nodes"),
    (admit("b", confined={"devices": {}}), "steps[1].expect.confined.devices: unknown key; known: cpus, memory_nodes"),
    ({"admit": {"file": "p.yaml", "numa": 0}}, "steps[1].admit.file: the file has the numa; drop one of file, numa"),
]


@pytest.mark.parametrize(("step", "said"), MISTAKES, ids=[said[:50] for _, said in MISTAKES])
def test_a_mistake_is_told_before_anything_runs(tmp_path: Path, step: dict[str, Any], said: str) -> None:
    rig = FakeRig()
    with pytest.raises(UserError) as told:
        driven(tmp_path, rig, ADMITTED, step)
    assert said in str(told.value)
    assert "\n" not in str(told.value)
    assert rig.done == []


@pytest.mark.parametrize(
    ("expect", "said"),
    [
        ({"confined": {"cpus": "1-2"}}, ""),
        ({"confined": {"cpus": {0: 2}, "memory_nodes": [0]}}, ""),
        ({"confined": {"cpus": {1: 2}}}, "expected the pod's cgroup's CPUs by NUMA node {1: 2}, were {0: 2}"),
        ({"confined": {"cpus": "1"}}, "expected the pod's cgroup on the CPUs 1, were 1-2"),
        ({"confined": {"memory_nodes": []}}, "expected the pod's memory confined to [], was to [0]"),
        ({"confined": {"memory_nodes": [1]}}, "expected the pod's memory confined to [1], was to [0]"),
    ],
)
def test_what_a_cgroup_confines_to(tmp_path: Path, expect: dict[str, Any], said: str) -> None:
    found = driven(tmp_path, FakeRig(), pend("a"), bind("a", expect, cpus=ON_TWO))
    assert found == ([f"steps[1]: {said}"] if said else [])


def test_a_pod_without_a_place_is_confined_to_nothing(tmp_path: Path) -> None:
    said = "steps[0]: expected a bound pod, was one that is confined to nothing"
    assert driven(tmp_path, FakeRig(), admit("a", confined={"memory_nodes": []})) == [said]


def test_devices_of_a_bound_pod_are_looked_at(tmp_path: Path) -> None:
    expect = {"containers": {"app": {"devices": {GPU: 1}}}}
    found = driven(tmp_path, FakeRig(), pend("a"), bind("a", expect, cpus=ON_TWO))
    assert found == [f"steps[1]: expected 1 of {GPU} for app, were []"]
