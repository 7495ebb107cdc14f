"""Snapshots that we take: numaproof reads them, hwloc reads them, and nothing half-done is left."""

import os
import socket
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from numaproof.fake_sysfs.capture import capture
from numaproof.fake_sysfs.catalogue import preset
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.files import EXTRA, files
from numaproof.fake_sysfs.importers import import_archive
from numaproof.fake_sysfs.machine import Machine
from numaproof.fake_sysfs.read import read
from numaproof.fake_sysfs.write import write
from tests.fake_sysfs.example import MACHINE
from tests.fake_sysfs.on_disk import on_a_small_disk
from tests.fake_sysfs.real_tools import assert_lstopo_agrees
from tests.places import short_directory

# Of what a host was booted with, only the last word is about the machine.
PRIVATE = b"root=UUID=9a0c-77 token=s3cret ro isolcpus=nohz,domain,2-3\n"

MAGIC = {".tar": b"shot/", ".tar.gz": b"\x1f\x8b", ".tgz": b"\x1f\x8b", ".tar.bz2": b"BZh", ".tar.xz": b"\xfd7zXZ"}


def captured(machine: Machine, place: Path, suffix: str = ".tar") -> Path:
    write(files(machine), place / "tree")
    capture(place / f"shot{suffix}", place / "tree")
    return place / f"shot{suffix}"


def names_in(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        return archive.getnames()


@pytest.mark.parametrize(
    "machine",
    [MACHINE, preset("laptop"), preset("xeon-2s-pmem"), replace(MACHINE, name="isolating", isolated=(2, 3))],
    ids=lambda m: m.name,
)
def test_nothing_of_a_machine_is_lost(machine: Machine) -> None:
    with short_directory() as place:
        assert import_archive(captured(machine, place)) == machine


def test_nothing_is_lost_that_sysfs_itself_says() -> None:
    machine = preset("dgx1-v100")
    with short_directory() as place:
        write({path: content for path, content in files(machine).items() if path != EXTRA}, place / "tree")
        capture(place / "other.tar", place / "tree")
        assert import_archive(place / "other.tar") == replace(machine, name="other", links=(), notes=())


def test_of_the_command_line_only_isolated_cpus_are_taken() -> None:
    with short_directory() as place:
        tree = dict(files(replace(MACHINE, isolated=(2, 3))))
        del tree["sys/devices/system/cpu/isolated"]
        write(tree | {"proc/cmdline": PRIVATE}, place / "tree")
        capture(place / "shot.tar", place / "tree")
        with tarfile.open(place / "shot.tar") as archive:
            kept = archive.extractfile("shot/proc/cmdline")
            assert kept is not None
            assert kept.read() == b"isolcpus=nohz,domain,2-3\n"
        assert b"s3cret" not in (place / "shot.tar").read_bytes()
        assert import_archive(place / "shot.tar").isolated == (2, 3)


@pytest.mark.parametrize("missing", ["sys/devices/system/cpu/isolated", "proc/cmdline"])
def test_isolated_cpus_are_taken_from_either_file(missing: str) -> None:
    machine = replace(MACHINE, isolated=(2, 3))
    with short_directory() as place:
        write({path: content for path, content in files(machine).items() if path != missing}, place / "tree")
        capture(place / "shot.tar", place / "tree")
        assert import_archive(place / "shot.tar") == machine


def test_a_command_line_that_isolates_nothing_is_left_where_it_is() -> None:
    with short_directory() as place:
        write({**files(MACHINE), "proc/cmdline": b"root=UUID=9a0c-77 token=s3cret ro\n"}, place / "tree")
        capture(place / "shot.tar", place / "tree")
        assert "shot/proc/cpuinfo" in names_in(place / "shot.tar")
        assert "shot/proc/cmdline" not in names_in(place / "shot.tar")


@pytest.mark.parametrize("suffix", MAGIC)
def test_the_name_says_how_it_is_packed(suffix: str) -> None:
    with short_directory() as place:
        path = captured(preset("laptop"), place, suffix)
        assert path.read_bytes().startswith(MAGIC[suffix])
        assert {name.split("/")[0] for name in names_in(path)} == {"shot"}
        assert import_archive(path) == preset("laptop")


def test_hwloc_sees_in_a_capture_of_this_host_what_we_see() -> None:
    with short_directory() as place:
        capture(place / "host.tar.gz")
        machine = import_archive(place / "host.tar.gz")
        subprocess.run(["tar", "xzf", place / "host.tar.gz", "-C", place], check=True)
        assert_lstopo_agrees(place / "host", machine)
        host = read("/")
    assert machine.cpu_ids == host.cpu_ids
    assert [device.address for device in machine.devices()] == [device.address for device in host.devices()]


def test_what_cannot_be_read_is_left_out() -> None:
    with short_directory() as place:
        write(files(preset("laptop")), place / "tree")
        cpu = place / "tree/sys/devices/system/cpu"
        with socket.socket(socket.AF_UNIX) as unreadable:
            (cpu / "cpu1/online").unlink()
            unreadable.bind(str(cpu / "cpu1/online"))
        os.mkfifo(cpu / "cpu1/topology/fifo")
        (cpu / "cpu2/node7").symlink_to("/etc")
        (cpu / "cpu2/node8").symlink_to("../../../../../../../etc")
        capture(place / "shot.tar", place / "tree")
        names = names_in(place / "shot.tar")
        at = "shot/sys/devices/system/cpu"
        assert f"{at}/cpu2/online" in names
        assert not {f"{at}/cpu1/online", f"{at}/cpu2/node7", f"{at}/cpu2/node8"} & set(names)
        assert import_archive(place / "shot.tar").cpus == preset("laptop").cpus


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("shot.zip", "end it in .tar"),
        (".tar", "end it in .tar"),
        ("there.tar", "exists already"),
        ("dangling.tar", "exists already"),
        ("missing/shot.tar", "cannot be written"),
    ],
)
def test_a_bad_target_is_refused_in_one_line_and_nothing_is_left(name: str, words: str) -> None:
    with short_directory() as place:
        write(files(preset("laptop")), place / "tree")
        (place / "there.tar").write_text("mine")
        (place / "dangling.tar").symlink_to("nowhere")
        before = sorted(place.iterdir())
        with pytest.raises(MachineError) as caught:
            capture(place / name, place / "tree")
        assert words in str(caught.value)
        assert str(place / name) in str(caught.value)
        assert "\n" not in str(caught.value)
        assert sorted(place.iterdir()) == before
        assert (place / "there.tar").read_text() == "mine"


def test_a_place_without_sysfs_is_refused() -> None:
    with short_directory() as place:
        with pytest.raises(MachineError, match="has no sys/devices/system/cpu"):
            capture(place / "shot.tar", place)
        assert list(place.iterdir()) == []


FULL_DISK = """
import sys
from pathlib import Path
from numaproof.fake_sysfs.capture import capture
from numaproof.fake_sysfs.errors import MachineError

disk = Path(sys.argv[1])
(disk / "filler").write_bytes(bytes(250 * 1024))
try:
    capture(disk / "host.tar")
except MachineError as error:
    print(error)
assert [path.name for path in disk.iterdir()] == ["filler"]
"""


def test_a_full_disk_leaves_nothing_behind() -> None:
    with short_directory() as place:
        said = on_a_small_disk(FULL_DISK, place, "size=256k")
        assert said == f"{place}/host.tar: cannot be written: No space left on device\n"
