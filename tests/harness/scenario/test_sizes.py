"""Sizes relative to a machine, on machines whose figures are known."""

import pytest

from numaproof import fake_sysfs
from numaproof.harness.errors import UserError
from numaproof.harness.scenario.sizes import sizes_of

# Two packages with a NUMA node of 4 GiB, 4 cores and 8 CPUs each; one core of each node is reserved.
MACHINE = fake_sysfs.parse_machine("pack:2 [numa(memory=4294967296)] core:4 pu:2")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("numa.cpus", "6"),
        ("numa.cpus + 1", "7"),
        ("numa.cpus - 2", "4"),
        ("half numa.cpus", "3"),
        ("twice numa.cpus", "12"),
        ("3 core.cpus", "6"),
        ("machine.cpus", "12"),
        ("numa.count", "2"),
        ("numa.memory", str(4 << 30)),
        ("quarter numa.memory", str(1 << 30)),
        ("machine.memory", str(8 << 30)),
        ("2", "2"),
        ("500m", "500m"),
        ("1.5Gi", "1.5Gi"),
    ],
)
def test_sizes(text: str, size: str) -> None:
    assert sizes_of(MACHINE, memory_static=False).resolve(text, "here") == size


def test_a_static_memory_manager_reserves_of_every_node() -> None:
    assert sizes_of(MACHINE, memory_static=True).resolve("numa.memory", "here") == str((4 << 30) - (100 << 20))


def test_a_core_of_every_node_is_reserved() -> None:
    reserved = set(sizes_of(MACHINE, memory_static=False).reserved_cpus)
    by_node = [[cpu for cpu in MACHINE.cpus if cpu.node == node] for node in (0, 1)]
    for cpus in by_node:
        cores = {(cpu.package, cpu.core) for cpu in cpus if cpu.id in reserved}
        assert len(cores) == 1
        assert sum(cpu.id in reserved for cpu in cpus) == 2


@pytest.mark.parametrize("text", ["numa.cores", "numa.cpus * 2", "some numa.cpus", "numa.cpus +"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(UserError, match=r"^here: .* is no size: write .* numa\.cpus"):
        sizes_of(MACHINE, memory_static=False).resolve(text, "here")


def test_counts() -> None:
    sizes = sizes_of(MACHINE, memory_static=False)
    assert [sizes.count(text, "here") for text in ("numa.cpus + 1", "3")] == [7, 3]
    assert [sizes.number(text, "here") for text in ("numa.cpus + 1", "0.5")] == [7.0, 0.5]
    for text in ("", "some", "500m"):
        with pytest.raises(UserError, match=r"^here: .* is no number: write one"):
            sizes.count(text, "here")
    for text in ("1.5", "nan", "inf"):
        with pytest.raises(UserError, match=r"^here: .* is no count: write a whole number"):
            sizes.count(text, "here")
