"""Snapshots of real machines, where the folder of them lies beside the repository: each imports, and real tools agree.

They are not ours to copy; where the folder is not there, these tests have no items.
"""

import os
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from numaproof.fake_sysfs.archive import unpack
from numaproof.fake_sysfs.files import files
from numaproof.fake_sysfs.importers import import_archive
from numaproof.fake_sysfs.machine import Machine
from numaproof.fake_sysfs.read import read
from numaproof.fake_sysfs.write import write
from tests.fake_sysfs.on_disk import REPOSITORY
from tests.fake_sysfs.real_tools import assert_real_tools_agree, lstopo
from tests.places import short_directory

ARCHIVES = sorted((REPOSITORY.parent / "shared/snapshots").glob("*.tar.*"))

# Tells pytest whether this module has tests at all: parameters that are empty would be reported as skipped.
__test__ = bool(ARCHIVES)

# Where hwloc drops what is inconsistent, and the import mends it: the machine has these nodes, with this note.
MENDED = {
    "8em64t-2s2ca2c-buggynuma": (tuple(range(8)), "claimed by several NUMA nodes"),
    "offline-cpu0-node0": ((0, 1), "NUMA node 0: offline in the snapshot"),
}


def name_of(archive: Path) -> str:
    return archive.name.removesuffix(".tar.bz2")


@pytest.mark.parametrize("archive", ARCHIVES, ids=name_of)
def test_real_tools_see_in_the_snapshot_and_in_our_tree_what_the_machine_says(archive: Path) -> None:
    machine = import_archive(archive)
    with short_directory() as place:
        write(files(machine), place / "tree")
        assert read(place / "tree") == machine
        assert_real_tools_agree(place / "tree", machine)
        write(unpack(archive), place / "original")
        original = next((place / "original").iterdir())
        assert pci_functions(place / "tree") == pci_functions(original)
        if name_of(archive) in MENDED:
            nodes, note = MENDED[name_of(archive)]
            assert machine.node_ids == nodes
            assert any(note in said for said in machine.notes)
        else:
            assert_hwloc_agrees(original, machine)
            assert machine.notes == ()


def assert_hwloc_agrees(original: Path, machine: Machine) -> None:
    """hwloc sees in the snapshot itself the nodes that the machine has; it leaves GPU memory out unless asked."""
    seen = lstopo(["--disallowed"], {"HWLOC_FSROOT": str(original), "HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES": "1"})
    by_node = machine.cpus_by_node()
    assert {node: cpus for node, cpus in seen.cpus.items() if by_node[node]} == {n: c for n, c in by_node.items() if c}
    assert seen.memory == {node.id: node.memory for node in machine.nodes}
    if len(machine.nodes) > 1:
        assert seen.distances == {node.id: node.distances for node in machine.nodes}


def pci_functions(root: Path) -> dict[str, tuple[str, str]]:
    """For every address that is not a bridge: class, ids, and the CPUs near it, as lstopo sees them below a root."""
    command = ["lstopo-no-graphics", "--whole-io", "--disallowed", "--of", "xml", "-"]
    environment = {**os.environ, "HWLOC_FSROOT": str(root)}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    found: dict[str, tuple[str, str]] = {}

    def look(item: ElementTree.Element, cpus: str) -> None:
        cpus = item.get("cpuset", cpus)
        # "0200 [8086:1521] [1028:1f60] 01": the last word is the revision, which a machine does not have.
        what = item.get("pci_type", "").rsplit(" ", 1)[0]
        if item.get("type") == "PCIDev" and not what.startswith("0604"):
            found[item.attrib["pci_busid"]] = (what, cpus)
        for inner in item:
            look(inner, cpus)

    look(ElementTree.fromstring(done.stdout), "")
    return found
