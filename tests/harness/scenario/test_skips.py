"""All reasons to skip an instance: what its machine lacks, what it was not written for, what its runtime cannot."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from numaproof import fake_sysfs
from numaproof.harness.scenario.binding import CpusOfNode, Place
from numaproof.harness.scenario.instances import Instance
from numaproof.harness.scenario.model import Expected, ExpectedConfined, Needs, Scenario, Step
from numaproof.harness.scenario.pods import WrittenPod
from numaproof.harness.scenario.sizes import sizes_of
from numaproof.harness.scenario.skips import lacking, reason_not_to_run
from numaproof.harness.scenario.steps.action import Action
from numaproof.harness.scenario.steps.admit import Admit
from numaproof.harness.scenario.steps.bind import Bind
from numaproof.harness.scenario.steps.quota import Quota
from numaproof.harness.scenario.steps.remove import Remove
from numaproof.harness.scenario.steps.start import Start
from numaproof.harness.scenario.steps.taint import Taint

# 2 NUMA nodes with CPUs, 8 cores of 2 threads each; 2 MiB pages everywhere, no GPU.
MACHINE = fake_sysfs.parse_machine("pack:2 [numa(memory=4GiB)] core:8 pu:2")
SIZES = sizes_of(MACHINE, memory_static=False)


@pytest.mark.parametrize(
    ("needs", "reason"),
    [
        (Needs(numa=2), None),
        (Needs(numa=3), "needs 3 NUMA nodes with CPUs, {name} has 2"),
        (Needs(numa_cpus="14"), None),
        (Needs(numa_cpus="15"), "needs 15 free CPUs a NUMA node, {name} has 14"),
        (Needs(numa_cpus="7 core.cpus"), None),
        (Needs(numa_cpus="7 core.cpus + 1"), "needs 15 free CPUs a NUMA node, {name} has 14"),
        (Needs(threads=2), None),
        (Needs(threads=4), "needs 4 threads a core, {name} has cores with 2"),
        (Needs(most_threads=2), None),
        (Needs(most_threads=1), "is for at most 1 threads a core, {name} has cores with 2"),
        (Needs(hugepages=("1Gi",)), "needs hugepages of 1Gi on every NUMA node with CPUs, {name} has none on some"),
        (Needs(gpus=1), "needs 1 GPUs in the PCI tree, {name} has 0"),
        (Needs(rdma=2), "needs 2 network cards in the PCI tree, {name} has 0"),
    ],
)
def test_what_does_not_apply_says_why(needs: Needs, reason: str | None) -> None:
    assert lacking(needs, MACHINE, SIZES) == (reason and reason.format(name=MACHINE.name))


def test_a_machine_with_gpus_and_hugepages_has_what_is_needed() -> None:
    dgx = fake_sysfs.parse_machine("dgx-a100")
    assert lacking(Needs(gpus=8), dgx, sizes_of(dgx, memory_static=False)) is None
    assert lacking(Needs(gpus=9), dgx, sizes_of(dgx, memory_static=False)) is not None


def scenario(*steps: Step, **words: Any) -> Scenario:
    given = {"needs": Needs(), "matrix": {"machine": ("own",)}, **words}
    return Scenario(Path("/x/theme/file.yaml"), "theme", "n", "w", "s", kubelet={}, plugins=(), steps=steps, **given)


def reason(story: Scenario, machine: str = "other", **words: Any) -> str | None:
    return reason_not_to_run(Instance(story, machine, {}), MACHINE, SIZES, **words)


def test_what_is_missing_is_a_reason() -> None:
    assert reason(scenario()) is None
    assert reason(scenario(needs=Needs(numa=3))) == f"needs 3 NUMA nodes with CPUs, {MACHINE.name} has 2"


def test_what_names_its_own_machines_runs_there_alone() -> None:
    story = scenario(needs=Needs(own_machines="its CPUs count"))
    assert reason(story, "own") is None
    assert reason(story) == "is for its own machines (own): its CPUs count"


def test_what_names_a_numa_node_needs_it() -> None:
    def names(node: int) -> Scenario:
        return scenario(Step(Remove("a"), (Expected(nodes=(node,)),), "steps[0]"))

    assert reason(names(1)) is None
    assert reason(names(2)) == f"speaks of 3 NUMA nodes with CPUs, {MACHINE.name} has 2"
    assert reason(names(2), "own") is None


def test_a_place_on_a_numa_node_needs_it() -> None:
    def bound(*actions: Action) -> Scenario:
        return scenario(*(Step(action, (), "steps[0]") for action in actions))

    def pod(place: Place) -> WrittenPod:
        return WrittenPod("p", (), place=place)

    said = f"speaks of 3 NUMA nodes with CPUs, {MACHINE.name} has 2"
    assert (
        reason(bound(Admit(pod(Place(1))), Bind(pod(Place()), Place(-1, CpusOfNode(1, "1")), permitted=True))) is None
    )
    assert reason(bound(Admit(pod(Place(2))))) == said
    assert reason(bound(Bind(pod(Place()), Place(None, CpusOfNode(2, "1")), permitted=True))) == said
    assert reason(bound(Admit(pod(Place("2", "99"))))) is None
    confined = Expected(confined=ExpectedConfined(memory_nodes=(2,)))
    assert reason(scenario(Step(Remove("a"), (confined,), "steps[0]"))) == said
    confined = Expected(confined=ExpectedConfined(cpus={2: "1"}))
    assert reason(scenario(Step(Remove("a"), (confined,), "steps[0]"))) == said


OWN = {"key": "CPUAffinity", "value": "dedicated", "effect": "NoScheduleNoAdmitNoExecute"}
PLAIN = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}


@pytest.mark.parametrize(
    "action",
    [
        Taint(("CPUAffinity=dedicated:NoScheduleNoAdmitNoExecute",), ()),
        Quota("1"),
        Bind(WrittenPod("p", ()), Place(0), permitted=True),
        Admit(WrittenPod("p", (), place=Place(0))),
        Admit(WrittenPod("p", (), tolerations=(OWN,))),
    ],
)
def test_a_kubelet_knows_no_places(action: Action) -> None:
    story = scenario(Step(action, (), "steps[0]"))
    said = "needs affinity, which the node under test does not offer"
    assert reason(story, offers={"explain"}) == said
    assert reason(story, offers={"explain", "affinity"}) is None
    assert reason(story) is None


def test_a_kubelet_knows_taints_and_tolerations_of_others() -> None:
    story = scenario(Step(Admit(WrittenPod("p", (), tolerations=(PLAIN,))), (), "steps[0]"))
    assert reason(replace(story, kubelet={"registerWithTaints": [PLAIN]}), offers=()) is None
    said = "needs affinity, which the node under test does not offer"
    assert reason(replace(story, kubelet={"registerWithTaints": [PLAIN, OWN]}), offers=()) == said


STARTS = scenario(Step(Start("a"), (), "steps[0]"))


def test_containers_are_not_started_by_plain_processes() -> None:
    said = "starts containers with device nodes, which the process runtime cannot give"
    assert reason(STARTS, runtime="process") == said
    assert reason(STARTS, runtime="namespace") is None
    assert reason(STARTS) is None
    assert reason(scenario(), runtime="process") is None


def test_containers_are_pinned_to_cpus_of_the_host_that_we_may_use() -> None:
    few = {0, 1}
    said = "pins containers to CPUs of the host, of which this process may only use [0, 1]"
    assert reason(STARTS, "host", runtime="namespace", usable_cpus=few) == said
    assert reason(STARTS, "host", runtime="namespace", usable_cpus=MACHINE.cpu_ids) is None
    assert reason(STARTS, "host", runtime="docker") is None
    assert reason(STARTS, "own", runtime="namespace", usable_cpus=few) is None


@pytest.mark.parametrize(
    ("values", "kubelet", "skipped"),
    [
        ({"policy": "none"}, {}, False),
        ({"policy": "restricted"}, {}, True),
        ({}, {"memoryManagerPolicy": "Static"}, True),
    ],
)
def test_node_ids_that_no_mask_holds(values: dict[str, str], kubelet: dict[str, str], skipped: bool) -> None:
    power = fake_sysfs.preset("power9-ac922")
    instance = Instance(replace(scenario(), kubelet=kubelet), "power9-ac922", values)
    told = reason_not_to_run(instance, power, sizes_of(power, memory_static=False))
    assert told == ("needs masks of NUMA nodes, which end at 63; power9-ac922 has a node 250" if skipped else None)


def test_cores_that_are_not_alike_are_not_named() -> None:
    hybrid = fake_sysfs.preset("laptop")
    sizes = sizes_of(hybrid, memory_static=False)

    def told(cpus: object) -> str | None:
        step = Step(Remove("a"), (Expected(containers={"c": {"cpus": cpus}}),), "steps[0]")
        return reason_not_to_run(Instance(scenario(step), "laptop", {}), hybrid, sizes)

    assert told("core1") == "names cores, of which those of laptop do not have equally many threads"
    assert told({0: "core.cpus"}) is None
    assert reason(scenario(Step(Remove("a"), (Expected(containers={"c": {"cpus": "core1"}}),), "steps[0]"))) is None


def test_the_proposal_s_semantics_know_eight_nodes() -> None:
    many = fake_sysfs.preset("gb200")
    sizes = sizes_of(many, memory_static=False)
    kep = Instance(scenario(), "gb200", {"policy": "restricted", "semantics": "kep"})
    said = "the proposal knows no option for more than 8 NUMA nodes, gb200 has 34"
    assert reason_not_to_run(kep, many, sizes) == said
    assert reason_not_to_run(replace(kep, values={"policy": "none", "semantics": "kep"}), many, sizes) is None
    assert reason_not_to_run(replace(kep, values={"policy": "cost", "semantics": "kep"}), many, sizes) is None
    assert reason_not_to_run(replace(kep, values={"policy": "restricted"}), many, sizes) is None
