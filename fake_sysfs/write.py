"""Writing a tree of files: whole or not at all, and each content once, however many files hold it."""

# A large machine has a quarter of a million files: plain strings and system calls, no pathlib.
# ruff: noqa: PTH101, PTH102, PTH211

import errno
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from numaproof.fake_sysfs.content import FileContent, Link
from numaproof.fake_sysfs.errors import MachineError

# ext4 refuses a file more than 65,000 names.
MAX_LINKS = 60_000
DIRECTORY_MODE = 0o755
FILE_MODE = 0o644


def write(files: Mapping[str, FileContent], root: Path | str) -> None:
    """Write a tree at `root`, which must not exist yet (or be an empty directory): all of it, or nothing at all.

    Files of equal content are hard links of one file. To change one later, write beside it and rename.
    """
    target = Path(root).absolute()
    if os.path.lexists(target) and not _is_empty_directory(target):
        raise MachineError(f"{root}: exists already; remove it, or name a directory that does not exist")
    try:
        place = tempfile.mkdtemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    except OSError as error:
        raise _refusal(root, error) from error
    try:
        _fill(place, files)
        Path(place).rename(target)
    except OSError as error:
        raise _refusal(root, error) from error
    finally:
        # After the rename there is nothing here; after a failure or a Ctrl-C, nothing is to be left.
        shutil.rmtree(place, ignore_errors=True)


def _fill(place: str, files: Mapping[str, FileContent]) -> None:
    # Like sysfs, a tree is for all to read: its reader may be another user, in a container.
    os.chmod(place, DIRECTORY_MODE)
    made = {""}
    first: dict[bytes, str] = {}
    names: dict[bytes, int] = {}
    for path, content in files.items():
        full = f"{place}/{path}"
        above = path[: max(path.rfind("/"), 0)]
        if above not in made:
            _make_directories(place, above, made)
        if isinstance(content, bytes):
            count = names.get(content, 0)
            if count % MAX_LINKS:
                os.link(first[content], full)
            else:
                _write_file(full, content)
                first[content] = full
            names[content] = count + 1
        elif isinstance(content, Link):
            os.symlink(content.target, full)
        elif path not in made:
            _make_directories(place, path, made)


def _make_directories(place: str, path: str, made: set[str]) -> None:
    missing = []
    while path not in made:
        missing.append(path)
        path = path[: max(path.rfind("/"), 0)]
    for directory in reversed(missing):
        os.mkdir(f"{place}/{directory}")
        os.chmod(f"{place}/{directory}", DIRECTORY_MODE)
        made.add(directory)


def _write_file(path: str, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    try:
        os.fchmod(descriptor, FILE_MODE)
        rest = content
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    finally:
        os.close(descriptor)


def _is_empty_directory(path: Path) -> bool:
    try:
        with os.scandir(path) as entries:
            return not path.is_symlink() and next(entries, None) is None
    except OSError:
        return False


def _refusal(root: Path | str, error: OSError) -> MachineError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return MachineError(
            f"{root}: no space is left on the device; nothing was written: free some, or write elsewhere"
        )
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return MachineError(f"{root}: its parent is not a directory; make it first")
    return MachineError(f"{root}: cannot be written ({error.strerror}); nothing was written: choose another place")
