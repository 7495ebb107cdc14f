"""Drawings: what lies within what, as lstopo shows it."""

from collections import Counter
from dataclasses import replace

import pytest
from rich.console import Console

from numaproof.fake_sysfs.alter import with_hugepages, without_cpus
from numaproof.fake_sysfs.catalogue import preset, preset_names
from numaproof.fake_sysfs.draw import draw
from numaproof.fake_sysfs.machine import Cache, Cpu, Machine, NumaNode
from numaproof.fake_sysfs.sizes import format_bytes


def drawing(machine: Machine, *, full: bool = False) -> str:
    console = Console(width=1000, markup=False, emoji=False, highlight=False, color_system=None)
    with console.capture() as captured:
        console.print(draw(machine, full=full))
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def lines_with(text: str, words: str) -> list[str]:
    return [line for line in text.splitlines() if words in line]


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1280 << 10, "1.25 MiB"),
        (3 << 30, "3 GiB"),
        (5 << 50, "5120 TiB"),
    ],
)
def test_sizes_are_said_as_people_say_them(size: int, text: str) -> None:
    assert format_bytes(size) == text


@pytest.mark.parametrize("name", [name for name in preset_names() if name != "big-64"])
def test_every_cpu_package_node_and_device_is_drawn_once(name: str) -> None:
    machine = preset(name)
    labels = Counter(line.lstrip("│├└─ ") for line in drawing(machine, full=True).splitlines())
    for cpu in machine.cpu_ids:
        assert labels[f"PU P#{cpu}"] == 1
    for package in machine.package_ids:
        assert labels[f"Package P#{package}"] == 1
    names = Counter(" ".join(label.split(" ")[:2]) for label in labels)
    for node in machine.nodes:
        # Nodes without CPUs share a line.
        assert not machine.cpus_of(node.id) or names[f"NUMANode P#{node.id}"] == 1
    for device in machine.devices():
        assert names[f"{'PCIBridge' if device.is_bridge else 'PCI'} {device.address}"] == 1


def test_a_package_of_one_node_holds_it_and_its_cores() -> None:
    expected = """\
Machine small (3 GiB): 2 packages, 4 NUMA nodes, 6 CPUs; numaproof CPU
├── Package P#0
│   └── NUMANode P#0 (1 GiB)
│       └── L3 P#0 (8 MiB)
│           └── 2 x L1d (32 KiB) + Core P#0-1 (2 threads each): PU P#0-1,4-5
├── Package P#1
│   └── NUMANode P#1 (2 GiB)
│       └── L3 P#1 (8 MiB)
│           └── 2 x L1d (32 KiB) + Core P#0-1: PU P#2-3
└── NUMANode P#2-3 (no memory), no CPUs
Distances   0   1   2   3
node 0     10  20  20  20
node 1     20  10  20  20
node 2     20  20  10  20
node 3     20  20  20  10
note: made up"""
    cpus = [Cpu(n, core=n % 2, die=0, package=n // 2 % 2, node=n // 2 % 2) for n in range(6)]
    caches = [Cache(1, "Data", 32 << 10, tuple(c for c in range(6) if c % 4 == n), n) for n in range(4)]
    caches += [Cache(3, "Unified", 8 << 20, (0, 1, 4, 5), 0), Cache(3, "Unified", 8 << 20, (2, 3), 1)]
    nodes = (NumaNode(0, 1 << 30), NumaNode(1, 2 << 30), NumaNode(2, 0), NumaNode(3, 0))
    machine = Machine("small", tuple(cpus), nodes, tuple(caches), notes=("made up",))
    assert drawing(machine) == expected


def test_a_node_of_several_packages_holds_them() -> None:
    cpus = tuple(Cpu(n, core=0, die=0, package=n, node=0) for n in range(2))
    lines = drawing(Machine("wide", cpus, (NumaNode(0, 1 << 30),))).splitlines()
    assert lines[1:] == [
        "└── NUMANode P#0 (1 GiB)",
        "    ├── Package P#0",
        "    │   └── Core P#0: PU P#0",
        "    └── Package P#1",
        "        └── Core P#0: PU P#1",
    ]


def test_a_part_that_lies_across_others_says_which_cpus_it_has() -> None:
    cpus = tuple(Cpu(n, core=n, die=0, package=n // 2, node=0 if n in (0, 3) else 1) for n in range(4))
    text = drawing(Machine("crossed", cpus, (NumaNode(0, 0), NumaNode(1, 0))))
    assert lines_with(text, "NUMANode P#0 (no memory): PU P#0,3")
    assert lines_with(text, "NUMANode P#1 (no memory): PU P#1-2")
    assert sum("Core P#" in line for line in text.splitlines()) == 2


def test_what_is_switched_off_or_set_aside_is_said() -> None:
    machine = without_cpus(with_hugepages(preset("xeon-2s"), 1, 1048576, 4), (3, 4, 5))
    text = drawing(replace(machine, spare_nodes=(7,), isolated=(2, 3, 9)))
    assert lines_with(text, "Offline PU P#3-5 (of NUMANode P#0)")
    assert lines_with(text, "Isolated PU P#2-3,9")
    assert not lines_with(drawing(machine), "Isolated")
    assert lines_with(text, "4 hugepages of 1 GiB")
    assert lines_with(text, "Possible NUMANode P#7 (not online)")


def test_dies_links_and_large_matrices() -> None:
    assert len(lines_with(drawing(preset("xeon-9242")), "─ Die P#")) == 4
    links = drawing(preset("dgx1-v100")).split("Links", 1)[1].splitlines()[1:9]
    assert links[0].split() == ["0", "0000:06:00.0", "X", "1", "1", "2", "2", "-", "-", "-"]
    assert lines_with(drawing(preset("gb200")), "Distances: a 34-node matrix")
