"""Snapshots of old and odd kernels: small ones of our own, each without (or with) the one thing that makes it odd."""

import io
import re
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from numaproof.fake_sysfs.alter import without_cpus
from numaproof.fake_sysfs.content import FileContent, Link
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.files import EXTRA, files
from numaproof.fake_sysfs.importers import import_archive
from numaproof.fake_sysfs.machine import Cache, Cpu, Hugepages, Machine, NumaNode, PciDevice, PciRoot
from numaproof.fake_sysfs.write import write
from tests.places import short_directory

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"
GIB = 1 << 30
BRIDGE, GPU, NIC = "0000:80:01.0", "0000:81:00.0", "0000:00:03.0"

# Two packages, each a node, of two cores with two threads.
MACHINE = Machine(
    name="old",
    cpus=tuple(Cpu(n, core=n % 2, die=0, package=n // 2 % 2, node=n // 2 % 2) for n in range(8)),
    nodes=(NumaNode(0, 8 * GIB, (Hugepages(2048, 16),), (10, 21)), NumaNode(1, 4 * GIB, (), (21, 10))),
    caches=(
        Cache(3, "Unified", 8 << 20, (0, 1, 4, 5), 0),
        Cache(3, "Unified", 8 << 20, (2, 3, 6, 7), 1),
        *(Cache(1, "Data", 32 << 10, (n, n + 4), n) for n in range(4)),
    ),
    pci=(
        PciRoot(0, 0, (PciDevice(NIC, 0x8086, 0x1521, 0x020000, 0x1028, 0x1F60, numa_node=0, driver="igb"),)),
        PciRoot(
            0,
            0x80,
            (
                PciDevice(
                    BRIDGE,
                    0x8086,
                    0x2030,
                    0x060400,
                    numa_node=1,
                    bus_range=(0x81, 0x81),
                    children=(PciDevice(GPU, 0x10DE, 0x20B0, 0x030200, numa_node=1),),
                ),
            ),
        ),
    ),
)

Files = dict[str, FileContent]


def snapshot(machine: Machine = MACHINE) -> Files:
    """The machine as a stranger's kernel shows it: without the file in which we note down what sysfs cannot say."""
    return {path: content for path, content in files(machine).items() if path != EXTRA}


def packed(found: Files, path: Path, top: str = "old/") -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in found.items():
            info = tarfile.TarInfo(top + name)
            if isinstance(content, Link):
                info.type, info.linkname = tarfile.SYMTYPE, content.target
            elif isinstance(content, bytes):
                info.size = len(content)
            else:
                info.type = tarfile.DIRTYPE
            archive.addfile(info, io.BytesIO(content if isinstance(content, bytes) else b""))
    return path


def imported(found: Files, top: str = "old/") -> Machine:
    with short_directory() as place:
        machine = import_archive(packed(found, place / "old.tar.gz", top))
        assert [path.name for path in place.iterdir()] == ["old.tar.gz"]
    return machine


def without(found: Files, *patterns: str) -> Files:
    kept = {path: content for path, content in found.items() if not any(re.search(p, path) for p in patterns)}
    assert len(kept) < len(found), "nothing was taken away: nothing is tested"
    return kept


# What an old kernel lacks, of which nothing is lost: files that match are not in the snapshot.
LACKING = {
    "nothing": [r"/cpu/kernel_max"],
    "cpu lists": [r"/cpu/(possible|present|online|offline|kernel_max)"],
    "online files": [r"/cpu\d+/online"],
    "links of nodes to cpus": [r"/node\d+/cpu\d+$", r"/cpu\d+/node\d+$"],
    "cpu lists of nodes": [r"/node\d+/cpulist"],
    "cpu masks of nodes": [r"/node\d+/cpumap"],
    "any list or mask of nodes": [r"/node\d+/cpu(list|map)"],
    "node lists": [r"/node/(online|possible|has_\w+)"],
    "cache ids": [r"/cache/index\d+/id"],
    "every _list": [r"_list$"],
    "masks, but for the lists": [r"/topology/(\w+_siblings|\w+_cpus)$", r"shared_cpu_map"],
    "the old names of masks": [r"/(thread|core)_siblings"],
    "the new names of masks": [r"/(core|package|die|cluster)_cpus"],
    "dies and clusters": [r"/(die|cluster)_"],
    "the sum of memory": [r"proc/meminfo"],
    "frequencies": [r"/cpufreq/"],
    "the ids of PCI functions": [r"/(vendor|device|subsystem_vendor|subsystem_device|class)$"],
    "the ids of PCI functions, and modalias": [r"/(vendor|device|class|modalias)$"],
    "the ids of PCI functions, but in configuration space": [r"/(vendor|device|class|modalias|uevent)$"],
    "nodes of PCI functions": [r"/numa_node$"],
    "nodes and near lists of PCI functions": [r"/numa_node$", r"/local_cpulist$"],
}


@pytest.mark.parametrize("what", LACKING)
def test_what_an_old_kernel_lacks_is_filled_in(what: str) -> None:
    assert imported(without(snapshot(), *LACKING[what])) == MACHINE


def test_a_switched_off_cpu_is_known_by_its_own_file() -> None:
    machine = without_cpus(MACHINE, (5,))
    assert imported(without(snapshot(machine), r"/cpu/(possible|present|online|offline)")) == machine


def test_a_switched_off_cpu_is_known_by_what_it_lacks() -> None:
    machine = without_cpus(MACHINE, (5,))
    assert imported(without(snapshot(machine), r"/cpu/(possible|present|online|offline)", r"/cpu\d+/online")) == machine


def test_a_switched_off_cpu_leaves_the_masks_that_still_name_it() -> None:
    found = snapshot()
    found[f"{CPU}/online"] = b"0-4,6-7\n"
    assert imported(found) == without_cpus(MACHINE, (5,))


def test_only_cpus_that_are_present_are_imported() -> None:
    found = snapshot()
    found[f"{CPU}/cpu8/crash_notes"] = b"0\n"
    found[f"{CPU}/possible"] = b"0-127\n"
    assert imported(found) == MACHINE


def test_a_nul_at_the_end_of_each_file_says_nothing() -> None:
    found = {
        path: content + b"\0\0" if isinstance(content, bytes) and not path.endswith("/config") else content
        for path, content in snapshot().items()
    }
    assert imported(found) == MACHINE


def test_links_that_lead_nowhere_or_to_themselves_do_no_harm() -> None:
    found = snapshot()
    found[f"{NODE}/node0/memory0"] = Link("../../memory/memory0")
    found[f"{NODE}/node0/cpu0"] = Link(".")
    found["sys/bus/pci/devices/0000:ff:00.0"] = Link("../../../devices/pci0000:ff/0000:ff:00.0")
    assert imported(found) == MACHINE


def test_a_link_of_a_node_to_a_cpu_that_another_one_lists_says_nothing() -> None:
    found = snapshot()
    found[f"{NODE}/node0/cpu2"] = Link("../../cpu/cpu2")
    assert imported(found) == MACHINE


def test_cores_that_are_numbered_anew_on_each_die_stay_apart() -> None:
    machine = replace(
        MACHINE, cpus=tuple(replace(cpu, package=0, core=cpu.core + 2 * cpu.package) for cpu in MACHINE.cpus)
    )
    found = snapshot(machine)
    for cpu in machine.cpus:
        found[f"{CPU}/cpu{cpu.id}/topology/core_id"] = f"{cpu.core % 2}\n".encode()
    assert imported(found) == machine


def test_an_unknown_package_is_the_only_one() -> None:
    found = snapshot()
    for cpu in MACHINE.cpus:
        found[f"{CPU}/cpu{cpu.id}/topology/physical_package_id"] = b"-1\n"
    machine = imported(found)
    assert machine.package_ids == (0,)
    assert len({cpu.core for cpu in machine.cpus}) == 4
    assert machine.cpus_by_node() == MACHINE.cpus_by_node()


def test_cache_sizes_may_be_megabytes() -> None:
    found = snapshot()
    large = [path for path, content in found.items() if path.endswith("/size") and content == b"8192K\n"]
    assert large
    assert imported(found | dict.fromkeys(large, b"8M\n")) == MACHINE


def test_missing_distances_are_taken_from_the_other_nodes() -> None:
    machine = imported(without(snapshot(), r"/node1/distance"))
    assert [node.distances for node in machine.nodes] == [(10, 21), (21, 10)]
    assert any(note.startswith("NUMA node 1: the snapshot has no distances") for note in machine.notes)


def test_without_any_distance_nodes_are_as_far_apart_as_kernels_assume() -> None:
    machine = imported(without(snapshot(), r"/distance"))
    assert [node.distances for node in machine.nodes] == [(10, 20), (20, 10)]
    assert machine.notes


def test_a_node_that_does_not_say_its_memory_has_what_the_others_leave() -> None:
    machine = imported(without(snapshot(), r"/node1/meminfo"))
    assert [node.memory for node in machine.nodes] == [8 * GIB, 4 * GIB]
    assert any(note.startswith("NUMA node 1: the snapshot does not say its memory") for note in machine.notes)


ISOLATING = replace(MACHINE, isolated=(2, 3, 6))


@pytest.mark.parametrize("pattern", [r"/cpu/isolated", r"proc/cmdline"])
def test_isolated_cpus_are_known_by_the_list_and_by_the_command_line(pattern: str) -> None:
    assert imported(without(snapshot(ISOLATING), pattern)) == ISOLATING


def test_an_older_kernel_of_a_few_files_tells_isolated_cpus_by_its_command_line() -> None:
    """A tree as small as can be: four CPUs, and what the kernel was told at boot."""
    few: Files = {f"{CPU}/cpu{n}/topology/core_id": f"{n}\n".encode() for n in range(4)}
    few["proc/cmdline"] = b"BOOT_IMAGE=/vmlinuz root=UUID=1f2e-33 ro isolcpus=2-9 quiet\n"
    machine = imported(few)
    assert (machine.cpu_ids, machine.isolated) == ((0, 1, 2, 3), (2, 3))
    with short_directory() as place:
        write(few, place / "few")
        assert import_archive(place / "few").isolated == (2, 3)
    assert not any("1f2e" in note for note in machine.notes)


def test_what_is_no_list_of_isolated_cpus_is_passed_over_with_a_note() -> None:
    listed, told = f"{CPU}/isolated", "proc/cmdline"
    machine = imported(snapshot(ISOLATING) | {listed: b"2-x\n"})
    assert machine.notes == (f"isolated CPUs: {listed} of the snapshot holds no list of them; it is passed over",)
    assert replace(machine, notes=()) == ISOLATING
    machine = imported(snapshot(ISOLATING) | {listed: b"2-x\n", told: b"isolcpus=3-1\n"})
    assert [note.split()[2] for note in machine.notes] == [listed, told]
    assert replace(machine, notes=()) == MACHINE


def test_where_all_cpus_are_isolated_the_first_is_left_with_a_note() -> None:
    machine = imported(snapshot() | {f"{CPU}/isolated": b"0-63\n"})
    assert machine.isolated == (1, 2, 3, 4, 5, 6, 7)
    assert machine.notes == ("CPU 0: isolated like all others; imported as the kernel's own",)


def test_a_host_without_numa_is_one_node() -> None:
    machine = imported(without(snapshot(), r"/system/node/", r"/cpu\d+/node\d+$"))
    assert machine.node_ids == (0,)
    assert machine.cpus_of(0) == tuple(range(8))
    assert machine.nodes[0].memory == 12 * GIB


def test_nodes_that_all_claim_every_cpu_are_told_apart_by_the_links() -> None:
    found = snapshot()
    for node in (0, 1):
        found[f"{NODE}/node{node}/cpulist"] = b"0-7\n"
        found[f"{NODE}/node{node}/cpumap"] = b"ff\n"
    machine = imported(found)
    assert machine.notes == ("CPU 0-7: claimed by several NUMA nodes; imported where its links are",)
    assert replace(machine, notes=()) == MACHINE


def test_a_node_that_is_offline_while_its_cpus_are_not_comes_back() -> None:
    found = without(snapshot(), r"/node/node0/")
    found[f"{NODE}/online"] = b"1\n"
    machine = imported(found)
    assert machine.cpus_by_node() == MACHINE.cpus_by_node()
    assert [(node.memory, node.distances) for node in machine.nodes] == [(8 * GIB, (10, 21)), (4 * GIB, (21, 10))]
    assert any(note.startswith("NUMA node 0: offline in the snapshot") for note in machine.notes)


def test_functions_may_lie_on_the_bus_itself() -> None:
    found = without(snapshot(), r"/devices/pci0000:00/", r"/bus/pci/drivers/", r"/0000:00:03.0$")
    at = f"sys/bus/pci/devices/{NIC}"
    found |= {f"{at}/class": b"0x020000\n", f"{at}/local_cpus": b"33\n"}
    device = next(device for device in imported(found).devices() if device.address == NIC)
    assert (device.class_code, device.vendor, device.numa_node) == (0x020000, 0, 0)


def test_without_configuration_space_every_function_is_there() -> None:
    machine = imported(without(snapshot(), r"/config$"))
    assert [device.address for device in machine.devices()] == [device.address for device in MACHINE.devices()]


@pytest.mark.parametrize("top", ["", "./", "old/", "./old/", "some/where/old/"])
def test_the_tree_may_lie_in_folders(top: str) -> None:
    assert imported(snapshot() | {"maps": b"", "etc/mtab": b"", "proc/stat": b"cpu 0\n"}, top) == MACHINE


def test_the_mtab_that_ghw_takes_along_is_no_harm_but_any_other_such_link_is() -> None:
    assert imported(snapshot() | {"etc/mtab": Link("/proc/self/mounts")}, top="") == MACHINE
    with pytest.raises(MachineError, match="leaves the archive"):
        imported(snapshot() | {"etc/other": Link("/proc/self/mounts")}, top="")


def test_a_folder_is_imported_like_a_tarball() -> None:
    with short_directory() as place:
        write(without(snapshot(), *LACKING["cpu lists"]), place / "old")
        assert import_archive(place / "old") == MACHINE


def test_a_snapshot_of_ours_keeps_its_name_and_notes() -> None:
    machine = replace(MACHINE, name="mine", notes=("made up",))
    assert imported(dict(files(machine))) == machine


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda found: {"readme": b"hello"}, "holds no sys/devices/system/cpu/"),
        (lambda found: without(found, r"/system/cpu/"), "holds no sys/devices/system/cpu/"),
        (lambda found: found | {f"{CPU}/online": b"77\n"}, "no CPU online"),
        (lambda found: found | {EXTRA: b"{}"}, "numaproof.json"),
        (lambda found: found | {f"sys/{'x' * 256}": b""}, "too long"),
    ],
    ids=["no tree", "no cpus", "none online", "a forged note", "an endless name"],
)
def test_what_is_no_machine_is_refused_in_one_line_that_names_the_file(
    change: Callable[[Files], Files], words: str
) -> None:
    with short_directory() as place:
        path = packed(change(snapshot()), place / "bad.tar.gz")
        with pytest.raises(MachineError) as caught:
            import_archive(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_folder_without_a_tree_is_refused() -> None:
    with short_directory() as place, pytest.raises(MachineError, match="holds no sys/devices/system/cpu/"):
        import_archive(place)
