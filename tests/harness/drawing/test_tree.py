"""The tree of a machine: what lies within what, as lstopo shows it."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from numaproof.fake_sysfs.alter import with_hugepages, without_cpus
from numaproof.fake_sysfs.catalogue import preset, preset_names
from numaproof.fake_sysfs.machine import Cache, Cpu, Machine, NumaNode
from numaproof.fake_sysfs.pci import NetInterface, PciDevice, PciRoot
from numaproof.harness.drawing.tree import machine_tree, pci_tree


def drawing(machine: Machine) -> str:
    return "\n".join(machine_tree(machine))


def lines_with(text: str, words: str) -> list[str]:
    return [line for line in text.splitlines() if words in line]


@pytest.mark.parametrize("name", [name for name in preset_names() if name != "big-64"])
def test_every_cpu_package_node_and_device_is_drawn_once(name: str) -> None:
    machine = preset(name)
    labels = Counter(line.lstrip("│├└─ ") for line in drawing(machine).splitlines())
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
small: 2 packages, 4 NUMA nodes, 6 CPUs, 3 GiB; numaproof CPU
├── Package P#0
│   └── NUMANode P#0 (1 GiB)
│       └── L3 P#0 (8 MiB)
│           ├── L1d (32 KiB) + Core P#0
│           │   ├── PU P#0
│           │   └── PU P#4
│           └── L1d (32 KiB) + Core P#1
│               ├── PU P#1
│               └── PU P#5
├── Package P#1
│   └── NUMANode P#1 (2 GiB)
│       └── L3 P#1 (8 MiB)
│           ├── L1d (32 KiB) + Core P#0
│           │   └── PU P#2
│           └── L1d (32 KiB) + Core P#1
│               └── PU P#3
└── NUMANode P#2-3 (no memory), no CPUs"""
    cpus = [Cpu(n, core=n % 2, die=0, package=n // 2 % 2, node=n // 2 % 2) for n in range(6)]
    caches = [Cache(1, "Data", 32 << 10, tuple(c for c in range(6) if c % 4 == n), n) for n in range(4)]
    caches += [Cache(3, "Unified", 8 << 20, (0, 1, 4, 5), 0), Cache(3, "Unified", 8 << 20, (2, 3), 1)]
    nodes = (NumaNode(0, 1 << 30), NumaNode(1, 2 << 30), NumaNode(2, 0), NumaNode(3, 0))
    machine = Machine("small", tuple(cpus), nodes, tuple(caches))
    assert drawing(machine) == expected


def test_a_node_of_several_packages_holds_them() -> None:
    cpus = tuple(Cpu(n, core=0, die=0, package=n, node=0) for n in range(2))
    lines = drawing(Machine("wide", cpus, (NumaNode(0, 1 << 30),))).splitlines()
    assert lines[1:] == [
        "└── NUMANode P#0 (1 GiB)",
        "    ├── Package P#0",
        "    │   └── Core P#0",
        "    │       └── PU P#0",
        "    └── Package P#1",
        "        └── Core P#0",
        "            └── PU P#1",
    ]


def test_a_part_that_lies_across_others_says_which_cpus_it_has() -> None:
    cpus = tuple(Cpu(n, core=n, die=0, package=n // 2, node=0 if n in (0, 3) else 1) for n in range(4))
    text = drawing(Machine("crossed", cpus, (NumaNode(0, 0), NumaNode(1, 0))))
    assert lines_with(text, "NUMANode P#0 (no memory): PU P#0,3")
    assert lines_with(text, "NUMANode P#1 (no memory): PU P#1-2")
    assert sum("Core P#" in line for line in text.splitlines()) == 4


def test_what_is_switched_off_or_set_aside_is_said() -> None:
    machine = without_cpus(with_hugepages(preset("xeon-2s"), 1, 1048576, 4), (3, 4, 5))
    text = drawing(replace(machine, spare_nodes=(7,), isolated=(2, 3, 9)))
    assert lines_with(text, "Offline PU P#3-5 (of NUMANode P#0)")
    assert lines_with(text, "Isolated PU P#2-3,9")
    assert not lines_with(drawing(machine), "Isolated")
    assert lines_with(text, "4 hugepages of 1 GiB")
    assert lines_with(text, "Possible NUMANode P#7 (not online)")


def test_dies_that_a_package_has_several_of_are_told() -> None:
    assert len(lines_with(drawing(preset("xeon-9242")), "─ Die P#")) == 4
    assert not lines_with(drawing(preset("xeon-2s")), "Die")


def a_card(**more: Any) -> Machine:
    card = PciDevice("0000:01:00.0", vendor=0x15B3, device=0x101D, class_code=0x020000, numa_node=0, **more)
    cpu = Cpu(0, core=0, die=0, package=0, node=0)
    return Machine("one", (cpu,), (NumaNode(0, 1 << 30),), pci=(PciRoot(0, 1, (card,)),))


def test_the_pci_functions_alone() -> None:
    card = a_card(driver="mlx5_core", net=(NetInterface("ens1", "02:00:00:00:00:01"),))
    assert pci_tree(card) == [
        "└── HostBridge pci0000:01",
        "    └── PCI 0000:01:00.0 15b3:101d (Ethernet), NUMANode P#0, driver mlx5_core",
        "        └── Net ens1 (02:00:00:00:00:01)",
    ]
    assert pci_tree(preset("xeon-2s")) == []


def test_a_tree_is_as_wide_as_asked_and_no_stroke_breaks() -> None:
    card = a_card(driver="mlx5_core", net=(NetInterface("ens1", "02:00:00:00:00:01"),))
    assert pci_tree(card, 40) == [
        "└── HostBridge pci0000:01",
        "    └── PCI 0000:01:00.0 15b3:101d",
        "        │     (Ethernet), NUMANode P#0,",
        "        │     driver mlx5_core",
        "        └── Net ens1 (02:00:00:00:00:01)",
    ]
    for width in (60, 80, 132):
        lines = machine_tree(preset("dgx-h100"), width)
        assert max(map(len, lines)) <= width
        words = " ".join(line.lstrip("│├└─ ") for line in lines).split()
        assert words == " ".join(line.lstrip("│├└─ ") for line in machine_tree(preset("dgx-h100"))).split()


def test_what_a_machine_says_of_itself_is_no_control_of_a_terminal() -> None:
    hostile = "\x1b[31mred\tnext\u202e" + "x" * 10_000
    lines = machine_tree(replace(a_card(), name=hostile, cpu_model=hostile))
    assert len(lines) == len(machine_tree(a_card()))
    assert all(line.isprintable() and len(line) < 500 for line in lines)
