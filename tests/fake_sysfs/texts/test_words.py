"""A machine in a few words."""

import pytest

from numaproof.fake_sysfs.hwloc_string import is_synthetic
from numaproof.fake_sysfs.texts.words import are_words
from tests.fake_sysfs.texts.reading import GIB, assumed, cores, machine_of, refusal

GB = 10**9


@pytest.mark.parametrize(
    ("text", "sockets", "nodes", "cpus", "threads", "memory"),
    [
        # Sockets, nodes, CPUs of the whole machine, threads of a core, bytes of a node (None: 4 GiB a CPU).
        ("2 nodes x 16 CPUs, 125Gi", 2, 2, 32, 1, 125 * GIB // 2),
        ("16 CPUs x 2 nodes", 2, 2, 32, 1, None),
        ("2 sockets, 8 NUMA nodes, 256 CPUs, 1TiB", 2, 8, 256, 1, 128 * GIB),
        ("4 numa nodes, 32 cores with HT, 512GB", 4, 4, 64, 2, 128 * GB),
        ("2 sockets x 4 nodes x 8 cores x 2 threads", 2, 8, 128, 2, None),
        ("dual socket, 32 cores each, HT off, 64 GiB per node", 2, 2, 64, 1, 64 * GIB),
        ("2 NUMA nodes with 8 cores each, 64GiB each", 2, 2, 16, 1, 64 * GIB),
        ("two sockets of 16 cores and 64 GiB of RAM each", 2, 2, 32, 1, 64 * GIB),
        ("single NUMA node with 8 CPUs", 1, 1, 8, 1, None),
        ("96 vCPUs, 384 GiB", 1, 1, 96, 1, 384 * GIB),
        ("2x24 cores, 2 threads per core", 2, 2, 96, 2, None),
        ("4-socket server, 4 NUMA nodes, 112 cores, 224 threads, 4 TiB memory", 4, 4, 224, 2, 1024 * GIB),
        ("2 nodes, 16 CPUs/node, 32Gi/node", 2, 2, 32, 1, 32 * GIB),
        ("2 NUMA nodes, 64 CPUs total, hyperthreading: on", 2, 2, 64, 2, None),
        ("2 sockets, 16 cores per socket, SMT enabled", 2, 2, 64, 2, None),
        ("2 nodes × 8 CPUs", 2, 2, 16, 1, None),  # noqa: RUF001 (as people write it)
        ("2 sockets, 1 NUMA node, 8 CPUs", 2, 1, 8, 1, None),
        ("2 nodes,\n16 CPUs,\n64Gi\n", 2, 2, 16, 1, 32 * GIB),
    ],
)
def test_words_mean_a_machine(text: str, sockets: int, nodes: int, cpus: int, threads: int, memory: int | None) -> None:
    machine = machine_of(text)
    assert len(machine.package_ids) == sockets
    assert machine.node_ids == tuple(range(nodes))
    assert len(machine.cpu_ids) == cpus
    assert {len(core) for core in cores(machine)} == {threads}
    assert {len(members) for members in machine.cpus_by_node().values()} == {cpus // nodes}
    each = memory if memory is not None else 4 * GIB * cpus // nodes
    assert {node.memory for node in machine.nodes} == {each // 1024 * 1024}


def test_cpus_are_numbered_as_linux_does() -> None:
    """First one thread of every core, then the other."""
    assert machine_of("2 nodes, 4 cores, 2 threads per core").cpus_by_node() == {0: (0, 1, 4, 5), 1: (2, 3, 6, 7)}


def test_what_words_leave_open_is_said() -> None:
    said = assumed(machine_of("2 nodes x 16 CPUs, 125Gi"))
    assert "one thread a core: the words do not tell" in said
    assert "the memory is that of the whole machine, an equal part on each NUMA node" in said
    assert "distances are not told: 10 within a NUMA node, 20 from one to another" in said
    assert not any("the CPUs are those" in note for note in said)
    assert "the CPUs are those of the whole machine, an equal part on each NUMA node" in assumed(
        machine_of("2 nodes, 16 CPUs")
    )
    assert not any("of the whole machine" in note for note in assumed(machine_of("2 nodes, 16 CPUs in total")))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2 nodes x 8 bananas", "'8 bananas': says nothing of a machine here"),
        ("8 GPUs, 2 nodes, 16 CPUs", "'8 gpus': says nothing of a machine here"),
        ("2 nodes", "tells neither CPUs nor cores"),
        ("3 nodes, 16 CPUs", "16 CPUs of 1 a core do not go into 3 NUMA nodes evenly"),
        ("2 sockets, 3 nodes, 12 CPUs", "3 NUMA nodes do not go into 2 sockets evenly"),
        ("2 nodes, 4 nodes, 8 CPUs", "tells of nodes twice"),
        ("0 nodes, 8 CPUs", "0 nodes: a machine has one at least"),
        ("2 nodes x 10000 CPUs", "20000 CPUs: at most 8192"),
        ("2000 nodes x 1 CPU", "2000 NUMA nodes: at most 1024"),
        ("12 cores, 16 CPUs", "do not make a whole number of threads a core"),
        ("8 CPUs, each 4GiB", "'each': follows nothing that has it"),
        ("999999999 nodes x 999999999 CPUs", "at most 1024"),
    ],
)
def test_words_that_make_no_machine_are_refused_in_a_line(text: str, words: str) -> None:
    assert words in refusal(text)


@pytest.mark.parametrize(
    "string", ["pack:2 [numa(memory=64GB)] core:8 pu:2", "numa:4 core:2 pu:2", "2 3 4", "4", "pack:2 2"]
)
def test_hwloc_strings_are_no_words(string: str) -> None:
    assert is_synthetic(string)
    assert not are_words(string)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "xeon-2s",
        "machines/2-nodes.yaml",
        "2-nodes.yaml",
        "epyc-7742-nps4",
        "a pod of 3 containers",
        "node7",
        "x" * 5000,
    ],
)
def test_what_counts_no_part_of_a_machine_is_no_words(text: str) -> None:
    assert not are_words(text)
