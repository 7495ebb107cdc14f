"""The text of `numactl -H`, whole, as people paste it, and damaged."""

import pytest

from tests.fake_sysfs.texts.reading import GIB, assumed, cores, machine_of, refusal, survives_every_prefix

# Two nodes of 4 cores with two threads each: CPUs 0-3 and 8-11, 4-7 and 12-15.
TWO = """\
available: 2 nodes (0-1)
node 0 cpus: 0 1 2 3 8 9 10 11
node 0 size: 64215 MB
node 0 free: 1021 MB
node 1 cpus: 4 5 6 7 12 13 14 15
node 1 size: 64490 MB
node 1 free: 2048 MB
node distances:
node   0   1 
  0:  10  21 
  1:  21  10 
"""  # noqa: W291 (numactl ends these lines so)
BY_NODE = {0: (0, 1, 2, 3, 8, 9, 10, 11), 1: (4, 5, 6, 7, 12, 13, 14, 15)}
MIB = 1 << 20


def test_nodes_memory_and_distances_are_as_told() -> None:
    machine = machine_of(TWO)
    assert machine.cpus_by_node() == BY_NODE
    assert [node.memory for node in machine.nodes] == [64215 * MIB, 64490 * MIB]
    assert [node.distances for node in machine.nodes] == [(10, 21), (21, 10)]
    assert assumed(machine) == [
        "two threads a core, CPUs 0 and 8 and so on: the CPUs of a NUMA node are two like runs of numbers",
        "each NUMA node is a socket: the text does not tell of sockets",
    ]
    assert cores(machine)[0] == (0, 8)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: f"[root@node7 ~]# numactl -H\n{text}[root@node7 ~]# \n",
        lambda text: f"$ numactl --hardware\n{text}",
        lambda text: f"```\n{text}```\n",
        lambda text: f"```console\n$ sudo numactl -H\n{text}```",
        lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
        lambda text: "".join(f"    {line}\n" for line in text.splitlines()),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: f"\x1b[0m{text}",
        lambda text: f"Hi all, this is my machine:\n\n{text}\nand the pod is refused.\n",
        lambda text: text.rstrip(),
        lambda text: text.replace("8 9 10 11", "8 9\n10 11"),  # wrapped by a terminal
        lambda text: text.replace("node 0", "Node 0"),
    ],
    ids=[
        "prompt",
        "dollar",
        "fence",
        "console",
        "quoted",
        "indented",
        "crlf",
        "colour",
        "letter",
        "bare",
        "wrapped",
        "N",
    ],
)
def test_what_a_paste_leaves_around_it_changes_nothing(change: "object") -> None:
    assert callable(change)
    machine = machine_of(change(TWO))
    assert (machine.cpus, machine.nodes, machine.notes) == (
        machine_of(TWO).cpus,
        machine_of(TWO).nodes,
        machine_of(TWO).notes,
    )


def test_nodes_without_cpus_and_with_gaps_between_their_numbers() -> None:
    machine = machine_of(
        "available: 3 nodes (0,8,252)\nnode 0 cpus: 0 1 2 3\nnode 0 size: 2048 MB\nnode 8 cpus: 4 5 6 7\n"
        "node 8 size: 2048 MB\nnode 252 cpus:\nnode 252 size: 1024 MB\nnode distances:\nnode   0   8  252 \n"
        "  0:  10  40  80 \n  8:  40  10  80 \n 252:  80  80  10 \n"
    )
    assert machine.cpus_by_node() == {0: (0, 1, 2, 3), 8: (4, 5, 6, 7), 252: ()}
    assert machine.nodes[2].memory == GIB
    assert machine.nodes[2].distances == (80, 80, 10)


def test_interleaved_cpus_are_one_thread_a_core_which_is_said() -> None:
    machine = machine_of("available: 2 nodes (0-1)\nnode 0 cpus: 0 2 4 6\nnode 1 cpus: 1 3 5 7\n")
    assert cores(machine) == [(cpu,) for cpu in range(8)]
    assert "one thread a core: the text does not tell, nor do the numbers of the CPUs" in assumed(machine)


def test_nodes_of_one_socket_are_near_to_each_other() -> None:
    """Firmware of two sockets with two nodes each: 10 to itself, 12 within the socket, 32 to the other one."""
    near, far = " 12", " 32"
    rows = [" 10", near, far, far], [near, " 10", far, far], [far, far, " 10", near], [far, far, near, " 10"]
    text = "".join(f"node {node} cpus: {node}\n" for node in range(4)) + "node distances:\nnode 0 1 2 3\n"
    machine = machine_of(text + "".join(f"  {node}: {' '.join(row)}\n" for node, row in enumerate(rows)))
    assert [cpu.package for cpu in machine.cpus] == [0, 0, 1, 1]
    assert "NUMA nodes that are near to each other, by their distances, are on one socket" in assumed(machine)


