"""What several state files say together."""

from numaproof.harness.intake.state import KubeletState, merge
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory.state import Block, MemoryTable, NodeState

KEY = ("uid", "app")
CPU = KubeletState(cpu_policy="static", shared_cpus=frozenset((0,)), cpus={KEY: frozenset((1,))}, notes=("a",))
MEMORY = KubeletState(
    memory_policy="Static",
    memory={KEY: (Block((0,), "memory", 5),)},
    memory_nodes={0: NodeState(1, (0,), {"memory": MemoryTable(9, 1, 8, 5, 3)})},
    notes=("b", "a"),
)
DEVICES = KubeletState(devices={KEY: {"x/y": (Device("d", None),)}}, registered={"x/y": ("d",)})


def test_nothing_says_nothing() -> None:
    assert merge() == merge(KubeletState(), KubeletState()) == KubeletState()


def test_files_add_up_in_any_order() -> None:
    expected = KubeletState(
        "static",
        CPU.shared_cpus,
        CPU.cpus,
        "Static",
        MEMORY.memory,
        MEMORY.memory_nodes,
        DEVICES.devices,
        DEVICES.registered,
        notes=("a", "b"),
    )
    assert merge(CPU, MEMORY, DEVICES) == expected
    other = merge(DEVICES, MEMORY, CPU)
    assert (other.cpus, other.memory, other.devices) == (expected.cpus, expected.memory, expected.devices)
    assert set(other.notes) == {"a", "b"}


def test_the_later_counts_and_it_is_said() -> None:
    later = KubeletState(cpu_policy="none", cpus={KEY: frozenset((2,)), ("uid", "log"): frozenset((3,))})
    merged = merge(CPU, later)
    assert merged.cpu_policy == "none"
    assert merged.cpus == {KEY: {2}, ("uid", "log"): {3}}
    assert merged.shared_cpus == frozenset((0,))
    assert merged.notes == (
        "a",
        "the CPU manager's policy: told twice, differently; the later one counts",
        "the CPUs of uid/app: told twice, differently; the later one counts",
    )


def test_the_same_told_twice_is_no_difference() -> None:
    assert merge(CPU, MEMORY, CPU, MEMORY).notes == ("a", "b")


def test_no_shared_cpus_are_something_else_than_none_told() -> None:
    assert merge(CPU, KubeletState(shared_cpus=frozenset())).shared_cpus == frozenset()
    assert merge(CPU, KubeletState()).shared_cpus == frozenset((0,))
