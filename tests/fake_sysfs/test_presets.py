"""The presets are what public material says about these machines, and tell what they do not have from there."""

import pytest

from numaproof.fake_sysfs.argument import parse_machine
from numaproof.fake_sysfs.catalogue import preset, preset_names, preset_text
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.fake_sysfs.machine import DeviceLink, Machine


def test_all_are_there() -> None:
    assert set(preset_names()) >= {
        "laptop",
        "xeon-2s",
        "xeon-4s",
        "xeon-8s",
        "epyc-7742-nps1",
        "epyc-7742-nps4",
        "xeon-6248-snc2",
        "xeon-9242",
        "xeon-2s-pmem",
        "dgx1-v100",
        "dgx2",
        "dgx-a100",
        "dgx-h100",
        "aws-p4d",
        "gb200",
        "big-64",
    }


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_has_its_name_its_sources_and_its_doubts(name: str) -> None:
    machine = preset(name)
    assert machine.name == name
    assert preset_text(name).startswith("# ")
    assert any(note.startswith("source: ") for note in machine.notes) or name in ("gb200", "big-64")
    assert any("memory" in note or "chosen" in note or "invented" in note for note in machine.notes)


@pytest.mark.parametrize(
    ("name", "packages", "cores_of_package", "threads"),
    [
        ("laptop", 1, 14, None),
        ("xeon-2s", 2, 24, 2),
        ("xeon-4s", 4, 24, 2),
        ("xeon-8s", 8, 24, 2),
        ("epyc-7742-nps1", 2, 64, 2),
        ("epyc-7742-nps4", 2, 64, 2),
        ("xeon-6248-snc2", 2, 20, 2),
        ("xeon-9242", 2, 48, 1),
        ("xeon-2s-pmem", 2, 24, 2),
        ("dgx1-v100", 2, 20, 2),
        ("dgx2", 2, 24, 2),
        ("dgx-a100", 2, 64, 2),
        ("dgx-h100", 2, 56, 2),
        ("aws-p4d", 2, 24, 2),
        ("gb200", 2, 72, 1),
        ("power9-ac922", 2, 22, 4),
        ("big-64", 64, 32, 2),
    ],
)
def test_packages_cores_and_threads(name: str, packages: int, cores_of_package: int, threads: int | None) -> None:
    machine = preset(name)
    assert len(machine.package_ids) == packages
    cores = {(cpu.package, cpu.core) for cpu in machine.cpus}
    assert len(cores) == packages * cores_of_package
    assert threads is None or len(machine.cpus) == len(cores) * threads


CPULISTS = {
    "xeon-2s": {0: "0-23,48-71", 1: "24-47,72-95"},
    "xeon-4s": {0: "0-23,96-119", 3: "72-95,168-191"},
    "epyc-7742-nps1": {0: "0-63,128-191"},
    "epyc-7742-nps4": {0: "0-15,128-143", 7: "112-127,240-255"},
    "dgx-a100": {3: "48-63,176-191"},
    "xeon-6248-snc2": {
        0: "0-2,5-6,10-12,15-16,40-42,45-46,50-52,55-56",
        3: "23-24,27-29,33-34,37-39,63-64,67-69,73-74,77-79",
    },
    "xeon-9242": {0: "0-23", 1: "24-47", 2: "48-71", 3: "72-95"},
    "xeon-2s-pmem": {0: "0-23,48-71", 2: "", 3: ""},
    "dgx1-v100": {0: "0-19,40-59", 1: "20-39,60-79"},
    "dgx2": {0: "0-23,48-71"},
    "dgx-h100": {0: "0-55,112-167", 1: "56-111,168-223"},
    "aws-p4d": {0: "0-23,48-71", 1: "24-47,72-95"},
    "laptop": {0: "0-19"},
    "power9-ac922": {0: "0-87", 8: "88-175", 250: "", 255: ""},
}


@pytest.mark.parametrize("name", CPULISTS)
def test_cpus_of_nodes(name: str) -> None:
    by_node = preset(name).cpus_by_node()
    assert {node: by_node[node] for node in CPULISTS[name]} == {n: parse_cpulist(t) for n, t in CPULISTS[name].items()}


def _row(machine: Machine, node: int) -> tuple[int, ...]:
    return next(row.distances for row in machine.nodes if row.id == node)


