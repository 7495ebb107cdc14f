"""Distances and links: a matrix where it can be read, else a line."""

from dataclasses import replace

from numaproof.fake_sysfs.catalogue import preset
from numaproof.fake_sysfs.machine import Cpu, DeviceLink, Machine, NumaNode
from numaproof.harness.drawing.blocks import Matrix
from numaproof.harness.drawing.figures import distances, links
from tests.harness.drawing.scenes import plain_machine


def test_one_node_has_no_distances() -> None:
    assert distances(plain_machine(nodes=1)) == ""


def test_few_nodes_have_a_matrix() -> None:
    assert distances(preset("xeon-2s")) == Matrix(
        "distances", ("0", "1"), (("node 0", ("10", "21")), ("node 1", ("21", "10")))
    )
    sparse = distances(preset("power9-ac922"))
    assert isinstance(sparse, Matrix)
    assert sparse.columns == tuple(map(str, preset("power9-ac922").node_ids))
    assert isinstance(distances(plain_machine(nodes=16)), Matrix)


def test_many_nodes_have_a_line_that_tells_what_is_near_what() -> None:
    assert distances(plain_machine(nodes=17)) == "distances: 10 within a NUMA node, 20 between two"
    assert distances(preset("gb200")) == "distances: 10 within a NUMA node, 40 between two"
    # 10 packages of two nodes each, and one node without CPUs, as memory that hangs on a link.
    rows = [
        [10 if a == b else 80 if 20 in (a, b) else 12 if a // 2 == b // 2 else 32 for b in range(21)] for a in range(21)
    ]
    cpus = tuple(Cpu(n, core=n % 2, die=0, package=n // 2, node=n) for n in range(20))
    machine = Machine("pairs", cpus, tuple(NumaNode(n, 1 << 30, distances=tuple(rows[n])) for n in range(21)))
    assert distances(machine) == (
        "distances: 10 within a NUMA node, 12 within a package, 32 between packages, 80 to NUMA nodes without CPUs"
    )
    rows[3][7] = 33  # which no rule tells apart
    odd = replace(machine, nodes=tuple(replace(node, distances=tuple(rows[node.id])) for node in machine.nodes))
    assert "32 or 33 between packages" in str(distances(odd))


def test_links() -> None:
    assert links(preset("xeon-2s")) == ""
    assert links(preset("dgx-h100")) == "links: 8 devices, 18 links between any two"
    cube = links(preset("dgx1-v100"))
    assert isinstance(cube, Matrix)
    # Of its neighbours on the hybrid cube mesh, a V100 has two by one NVLink and two by two.
    assert [sorted(row) for _, row in cube.rows] == [["-", ".", ".", ".", "1", "1", "2", "2"]] * 8
    pair = replace(preset("dgx1-v100"), links=(DeviceLink("0000:06:00.0", "0000:07:00.0", 1),))
    assert links(pair) == "links: 2 devices, 1 link between any two"


def test_a_matrix_in_parts_has_every_figure_once() -> None:
    whole = distances(preset("dgx-a100"))
    assert isinstance(whole, Matrix)
    parts = list(whole.in_parts(3))
    assert [part.columns for part in parts] == [("0", "1", "2"), ("3", "4", "5"), ("6", "7")]
    for number, (name, row) in enumerate(whole.rows):
        assert tuple(word for part in parts for word in part.rows[number][1]) == row
        assert {part.rows[number][0] for part in parts} == {name}
