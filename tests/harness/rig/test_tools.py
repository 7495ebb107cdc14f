"""Views: a tree that is not the machine's is noticed, by everybody who reads it; a true one by nobody."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from numaproof.fake_sysfs import Machine
from numaproof.fake_sysfs.change import change
from numaproof.harness.rig.session import Session
from numaproof.harness.runtimes.trees import Trees, machine_of
from numaproof.harness.scenario.instances import Instance
from numaproof.harness.scenario.model import Needs, Scenario, Step
from numaproof.harness.scenario.sizes import sizes_of
from numaproof.harness.scenario.steps.offline import Offline
from tests.places import short_directory

SCENARIO = Scenario(Path("/x/theme/file.yaml"), "theme", "n", "w", "s", Needs(), {}, {}, (), ())


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with short_directory() as place:
        yield place


@pytest.fixture(scope="module")
def session(place: Path) -> Iterator[Session]:
    with Session("namespace", place, "w") as session:
        yield session


def seen(session: Session, machine: str) -> list[str]:
    with session.rig(Instance(SCENARIO, machine, {}), machine_of(machine), sizes_of(machine_of(machine), False)) as rig:
        return rig.surroundings.look()


def another_distance(machine: Machine) -> Machine:
    first, *others = machine.nodes
    return replace(machine, nodes=(replace(first, distances=(first.distances[0], 77)), *others))


def a_cpu_moved(machine: Machine) -> Machine:
    cpus = [replace(cpu, node=1) if cpu.id == 1 else cpu for cpu in machine.cpus]
    return replace(machine, cpus=tuple(cpus))


def less_memory(machine: Machine) -> Machine:
    first, *others = machine.nodes
    return replace(machine, nodes=(replace(first, memory=first.memory // 2), *others))


# What was tampered with, who must notice, and what they say. numactl shows CPUs only of machines that are no wider than
# the host, so that nothing can be said of it there; lscpu shows nothing but CPUs.
TAMPERED: list[tuple[Callable[[Machine], Machine], str, set[str]]] = [
    (another_distance, "sees other distances than the machine has, first of node 0: (10, 77)", {"numactl"}),
    (a_cpu_moved, "sees other cpus than the machine has, first of node 0: (0,) instead of (0, 1)", {"lscpu"}),
    (less_memory, "sees other memory than the machine has, first of node 0: 1024 instead of 2048", {"numactl"}),
]


@pytest.mark.parametrize(("tamper", "said", "also"), TAMPERED, ids=[row[0].__name__ for row in TAMPERED])
def test_a_tree_that_was_tampered_with_is_reported_by_whoever_reads_it(
    place: Path, session: Session, tamper: Callable[[Machine], Machine], said: str, also: set[str]
) -> None:
    # A machine of its own for each: the spaces make it another argument, and so another tree.
    spaces = " " * (1 + [row[0] for row in TAMPERED].index(tamper))
    machine = f"pack:1 numa:2(memory=2GiB){spaces}core:2 pu:1"
    change(Trees(place / "trees").of(machine), tamper)
    found = seen(session, machine)
    noticed = {text.partition(" sees ")[0] for text in found if said in text}
    assert noticed >= {"the node", "lstopo-no-graphics", *also}, found


@pytest.mark.parametrize("machine", ["pack:1 numa:2(memory=2GiB)    core:2 pu:1", "host"])
def test_a_true_tree_is_reported_by_nobody(session: Session, machine: str) -> None:
    assert seen(session, machine) == []


def test_a_change_that_belongs_to_the_scenario_is_no_difference(session: Session) -> None:
    argument = "pack:1 numa:2(memory=2GiB) core:4 pu:1"
    machine = machine_of(argument)
    # With a static CPU manager the node would, as the kubelet does, refuse to start with a CPU less.
    steps = (Step(Offline(1), (), "steps[0]"),)
    takes_offline = replace(SCENARIO, kubelet={"cpuManagerPolicy": "none"}, steps=steps)
    with session.rig(Instance(takes_offline, argument, {}), machine, sizes_of(machine, False)) as rig:
        rig.surroundings.offline(7)
        assert rig.surroundings.look() == []