@pytest.mark.parametrize(
    ("name", "node", "row"),
    [
        ("xeon-8s", 0, (10, 21, 21, 31, 21, 31, 31, 31)),
        ("xeon-8s", 6, (31, 31, 21, 31, 31, 21, 10, 21)),
        ("epyc-7742-nps1", 0, (10, 32)),
        ("epyc-7742-nps4", 5, (32, 32, 32, 32, 12, 10, 12, 12)),
        ("dgx-a100", 0, (10, 12, 12, 12, 32, 32, 32, 32)),
        ("xeon-6248-snc2", 1, (11, 10, 21, 21)),
        ("xeon-2s-pmem", 2, (17, 28, 10, 28)),
        ("dgx1-v100", 1, (21, 10)),
    ],
)
def test_distances(name: str, node: int, row: tuple[int, ...]) -> None:
    assert _row(preset(name), node) == row


def _class_nodes(machine: Machine, class_code: int) -> list[int]:
    return [device.numa_node for device in machine.devices() if device.class_code == class_code]


def test_gpus_hang_where_they_should() -> None:
    gpu = 0x030200
    assert _class_nodes(preset("dgx-a100"), gpu) == [3, 3, 1, 1, 7, 7, 5, 5]
    assert _class_nodes(preset("dgx1-v100"), gpu) == [0] * 4 + [1] * 4
    assert _class_nodes(preset("dgx-h100"), gpu) == [0] * 4 + [1] * 4
    assert _class_nodes(preset("dgx2"), gpu) == [0] * 8 + [1] * 8
    assert _class_nodes(preset("aws-p4d"), gpu) == [0] * 4 + [1] * 4


def test_nics_hang_where_they_should() -> None:
    nodes = {name: d.numa_node for d in preset("dgx-a100").devices() for name in d.infiniband}
    assert [nodes[f"mlx5_{number}"] for number in range(12)] == [3, 3, 1, 1, 0, 0, 7, 7, 5, 5, 4, 4]
    assert len([name for d in preset("dgx-h100").devices() for name in d.infiniband]) == 12
    assert len([name for d in preset("dgx2").devices() for name in d.infiniband]) == 10


def test_the_dgx1_has_its_cube_mesh() -> None:
    machine = preset("dgx1-v100")
    gpus = [device.address for device in machine.devices() if device.class_code == 0x030200]
    counts = {(gpus.index(link.a), gpus.index(link.b)): link.count for link in machine.links}
    expected = {0: {1: 1, 2: 1, 3: 2, 4: 2}, 1: {2: 2, 3: 1, 5: 2}, 2: {3: 2, 6: 1}, 3: {7: 1}}
    expected |= {4: {5: 1, 6: 1, 7: 2}, 5: {6: 2, 7: 1}, 6: {7: 2}}
    assert counts == {(a, b): count for a, row in expected.items() for b, count in row.items()}


def test_the_others_are_joined_pair_by_pair() -> None:
    for name, pairs, count in (("dgx-a100", 28, 12), ("dgx-h100", 28, 18), ("aws-p4d", 28, 12), ("dgx2", 120, 6)):
        links: tuple[DeviceLink, ...] = preset(name).links
        assert [link.count for link in links] == [count] * pairs


def test_what_makes_each_machine_special() -> None:
    gb200 = preset("gb200")
    assert (len(gb200.nodes), len([node for node in gb200.node_ids if gb200.cpus_of(node)])) == (34, 2)
    assert {cpu.die for cpu in preset("xeon-9242").cpus} == {0, 1}
    assert [node.memory >> 20 for node in preset("xeon-2s-pmem").nodes[2:]] == [253952, 253952]
    assert {kind.name: len(kind.cpus) for kind in preset("laptop").kinds} == {"core": 12, "atom": 8}
    l3 = [cache for cache in preset("epyc-7742-nps1").caches if cache.level == 3]
    assert {(cache.size, len(cache.cpus)) for cache in l3} == {(16 << 20, 8)}
    assert {len(c.cpus) for c in preset("xeon-6248-snc2").caches if c.level == 3} == {40}
    assert len(preset("big-64").cpus) == 4096


@pytest.mark.parametrize("text", ["x" * 5000, "a\0b"])
def test_what_cannot_be_a_files_name_is_no_machine(text: str) -> None:
    with pytest.raises(MachineError, match=r"^machine '.{1,110}': is neither a file"):
        parse_machine(text)


def test_an_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(MachineError, match="preset 'xeon': no such machine; there are aws-p4d, "):
        preset("xeon")
    with pytest.raises(MachineError, match=r"machine 'xeon': is neither a file, .* nor a known name \(aws-p4d, "):
        parse_machine("xeon")
