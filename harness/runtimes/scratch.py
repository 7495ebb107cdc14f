"""Directories of a run: private, short-named, gone with the run, and found again when a killed run left them."""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "numaproof-"
_LOCK = ".lock"
_NEW_LOCK = f"{_LOCK}-new"  # until it is held
_QUIET_SECONDS = 60
_REMOVE_SECONDS = 30


def parents() -> tuple[Path, ...]:
    """Where runs make their directories: memory first, because state and sockets are small and many."""
    return tuple(
        Path(directory) for directory in ("/dev/shm", tempfile.gettempdir()) if os.access(directory, os.W_OK | os.X_OK)
    )


@contextmanager
def run_directory(kind: str, *, on_disk: bool = False) -> Iterator[Path]:
    """A new directory of ours; as long as we live it is locked, which tells others that it is in use."""
    parent = parents()[-1 if on_disk else 0]
    directory = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{kind}-", dir=parent))
    # Locked before it bears the name that others look for: there is no moment at which it seems abandoned.
    lock = os.open(directory / _NEW_LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    (directory / _NEW_LOCK).rename(directory / _LOCK)
    try:
        yield directory
    finally:
        _remove(directory)
        os.close(lock)


@contextmanager
def shared_directory(name: str) -> Iterator[Path]:
    """The directory of ours that all who give this name share, made by the first; in use as long as one of them lives.

    `remove_shared` takes it away; where nobody is left to do that, the next sweep does.
    """
    directory = _shared(name)
    lock = _joined(directory)
    try:
        yield directory
    finally:
        os.close(lock)


def remove_shared(name: str) -> None:
    """Remove a shared directory, if anybody made it."""
    _remove(_shared(name))


def _shared(name: str) -> Path:
    return parents()[0] / f"{_PREFIX}{name}"


def _joined(directory: Path) -> int:
    """Make a directory if it is not there, and hold its lock together with others; the answer is the lock."""
    while True:
        directory.mkdir(mode=0o700, exist_ok=True)
        # A sweep may come before we hold the lock, and take all away: then once more.
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(directory / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_SH)
            if os.fstat(lock).st_nlink:
                return lock
            os.close(lock)


def remove_stale() -> list[Path]:
    """Remove the directories whose runs are gone, however they ended; the answer is what was removed."""
    removed = []
    for parent in parents():
        for directory in parent.glob(f"{_PREFIX}*"):
            with contextlib.suppress(OSError), _abandoned(directory):
                _remove(directory)
                removed += [] if directory.exists() else [directory]
            with contextlib.suppress(OSError):
                if _never_locked(directory):
                    (directory / _NEW_LOCK).unlink(missing_ok=True)
                    directory.rmdir()
                    removed.append(directory)
    return removed


def _never_locked(directory: Path) -> bool:
    """Whether a directory has been empty for long: its owner was killed just when it made, or removed, it."""
    quiet = time.time() - directory.stat().st_mtime > _QUIET_SECONDS
    return quiet and {path.name for path in directory.iterdir()} <= {_NEW_LOCK}


def _remove(directory: Path) -> None:
    """Remove a directory, though a process that is just being killed may still write there.

    The lock goes last: what cannot be removed in time stays recognisable as ours, and the next sweep takes it.
    """
    end = time.monotonic() + _REMOVE_SECONDS
    while directory.exists() and time.monotonic() < end:
        for entry in _entries(directory):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    os.unlink(entry)  # noqa: PTH108 (a DirEntry, not a Path)
        if _entries(directory):
            time.sleep(0.01)
            continue
        (directory / _LOCK).unlink(missing_ok=True)
        try:
            directory.rmdir()
        except OSError:
            # Somebody wrote once more (or it is gone already): keep it recognisable, and try again.
            with contextlib.suppress(OSError):
                (directory / _LOCK).touch(mode=0o600)


def _entries(directory: Path) -> "list[os.DirEntry[str]]":
    """What lies in a directory besides its lock; nothing if it is gone."""
    try:
        with os.scandir(directory) as entries:
            return [entry for entry in entries if entry.name != _LOCK]
    except OSError:
        return []


@contextmanager
def _abandoned(directory: Path) -> Iterator[None]:
    """Hold the lock of a directory whose owner is gone; OSError when it is in use, or not ours."""
    lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)
