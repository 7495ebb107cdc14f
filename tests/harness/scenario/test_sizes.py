"""Sizes relative to a machine, on machines whose figures are known."""

from collections import Counter
from dataclasses import replace

import pytest

from numaproof import fake_sysfs
from numaproof.errors import UserError
from numaproof.fake_sysfs.alter import without_cpus
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
        ("numa.all_cpus + core.cpus - 1", "9"),
        ("numa.cpus+1", "7"),
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


def test_what_is_not_reserved_is_free() -> None:
    machine = uneven()
    for sizes in (sizes_of(machine, memory_static=False), sizes_of(machine, memory_static=False, use_numa=1)):
        everywhere = sorted(cpu for cpus in sizes.free_cpus.values() for cpu in cpus)
        assert sorted({*everywhere, *sizes.reserved_cpus}) == [cpu.id for cpu in machine.cpus if cpu.online]
        assert all(len(sizes.free_cpus[node]) == sizes.names["numa.cpus"] for node in sizes.cpu_nodes)
        assert sum(map(len, sizes.free_cpus.values())) == sizes.names["machine.cpus"]


@pytest.mark.parametrize(
    "text", ["numa.cores", "numa.cpus * 2", "some numa.cpus", "numa.cpus +", "numa.cpus + some.cpus"]
)
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(UserError, match=r"^here: .* is not a size: write .* numa\.cpus"):
        sizes_of(MACHINE, memory_static=False).resolve(text, "here")


def test_counts() -> None:
    sizes = sizes_of(MACHINE, memory_static=False)
    assert [sizes.count(text, "here") for text in ("numa.cpus + 1", "3")] == [7, 3]
    assert [sizes.number(text, "here") for text in ("numa.cpus + 1", "0.5")] == [7.0, 0.5]
    for text in ("", "some", "500m"):
        with pytest.raises(UserError, match=r"^here: .* is not a number: write one"):
            sizes.count(text, "here")
    for text in ("1.5", "nan", "inf"):
        with pytest.raises(UserError, match=r"^here: .* is not a count: write a whole number"):
            sizes.count(text, "here")


def uneven() -> fake_sysfs.Machine:
    """Three NUMA nodes with ids that have gaps, of 8, 12 and 7 online CPUs and of 4, 6 and 5 GiB."""
    made = fake_sysfs.parse_machine("pack:3 [numa(memory=4294967296)] core:6 pu:2")
    ids = {0: 0, 1: 2, 2: 5}
    memory = {0: 4 << 30, 1: 6 << 30, 2: 5 << 30}
    nodes = tuple(replace(node, id=ids[node.id], memory=memory[node.id]) for node in made.nodes)
    cpus = tuple(replace(cpu, node=ids[cpu.node]) for cpu in made.cpus)
    return without_cpus(replace(made, nodes=nodes, cpus=cpus), (*range(8, 12), *range(31, 36)))


def test_nodes_of_unequal_size_are_made_alike() -> None:
    machine = uneven()
    sizes = sizes_of(machine, memory_static=True)
    free = Counter(cpu.node for cpu in machine.cpus if cpu.online and cpu.id not in sizes.reserved_cpus)
    assert free == {0: 5, 2: 5, 5: 5}
    assert (sizes.names["numa.cpus"], sizes.names["machine.cpus"], sizes.names["numa.all_cpus"]) == (5, 15, 12)
    left = {node.id: node.memory - sizes.reserved_memory[node.id] for node in machine.nodes}
    assert set(left.values()) == {(4 << 30) - (100 << 20)} == {sizes.names["numa.memory"]}


def test_of_nodes_that_are_not_used_everything_is_reserved() -> None:
    machine = uneven()
    sizes = sizes_of(machine, memory_static=True, use_numa=1)
    assert {cpu.node for cpu in machine.cpus if cpu.online and cpu.id not in sizes.reserved_cpus} == {0}
    assert {node.id: node.memory - sizes.reserved_memory[node.id] for node in machine.nodes} == {
        0: (4 << 30) - (100 << 20),
        2: 0,
        5: 0,
    }
    assert (sizes.cpu_nodes, sizes.names["numa.count"], sizes.names["machine.cpus"]) == ((0,), 1, 6)


def test_nodes_without_cpus_are_used_where_all_are() -> None:
    pmem = fake_sysfs.preset("xeon-2s-pmem")
    assert sizes_of(pmem, memory_static=True).reserved_memory[2] == 100 << 20
    assert sizes_of(pmem, memory_static=True, use_numa=2).reserved_memory[2] == pmem.nodes[2].memory


def test_nodes_by_their_positions() -> None:
    sizes = sizes_of(uneven(), memory_static=False)
    assert sizes.node_ids((0, 1, 2, -1)) == (0, 2, 5, 5)
    assert sizes.node(7) == 7  # there is no eighth node: an id that the machine does not have
    power = sizes_of(fake_sysfs.preset("power9-ac922"), memory_static=False)
    assert power.node_ids((1, 2, -1)) == (8, 250, 8)  # those without CPUs come after those with


def test_cpus_by_their_cores() -> None:
    sizes = sizes_of(fake_sysfs.preset("xeon-2s"), memory_static=False)  # CPU n and n + 48 are one core
    given = [sizes.cpus(text, "here") for text in ("core2", "core1-2", "core3.1, core0.0", "1-3,8")]
    assert given == [{2, 50}, {1, 2, 49, 50}, {51, 0}, {1, 2, 3, 8}]
    for text in ("core", "core2.2", "core24", "core23-24"):
        with pytest.raises(UserError, match=r"^here: .*core"):
            sizes.cpus(text, "here")


def test_texts_with_sizes() -> None:
    sizes = sizes_of(MACHINE, memory_static=False)
    assert sizes.filled("requested ${numa.cpus + 1} of ${machine.cpus}, $HOME", "here") == "requested 7 of 12, $HOME"
