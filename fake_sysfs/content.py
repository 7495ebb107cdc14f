"""What may lie at a path of a tree, and the mapping in which a machine's files are gathered."""

import posixpath
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link."""

    target: str


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory in which nothing lies."""


FileContent: TypeAlias = bytes | Link | Directory

_EMPTY = Directory()


class Gathering:
    """Files by their paths below the tree's root; equal texts become one object, so that they compare by identity."""

    def __init__(self) -> None:
        self.found: dict[str, FileContent] = {}
        self._same: dict[str, bytes] = {}

    def line(self, path: str, value: object) -> None:
        """A file of one line, as nearly all of sysfs is."""
        self.found[path] = self.shared(f"{value}\n")

    def shared(self, text: str) -> bytes:
        """The bytes of a text, the same object for the same text."""
        return self._same.setdefault(text, text.encode())

    def link(self, path: str, to: str) -> None:
        """A relative link at `path` to another path of the tree."""
        self.found[path] = Link(posixpath.relpath(to, posixpath.dirname(path)))

    def directory(self, path: str) -> None:
        self.found.setdefault(path, _EMPTY)
