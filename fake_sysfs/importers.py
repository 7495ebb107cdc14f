"""Snapshots of real machines: hwloc-gather-topology's, util-linux's lscpu dumps, ghw's and our own become machines."""

import os
import posixpath
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from numaproof.fake_sysfs.archive import Limits, unpack
from numaproof.fake_sysfs.collect import collect
from numaproof.fake_sysfs.content import FileContent
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.files import EXTRA
from numaproof.fake_sysfs.machine import Machine
from numaproof.fake_sysfs.normalise import normalise
from numaproof.fake_sysfs.read import read
from numaproof.fake_sysfs.write import write

_SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_CPUS = "sys/devices/system/cpu/"
# ghw takes the host's along, which is a link to /proc/self/mounts; it says nothing about the machine.
_MTAB = "etc/mtab"


def import_archive(path: Path | str, limits: Limits = Limits()) -> Machine:  # noqa: B008 (a frozen value)
    """The machine of which a tarball, or a folder that holds sys/ and proc/, is a snapshot; its name is the file's."""
    place = Path(path)
    if place.is_dir():
        return _machine(place, collect(str(place)), place.absolute().name)
    files = unpack(place, limits, ignored=_MTAB)
    suffix = next((suffix for suffix in _SUFFIXES if place.name.endswith(suffix)), "")
    return _machine(place, _below_top(place, files), place.name.removesuffix(suffix))


def _below_top(path: Path, files: Mapping[str, FileContent]) -> dict[str, FileContent]:
    """The files by their paths below the folder that holds sys/ and proc/: most snapshots have one around them."""
    place = next((name for name in files if f"/{name}".find(f"/{_CPUS}") >= 0), None)
    if place is None:
        raise MachineError(f"{path}: holds no {_CPUS}; give a snapshot of sysfs")
    top = place[: f"/{place}".find(f"/{_CPUS}")]
    return {
        name.removeprefix(top): content
        for name, content in files.items()
        if name.startswith((f"{top}sys/", f"{top}proc/cpuinfo", f"{top}proc/meminfo", f"{top}proc/cmdline"))
    }


def _machine(path: Path, files: Mapping[str, FileContent], name: str) -> Machine:
    if not any(place.startswith(_CPUS) for place in files):
        raise MachineError(f"{path}: holds no {_CPUS}; give a snapshot of sysfs")
    ours = EXTRA in files  # written by us: nothing is missing, and it knows its name
    mended, notes = (files, ()) if ours else normalise(files)
    try:
        with tempfile.TemporaryDirectory(prefix="numaproof-", dir=_roomy_memory(mended)) as scratch:
            write(mended, f"{scratch}/tree")
            machine = read(f"{scratch}/tree")
    except OSError as error:
        raise MachineError(f"{path}: cannot be imported: {error.strerror or error}") from error
    except MachineError as error:
        raise MachineError(f"{path}: {error}") from error
    return machine if ours else replace(machine, name=name, notes=(*machine.notes, *notes))


def _roomy_memory(files: Mapping[str, FileContent]) -> str | None:
    """A place in memory for a tree that is read once and thrown away, if there is plenty; None: where TMPDIR says."""
    memory = "/dev/shm"
    if "TMPDIR" in os.environ or not os.access(memory, os.W_OK | os.X_OK):
        return None
    room = os.statvfs(memory)
    contents = {content for content in files.values() if isinstance(content, bytes)}
    objects = len(contents) + len({posixpath.dirname(path) for path in files})
    needed = sum(len(content) for content in contents) + objects * 4096
    # Every name takes an inode at worst.
    return memory if room.f_bavail * room.f_frsize > 4 * needed and room.f_favail > 2 * len(files) else None
