"""What real tools print about a machine of ours is read back as that machine, as far as their text tells it."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from numaproof.fake_sysfs.catalogue import preset, preset_description, preset_names
from numaproof.fake_sysfs.describe import describe
from numaproof.fake_sysfs.files import files
from numaproof.fake_sysfs.machine import Machine, PciDevice
from numaproof.fake_sysfs.section import load_yaml
from numaproof.fake_sysfs.texts.read_text import read_text
from numaproof.fake_sysfs.write import write
from tests.fake_sysfs.real_tools import fits_numactl, groups, lscpu_text, lstopo_xml, numactl_text
from tests.fake_sysfs.test_real_tools import ODD
from tests.places import short_directory

# All kinds of numbering, nodes without CPUs, sparse ids, dies, several nodes a socket. Of big-64 lstopo alone is asked.
NAMES = [name for name in preset_names() if name != "big-64"]
# numactl sizes its mask of CPUs by this host: what does not fit, it cannot show.
NUMACTL_NAMES = [name for name in NAMES if fits_numactl(preset(name))]
# Presets whose threads do not show in the CPU ids: their cores have numbers in a row, or one thread, or are offline.
THREADS_NOT_IN_NUMBERS = {"laptop", "power9-ac922"}


def odd() -> Machine:
    return describe(load_yaml(ODD, "odd.yaml"), preset_description)


def tree_of(machine: Machine, place: Path) -> Path:
    write(files(machine), place / "tree")
    return place / "tree"


def told(text: str) -> Machine:
    machine = read_text(text, "text", "text")
    assert machine is not None
    return machine


def cores(machine: Machine) -> set[tuple[int, ...]]:
    return groups(replace(machine, caches=()))["Core"]


def sockets(machine: Machine) -> set[tuple[int, ...]]:
    return groups(replace(machine, caches=()))["Package"]


def caches(machine: Machine) -> set[tuple[int, str, int, tuple[int, ...]]]:
    return {(cache.level, cache.kind, cache.size, cache.cpus) for cache in machine.caches}


def said(machine: Machine) -> str:
    return "\n".join(machine.notes)


@pytest.mark.parametrize("name", NUMACTL_NAMES)
def test_numactl_tells_cpus_memory_and_distances(name: str) -> None:
    machine = preset(name)
    with short_directory() as place:
        found = told(numactl_text(tree_of(machine, place)))
    assert found.cpus_by_node() == machine.cpus_by_node()
    # MB, so in whole MiB.
    assert [node.memory for node in found.nodes] == [node.memory >> 20 << 20 for node in machine.nodes]
    assert [node.distances for node in found.nodes] == [node.distances for node in machine.nodes]
    if name not in THREADS_NOT_IN_NUMBERS:
        assert cores(found) == cores(machine)
    assert "threads a core" in said(found) or "one thread a core" in said(found)


@pytest.mark.parametrize("form", [(), ("-J",)], ids=["text", "json"])
@pytest.mark.parametrize("name", NAMES)
def test_lscpu_tells_cpus_threads_sockets_and_caches(name: str, form: tuple[str, ...]) -> None:
    machine = preset(name)
    with short_directory() as place:
        found = told(lscpu_text(tree_of(machine, place), *form))
    assert found.cpus_by_node() == machine.cpus_by_node()
    assert cores(found) == cores(machine)
    assert sockets(found) == sockets(machine)
    assert (found.cpu_model, found.cpu_vendor) == (machine.cpu_model, machine.cpu_vendor)
    # lscpu tells the sum of the caches of two kinds of cores, and nothing of which cores share which.
    if not machine.kinds:
        assert caches(found) == caches(machine)
    assert "memory is not told: 4 GiB a CPU" in said(found)


@pytest.mark.parametrize("form", [("-e",), ("-p",), ("-J", "-e")], ids="".join)
@pytest.mark.parametrize("name", NAMES)
def test_rows_of_lscpu_tell_who_shares_what(name: str, form: tuple[str, ...]) -> None:
    machine = preset(name)
    with short_directory() as place:
        found = told(lscpu_text(tree_of(machine, place), *form))
    assert found.cpus_by_node() == {node: cpus for node, cpus in machine.cpus_by_node().items() if cpus}
    assert cores(found) == cores(machine)
    assert sockets(found) == sockets(machine)
    assert {(level, kind, cpus) for level, kind, _, cpus in caches(found)} == {
        (level, kind, cpus) for level, kind, _, cpus in caches(machine)
    }


def test_the_numa_lines_of_lscpu_alone_tell_the_nodes() -> None:
    machine = preset("epyc-7742-nps4")
    with short_directory() as place:
        lines = lscpu_text(tree_of(machine, place)).splitlines()
    found = told("\n".join(line for line in lines if "NUMA" in line))
    assert found.cpus_by_node() == machine.cpus_by_node()
    assert cores(found) == cores(machine)


def test_lscpu_and_numactl_in_one_text_tell_more_than_each() -> None:
    machine = preset("dgx-h100")
    with short_directory() as place:
        tree = tree_of(machine, place)
        found = told(f"$ lscpu\n{lscpu_text(tree)}\n$ numactl -H\n{numactl_text(tree)}")
    assert found.nodes == tuple(replace(node, hugepages=()) for node in machine.nodes)
    assert (cores(found), sockets(found), caches(found)) == (cores(machine), sockets(machine), caches(machine))


def functions(devices: Iterable[PciDevice], *, nodes: bool) -> dict[str, tuple[object, ...]]:
    """What lstopo tells of PCI functions: no drivers, no programming interfaces, though SSDs are NVMe's."""
    return {
        one.address: (
            one.class_code if one.class_code >> 8 == 0x0108 else one.class_code >> 8,
            (one.vendor, one.device, one.subsystem_vendor, one.subsystem_device),
            one.numa_node if nodes else None,
            [(card.name, card.address) for card in one.net],
            one.infiniband,
            one.bus_range,
            [child.address for child in one.children],
        )
        for one in devices
    }