@pytest.mark.parametrize(
    ("line", "cpus"),
    [
        ("0 1 2 ... 15", tuple(range(16))),
        ("0 2 4 … 14", tuple(range(0, 16, 2))),
        ("0 1 [...] 6 7", tuple(range(8))),
        ("0-3,8-11", (0, 1, 2, 3, 8, 9, 10, 11)),
        ("0 1 2 3 <snip>", (0, 1, 2, 3)),
    ],
)
def test_cpus_that_were_left_out_go_on_as_they_began(line: str, cpus: tuple[int, ...]) -> None:
    machine = machine_of(f"node 0 cpus: {line}\nnode 0 size: 100 MB\n")
    assert machine.cpus_of(0) == cpus
    if "-" not in line:
        assert any("left out" in note or "leaves them out" in note for note in assumed(machine))


def test_a_node_of_which_nothing_is_told_is_like_the_first() -> None:
    """8-11 and 24-27 are taken from the first node's 0-3 and 16-19, the next place where its shape fits is 4 on."""
    machine = machine_of("available: 2 nodes (0-1)\nnode 0 cpus: 0 1 2 3 16 17 18 19\nnode 0 size: 1024 MB\n[...]\n")
    assert machine.cpus_by_node() == {0: (0, 1, 2, 3, 16, 17, 18, 19), 1: (4, 5, 6, 7, 20, 21, 22, 23)}
    assert [node.memory for node in machine.nodes] == [GIB, GIB]
    told = "\n".join(assumed(machine))
    assert "NUMA node 1: its CPUs are not told: 4-7,20-23, as many as the first node has" in told
    assert "NUMA node 1: the memory is not told" in told
    assert "distances are not told: 10 within a NUMA node, 20 from one to another" in told


def test_cpus_at_the_end_of_the_text_are_said_to_end_there() -> None:
    machine = machine_of("node 0 cpus: 0 1 2 3\nnode 0 size: 9 MB\nnode 1 cpus: 4 5 6 7 8 1")
    assert machine.cpus_of(1) == (4, 5, 6, 7, 8)
    assert "the text ends in the CPUs of NUMA node 1: it has those that are told, 4-8" in assumed(machine)


def test_distances_that_are_cut_off_are_those_of_the_other_way() -> None:
    machine = machine_of(TWO[: TWO.rindex("0")])  # and the 10 is a 1, which is no distance
    assert [node.distances for node in machine.nodes] == [(10, 21), (21, 10)]
    assert any(note.startswith("NUMA node 1: distances are not told") for note in assumed(machine))


def test_memory_that_is_not_available_is_assumed() -> None:
    machine = machine_of(TWO.replace("64490 MB", "<not available>"))
    assert [node.memory for node in machine.nodes] == [64215 * MIB, 64215 * MIB]


def test_of_two_hosts_in_one_text_the_first_counts_which_is_said() -> None:
    machine = machine_of(TWO + "node 0 cpus: 0 1\nnode 0 size: 5 MB\n")
    assert machine.cpus_by_node() == BY_NODE
    assert machine.nodes[0].memory == 64215 * MIB
    assert "NUMA node 0 is told more than once: it is as it was told first" in assumed(machine)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("No NUMA available on this system\n", "tells of no CPUs"),
        ("available: 2 nodes (0-1)\n", "tells of no CPUs"),
        ("node 0 cpus:\nnode 0 size: 5 MB\n", "tells of no CPUs"),
        ("node 0 cpus: 0 1\nnode 1 cpus: 1 2\n", "CPU 1: is on NUMA node 0 and on 1"),
        ("node 0 cpus: 0 99999\n", "CPU 99999: ids lie in 0-8191"),
        ("node 4096 cpus: 0\n", "NUMA node 4096: ids lie in 0-1023"),
        (f"node {'9' * 5000} cpus: 0\n", "ids lie in 0-1023"),
        ("available: 999999 nodes (0)\nnode 0 cpus: 0\n", "999999 NUMA nodes: a machine has from 1 to 1024"),
    ],
)
def test_what_cannot_be_a_machine_is_refused_in_a_line(text: str, words: str) -> None:
    assert words in refusal(text)
    assert len(refusal(text)) < 200


def test_any_prefix_is_a_machine_or_refused() -> None:
    # From the first whole CPU on, all are machines.
    assert survives_every_prefix(TWO) >= len(TWO) - TWO.index("cpus: 0") - len("cpus: 0")
