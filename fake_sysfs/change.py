"""Changing a tree while it is in use: only what differs is replaced, file by file, each at once, or nothing at all."""

import errno
import fcntl
import os
import posixpath
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from numaproof.fake_sysfs.content import Directory, FileContent, Link
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.files import EXTRA, files
from numaproof.fake_sysfs.machine import Machine
from numaproof.fake_sysfs.read import read


def change(root: Path | str, to: Callable[[Machine], Machine]) -> Machine:
    """Make the tree at `root` the one of `to(its machine)`, and say which machine that is.

    A reader finds every file either as it was or as it will be; files that share their content with a changed one stay
    as they are; when it cannot be done, a full disk among others, the tree is as it was before.
    """
    place = os.fspath(root)
    if not os.path.isfile(f"{place}/{EXTRA}"):  # noqa: PTH113
        raise MachineError(f"{root}: was not written by numaproof (it has no {EXTRA}); only such a tree can be changed")
    with ExitStack() as ending:
        try:
            descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            ending.callback(os.close, descriptor)
            # Two at a time would each undo what the other does.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            raise _refusal(root, error) from error
        before = read(place)
        after = to(before)
        try:
            _replace(place, files(before), files(after))
        except OSError as error:
            raise _refusal(root, error) from error
        return after


def _refusal(root: Path | str, error: OSError) -> MachineError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return MachineError(f"{root}: no space is left on the device; nothing was changed: free some")
    return MachineError(f"{root}: cannot be changed ({error.strerror or error}); nothing was changed")


def _replace(place: str, before: Mapping[str, FileContent], after: Mapping[str, FileContent]) -> None:
    different = {path: content for path, content in after.items() if before.get(path) != content}
    fresh = {path: content for path, content in different.items() if not isinstance(content, Directory)}
    gone = [path for path, content in before.items() if path not in after and not isinstance(content, Directory)]
    directories, old_directories = _directories(after), _directories(before)
    # Beside the files, in the tree itself: a rename must not leave the file system.
    stage = tempfile.mkdtemp(prefix=".change-", dir=place)
    try:
        _stage(stage, fresh)
        with ExitStack() as undo:
            for path in sorted(directories - old_directories):
                os.mkdir(f"{place}/{path}")  # noqa: PTH102
                undo.callback(os.rmdir, f"{place}/{path}")
            # What is new comes before the lists that name it, and what goes leaves after them.
            for index, path in sorted(enumerate(fresh), key=lambda item: item[1] in before):
                target, kept = f"{place}/{path}", f"{stage}/kept{index}"
                if path in before:
                    os.link(target, kept, follow_symlinks=False)
                    os.rename(f"{stage}/{index}", target)  # noqa: PTH104
                    undo.callback(os.rename, kept, target)
                else:
                    os.rename(f"{stage}/{index}", target)  # noqa: PTH104
                    undo.callback(os.unlink, target)
            for index, path in enumerate(gone):
                os.rename(f"{place}/{path}", f"{stage}/gone{index}")  # noqa: PTH104
                undo.callback(os.rename, f"{stage}/gone{index}", f"{place}/{path}")
            for path in sorted(old_directories - directories, reverse=True):
                os.rmdir(f"{place}/{path}")  # noqa: PTH106
                undo.callback(os.mkdir, f"{place}/{path}", 0o755)
            undo.pop_all()
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _stage(stage: str, fresh: Mapping[str, FileContent]) -> None:
    """Write everything that will be needed under numbers, so that what can run out of space has done so before."""
    first: dict[bytes, str] = {}
    for index, content in enumerate(fresh.values()):
        target = f"{stage}/{index}"
        if isinstance(content, Link):
            os.symlink(content.target, target)  # noqa: PTH211
        elif isinstance(content, bytes) and content in first:
            os.link(first[content], target)
        elif isinstance(content, bytes):
            with open(target, "xb") as file:  # noqa: PTH123
                file.write(content)
            first[content] = target


def _directories(found: Mapping[str, FileContent]) -> set[str]:
    """Every directory of a tree: those in which something lies, and the empty ones."""
    directories: set[str] = set()
    for path, content in found.items():
        above = path if isinstance(content, Directory) else posixpath.dirname(path)
        while above and above not in directories:
            directories.add(above)
            above = posixpath.dirname(above)
    return directories
