"""The files of a directory or an archive that an operator copied: found and read with bounds, nothing opened that is
not a regular file, nothing followed that leads out.
"""

import os
import posixpath
import stat
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from numaproof.errors import UserError
from numaproof.fake_sysfs.archive import Limits, pick
from numaproof.fake_sysfs.content import Link
from numaproof.fake_sysfs.paste import LARGEST, shown

_MIB = 1 << 20
_LIMITS = Limits(total=256 * _MIB, member=LARGEST, members=100_000, what="a part of a kubelet's root")
_OTHERS = 32 * _MIB  # of files of an archive whose names say nothing
LARGEST_OTHER = _MIB
_MOST_ENTRIES = 20_000  # of a directory and all below it
_DEEPEST = 12
_MOST_LINKS = 8  # followed in one path
_BLOCK = 1 << 16
_MOST_NAMED = 3  # names that a note lists
# Volumes, secrets and sockets: a kubelet keeps nothing there that matters here, but very much of it.
_NEVER_ENTERED = frozenset(("pods", "pki", "plugins", "plugins_registry", "pod-resources", "volumeplugins", "seccomp"))
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")
_OTHER_ARCHIVES = (
    (b"PK\x03\x04", "a zip archive"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd"),
    (b"7z\xbc\xaf", "a 7z archive"),
)


@dataclass(frozen=True, slots=True)
class Gathered:
    """Files by their paths, with their sizes; those of a directory are read when they are asked for."""

    where: str
    sizes: Mapping[str, int]
    content: Callable[[str], bytes]  # an OSError if it cannot be read
    notes: tuple[str, ...]

    def place(self, name: str) -> str:
        """What a message about a file begins with."""
        told = "".join(character if character.isprintable() else "?" for character in name)
        return f"{self.where}/{told if len(told) <= 120 else '...' + told[-117:]}"


def gather(path: str, is_known: Callable[[str], bool]) -> Gathered | bytes:
    """The files of a directory or an archive, or what a single other file holds; a UserError if there is nothing.

    Files of an archive count if their name is known or they are small.
    """
    try:
        mode = Path(path).stat().st_mode
        if stat.S_ISDIR(mode):
            return _directory(path)
        if not stat.S_ISREG(mode):
            raise UserError(f"{path}: is neither a directory nor a regular file; give a copy of the kubelet's root")
        start = _content(path, 512)
        if start.startswith(_PACKED) or start[257:262] == b"ustar" or path.endswith(".tar"):
            return _archive(path, is_known)
        for magic, what in _OTHER_ARCHIVES:
            if start.startswith(magic):
                raise UserError(
                    f"{path}: is {what}; give a directory or a tar archive (.tar, .tar.gz, .tar.bz2, .tar.xz)"
                )
        content = _content(path, LARGEST + 1)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if len(content) > LARGEST:
        raise UserError(f"{path}: is larger than {LARGEST >> 20} MiB; give the part that matters")
    return content


def _archive(path: str, is_known: Callable[[str], bool]) -> Gathered:
    others = 0

    def wanted(name: str, size: int) -> bool:
        nonlocal others
        if _NEVER_ENTERED & set(name.split("/")[:-1]):
            return False
        if is_known(name):
            return True
        others += size
        return size <= LARGEST_OTHER and others <= _OTHERS

    found = pick(Path(path), _LIMITS, wanted)
    files = {name: content for name, content in found.items() if isinstance(content, bytes)}
    left = []
    for name, link in found.items():
        if isinstance(link, Link) and name not in files:
            target = _target(name, found)
            if isinstance(content := found.get(target or ""), bytes):
                files[name] = content
            elif target is None:
                left.append(name)
    sizes = {name: len(content) for name, content in files.items()}
    return Gathered(path, sizes, files.__getitem__, _left_note(path, left))


def _target(name: str, found: Mapping[str, bytes | Link]) -> str | None:
    """The path that a link of an archive leads to; None: out of it, or in a circle."""
    here, ahead, followed = "", name.split("/")[::-1], 0
    while ahead:
        here = posixpath.normpath(posixpath.join(here, ahead.pop()))
        if here.startswith(("..", "/")):
            return None
        if isinstance(link := found.get(here), Link):
            followed += 1
            if followed > _MOST_LINKS or link.target.startswith("/"):
                return None
            here = posixpath.dirname(here)
            ahead += link.target.split("/")[::-1]
    return here


def _directory(path: str) -> Gathered:
    top = os.path.realpath(path)
    sizes: dict[str, int] = {}
    real: dict[str, str] = {}
    left: list[str] = []
    notes: list[str] = []
    for count, (name, entry) in enumerate(_entries(path, notes)):
        if count >= _MOST_ENTRIES:
            notes.append(f"{path}: has more than {_MOST_ENTRIES} entries; the others are not looked at")
            break
        try:
            place = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
            if entry.is_symlink() and not place.startswith(top.rstrip("/") + "/"):
                left.append(name)
                continue
            status = os.lstat(place)
        except OSError:
            continue  # gone meanwhile, or a link to nothing
        if stat.S_ISREG(status.st_mode):
            sizes[name], real[name] = status.st_size, place
    return Gathered(path, sizes, lambda name: _content(real[name], LARGEST + 1), (*notes, *_left_note(path, left)))


def _entries(path: str, notes: list[str]) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    """All entries at and below a directory, the nearest first."""
    ahead = deque([("", 0)])
    while ahead:
        below, depth = ahead.popleft()
        try:
            with os.scandir(Path(path, below)) as scan:
                entries = sorted(islice(scan, _MOST_ENTRIES + 1), key=lambda entry: entry.name)
        except OSError as error:
            notes.append(f"{Path(path, below)}: cannot be read ({error.strerror}); what lies there is not known")
            continue
        for entry in entries:
            name = f"{below}/{entry.name}" if below else entry.name
            yield name, entry
            if entry.is_dir(follow_symlinks=False) and entry.name not in _NEVER_ENTERED and depth < _DEEPEST:
                ahead.append((name, depth + 1))


def _content(path: str, most: int) -> bytes:
    """At most so many bytes of a regular file; never waits for one that something else has become."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "is not a regular file")
        found = bytearray()
        while len(found) < most and (block := os.read(descriptor, min(_BLOCK, most - len(found)))):
            found += block
        return bytes(found)
    finally:
        os.close(descriptor)


def _left_note(path: str, left: list[str]) -> tuple[str, ...]:
    if not left:
        return ()
    few = ", ".join(shown(name) for name in left[:_MOST_NAMED])
    more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
    return (f"{path}: links that lead out of it are not followed: {few}{more}",)
