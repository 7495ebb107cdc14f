"""Reading the small files of a tree, sparingly: a content with many names is read once."""

# A large machine has a quarter of a million files: plain strings and system calls, no pathlib.
# ruff: noqa: PTH115, PTH116, PTH208

import os
import re
from collections.abc import Callable
from typing import TypeVar

from numaproof.fake_sysfs.lists import parse_cpulist, parse_mask

T = TypeVar("T")
_NUMBER = re.compile(r"-?[0-9]{1,20}|0x[0-9a-fA-F]{1,16}")


class Tree:
    """Files below a `sys` directory (and `proc` beside it), by relative path; what cannot be read counts as missing."""

    def __init__(self, sys: str, proc: str | None) -> None:
        self.sys = sys
        self.proc = proc
        self._by_inode: dict[tuple[int, int], str | None] = {}
        self._lists: dict[str, tuple[int, ...]] = {}
        self._masks: dict[str, tuple[int, ...]] = {}

    def text(self, path: str) -> str | None:
        """What a file below `sys` says, without the blanks and NULs around it; None when it cannot be read."""
        return self._text(f"{self.sys}/{path}")

    def proc_text(self, name: str) -> str | None:
        """What a file below `proc` says."""
        return None if self.proc is None else self._text(f"{self.proc}/{name}")

    def number(self, path: str) -> int | None:
        """The number (decimal, or hexadecimal after 0x) in a file; None when there is none."""
        return whole_number(self.text(path))

    def ids(self, path: str) -> tuple[int, ...] | None:
        """The ids in a file that holds a list such as `0-3,8`; None when there is none."""
        return _tried(lambda text: _kept(self._lists, text, parse_cpulist), self.text(path))

    def mask(self, path: str) -> tuple[int, ...] | None:
        """The ids in a file that holds a mask such as `0000,ffffffff`; None when there is none."""
        return _tried(lambda text: _kept(self._masks, text, parse_mask), self.text(path))

    def bytes(self, path: str) -> bytes:
        """The first bytes of a binary file, at most a page; empty when it cannot be read."""
        return _read(f"{self.sys}/{path}", 4096) or b""

    def names(self, path: str) -> list[str]:
        """The names in a directory, in order; none when it cannot be listed."""
        try:
            return sorted(os.listdir(f"{self.sys}/{path}"))
        except OSError:
            return []

    def numbered(self, path: str, prefix: str) -> list[int]:
        """The numbers N of the entries `prefixN` of a directory, ascending."""
        tails = [name[len(prefix) :] for name in self.names(path) if name.startswith(prefix)]
        return sorted({int(tail) for tail in tails if tail.isascii() and tail.isdigit()})

    def target(self, path: str) -> str | None:
        """Where a symbolic link points to, as it is written; None when there is none."""
        try:
            return os.readlink(f"{self.sys}/{path}")
        except OSError:
            return None

    def _text(self, path: str) -> str | None:
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return None
        if status.st_nlink < 2:
            return _decoded(_read(path))
        inode = (status.st_dev, status.st_ino)
        if inode not in self._by_inode:
            self._by_inode[inode] = _decoded(_read(path))
        return self._by_inode[inode]


def whole_number(text: str | None) -> int | None:
    """A number of at most 64 bits, decimal or hexadecimal after 0x; None for anything else."""
    if text is None or not _NUMBER.fullmatch(text):
        return None
    return int(text, 16) if text[:2] == "0x" else int(text)


def _decoded(content: bytes | None) -> str | None:
    return None if content is None else content.decode(errors="replace").strip("\0 \t\r\n")


def _read(path: str, size: int = 1 << 24) -> bytes | None:
    # O_NONBLOCK: whatever a strange tree may hold, reading it does not wait.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    parts = []
    try:
        while size > 0 and (part := os.read(descriptor, min(size, 65536))):
            parts.append(part)
            size -= len(part)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return b"".join(parts)


def _tried(parse: Callable[[str], T], text: str | None) -> T | None:
    if text is None:
        return None
    try:
        return parse(text)
    except ValueError:
        return None


def _kept(known: dict[str, T], text: str, parse: Callable[[str], T]) -> T:
    if text not in known:
        known[text] = parse(text)
    return known[text]
