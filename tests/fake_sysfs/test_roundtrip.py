"""A machine survives the way to the disk and back."""

import shutil

from hypothesis import given, settings

from numaproof.fake_sysfs.files import EXTRA, files
from numaproof.fake_sysfs.machine import Machine
from numaproof.fake_sysfs.read import read
from numaproof.fake_sysfs.write import write
from tests.fake_sysfs.strategies import machines
from tests.places import short_directory


@settings(max_examples=50)
@given(machines())
def test_any_machine_is_read_back_equal(machine: Machine) -> None:
    with short_directory() as place:
        write(files(machine), place / "tree")
        assert read(place / "tree") == machine


@settings(max_examples=50)
@given(machines())
def test_sysfs_alone_says_all_that_it_has_a_word_for(machine: Machine) -> None:
    """Without /proc and without our own file, only names and links are lost: nothing else was hidden there."""
    with short_directory() as place:
        write(files(machine), place / "tree")
        (place / "tree" / EXTRA).unlink()
        shutil.rmtree(place / "tree" / "proc")
        found = read(place / "tree" / "sys")
    for part in ("cpus", "nodes", "caches", "pci", "spare_nodes", "kinds", "isolated", "hugepage_sizes"):
        assert getattr(found, part) == getattr(machine, part)