@pytest.mark.parametrize("name", preset_names())
def test_lstopo_tells_nearly_everything(name: str) -> None:
    machine = preset(name)
    with short_directory() as place:
        found = told(lstopo_xml(tree_of(machine, place), "--whole-io"))
    assert (found.cpus, found.nodes, found.caches) == (machine.cpus, machine.nodes, machine.caches)
    assert found.cpu_model == machine.cpu_model
    # On one node lstopo shows devices alike whether or not the firmware says that they are on it.
    several = len(machine.nodes) > 1
    assert functions(found.devices(), nodes=several) == functions(machine.devices(), nodes=several)
    assert [root.name for root in found.pci] == [root.name for root in machine.pci]


@pytest.mark.parametrize("name", NAMES)
def test_lstopo_told_to_write_as_hwloc_1_did_tells_all_but_dies(name: str) -> None:
    machine = preset(name)
    with short_directory() as place:
        found = told(lstopo_xml(tree_of(machine, place), "--whole-io", "--export-xml-flags", "v1"))
    assert found.cpus == tuple(replace(cpu, die=0) for cpu in machine.cpus)
    assert (found.nodes, found.caches) == (machine.nodes, machine.caches)
    several = len(machine.nodes) > 1
    assert functions(found.devices(), nodes=several) == functions(machine.devices(), nodes=several)


def test_an_odd_machine_is_read_from_lstopo_but_for_what_is_offline_and_how_fast_memory_is() -> None:
    machine = odd()
    with short_directory() as place:
        found = told(lstopo_xml(tree_of(machine, place)))
    assert found.cpus == tuple(cpu for cpu in machine.cpus if cpu.online)
    assert found.nodes == tuple(replace(node, access=None) for node in machine.nodes)
    assert found.caches == machine.caches


def test_an_odd_machine_is_read_from_lscpu_and_numactl() -> None:
    machine = odd()
    with short_directory() as place:
        tree = tree_of(machine, place)
        summary, rows, nodes = told(lscpu_text(tree)), told(lscpu_text(tree, "-e")), told(numactl_text(tree))
    assert nodes.cpus_by_node() == summary.cpus_by_node() == machine.cpus_by_node()
    assert [node.distances for node in nodes.nodes] == [node.distances for node in machine.nodes]
    assert [node.memory for node in nodes.nodes] == [node.memory for node in machine.nodes]
    assert cores(rows) == cores(machine)
    assert sockets(summary) == sockets(rows) == sockets(machine)
    assert "CPU 2-3,66: offline, and left out" in said(summary)
    assert "CPU 2-3,66: offline, and left out" in said(rows)


def test_memory_behind_a_cache_is_read_with_it() -> None:
    text = "numa: {0: {memory: 4GiB, side-caches: [{size: 1GiB}]}}"
    machine = describe(load_yaml(text, "cached.yaml"), preset_description)
    with short_directory() as place:
        found = told(lstopo_xml(tree_of(machine, place)))
    assert found.nodes == machine.nodes


def test_huge_pages_are_read_from_lstopo() -> None:
    text = "memory: 8GiB\nnodes: 2\nhugepages: {2Mi: 512, 1Gi: 2}"
    machine = describe(load_yaml(text, "huge.yaml"), preset_description)
    with short_directory() as place:
        found = told(lstopo_xml(tree_of(machine, place)))
    assert found.nodes == machine.nodes
    assert found.hugepage_sizes == machine.hugepage_sizes


def test_kinds_of_cores_that_lstopo_has_names_for_are_read() -> None:
    with short_directory() as place:
        text = lstopo_xml(tree_of(preset("laptop"), place))
    # hwloc names them by devices/cpu_atom and cpu_core of a host's /sys alone, not of a tree's.
    for kind, name in (("3900", "IntelAtom"), ("5200", "IntelCore")):
        speed = f'<info name="FrequencyMaxMHz" value="{kind}"/>'
        assert speed in text
        text = text.replace(speed, f'{speed}<info name="CoreType" value="{name}"/>')
    assert told(text).kinds == preset("laptop").kinds
