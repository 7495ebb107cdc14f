"""Tar archives from strangers as data: all of their files, links and directories, or a refusal in one line.

Nothing is unpacked onto the disk, so nothing can be written outside and nothing is left behind.
"""

import bz2
import gzip
import lzma
import posixpath
import stat
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from numaproof.fake_sysfs.content import Directory, FileContent, Link
from numaproof.fake_sysfs.errors import MachineError

_MIB = 1 << 20
_BLOCK = 1 << 16
# The longest thing that tarfile reads at once apart from a file is an extended header: a long name, never megabytes.
_LONGEST_HEADER = _MIB
# As many links as the kernel follows in one path.
_MOST_LINKS = 40

_OPENERS = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
)
_SPECIAL = {tarfile.CHRTYPE: "a character device", tarfile.BLKTYPE: "a block device", tarfile.FIFOTYPE: "a fifo"}


@dataclass(frozen=True, slots=True)
class Limits:
    """How much an archive may hold: a tree of 4096 CPUs fits, a bomb does not."""

    total: int = 256 * _MIB
    member: int = 32 * _MIB
    members: int = 1_000_000
    what: str = "the tree of a machine"  # that has no more


def unpack(
    path: Path,
    limits: Limits = Limits(),
    ignored: str = "",
) -> dict[str, FileContent]:
    """What an archive (.tar, .tar.gz, .tar.bz2, .tar.xz) holds, by path; every link in it leads to a place within.

    A member whose path ends in `ignored` counts as not there.
    """
    try:
        with _plain_tar(path, limits) as stream:
            found = _members(path, stream, limits)
    except OSError as error:
        raise MachineError(f"{path}: cannot be unpacked: {error.strerror or error}") from error
    if not found:
        raise MachineError(f"{path}: is an empty archive; expected one that holds sys/ and proc/")
    if ignored:
        found = {name: content for name, content in found.items() if not f"/{name}".endswith(f"/{ignored}")}
    _check_places(path, found)
    _check_links(path, found)
    return found


def pick(path: Path, limits: Limits, wanted: Callable[[str, int], bool]) -> dict[str, bytes | Link]:
    """The files of an archive that are wanted, by their paths and sizes, and its links; the rest is passed over.

    Nothing is followed and nothing is written, so other members may be whatever they are: devices, names that leave the
    archive. A path loses its leading slash.
    """
    found: dict[str, bytes | Link] = {}
    total = 0
    try:
        with _plain_tar(path, limits) as stream, _archive_in(path, stream) as archive:
            for member in _each(path, archive, limits):
                parts = [part for part in member.name.split("/") if part not in ("", ".")]
                name = "/".join(parts)
                if ".." in parts or "\0" in name or not name:
                    continue
                if member.issym():
                    found[name] = Link(member.linkname)
                elif member.islnk():
                    linked = found.get("/".join(part for part in member.linkname.split("/") if part not in ("", ".")))
                    if isinstance(linked, bytes) and wanted(name, len(linked)):
                        found[name] = linked
                elif member.isreg() and member.size <= limits.member and wanted(name, member.size):
                    total += member.size
                    _check_total(path, total, limits)
                    found[name] = _file_content(archive, member)
            _check_end(path, stream, archive.offset)
    except OSError as error:
        raise MachineError(f"{path}: cannot be unpacked: {error.strerror or error}") from error
    return found


@contextmanager
def _plain_tar(path: Path, limits: Limits) -> Iterator[IO[bytes]]:
    """The archive without its compression, as a seekable file, no longer than the limits allow."""
    # Before it is opened: opening a fifo would wait for its writer.
    if not stat.S_ISREG(path.stat().st_mode):
        raise MachineError(f"{path}: is not a regular file; give a tar archive (.tar, .tar.gz, .tar.bz2, .tar.xz)")
    # Headers and padding come on top of what the members hold.
    most = limits.total + limits.members * 1024
    with path.open("rb") as packed, tempfile.TemporaryFile(prefix="numaproof-") as plain:
        start = packed.read(8)
        packed.seek(0)
        opener = next((opener for magic, opener in _OPENERS if start.startswith(magic)), None)
        source = packed if opener is None else cast("IO[bytes]", opener(packed, "rb"))
        try:
            while block := source.read(_BLOCK):
                plain.write(block)
                if plain.tell() > most:
                    raise MachineError(f"{path}: unpacks to more than {most // _MIB} MiB; that is not {limits.what}")
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise MachineError(f"{path}: is truncated or damaged ({error}); get the archive again") from error
        except OSError as error:
            if error.errno is not None:
                raise
            # Without a number it is not an error of the system: bz2 reports damage this way.
            raise MachineError(f"{path}: is truncated or damaged ({error}); get the archive again") from error
        plain.seek(0)
        yield plain


class _HeaderGuard:
    """A file whose reader cannot be talked into loading gigabytes at once by a forged header."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _LONGEST_HEADER:
            raise tarfile.ReadError(f"a header of {size} bytes")
        return self._file.read(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@contextmanager
def _archive_in(path: Path, stream: IO[bytes]) -> Iterator[tarfile.TarFile]:
    """The archive in a plain file; whatever is wrong with it is one line."""
    try:
        with tarfile.TarFile(fileobj=cast("IO[bytes]", _HeaderGuard(stream)), mode="r") as archive:
            yield archive
    except (tarfile.TarError, EOFError, ValueError) as error:
        # ValueError: what should be a number in a header is not one.
        raise MachineError(
            f"{path}: is not a tar archive, or a damaged one ({error}); get the archive again"
        ) from error


def _each(path: Path, archive: tarfile.TarFile, limits: Limits) -> Iterator[tarfile.TarInfo]:
    """The members, one after the other, no more than the limits allow."""
    count = 0
    while (member := archive.next()) is not None:
        archive.members.clear()  # type: ignore[attr-defined] # else it keeps a million of them
        count += 1
        if count > limits.members:
            raise MachineError(f"{path}: holds more than {limits.members} members; that is not {limits.what}")
        yield member


def _members(path: Path, stream: IO[bytes], limits: Limits) -> dict[str, FileContent]:
    found: dict[str, FileContent] = {}
    same: dict[bytes, bytes] = {}  # most files of a machine say what many others say
    total = 0
    with _archive_in(path, stream) as archive:
        for member in _each(path, archive, limits):
            name = _inside(path, member.name)
            if member.isreg():
                total += member.size
                _check_size(path, member, total, limits)
            if name:
                content = _content(path, archive, member, found)
                found[name] = same.setdefault(content, content) if isinstance(content, bytes) else content
        _check_end(path, stream, archive.offset)
    return found


def _check_size(path: Path, member: tarfile.TarInfo, total: int, limits: Limits) -> None:
    if member.size > limits.member:
        raise MachineError(
            f"{path}: {member.name!r}: has {member.size} bytes; no file of a machine's tree has more than"
            f" {limits.member // _MIB} MiB"
        )
    _check_total(path, total, limits)


def _check_total(path: Path, total: int, limits: Limits) -> None:
    if total > limits.total:
        raise MachineError(f"{path}: unpacks to more than {limits.total // _MIB} MiB; that is not {limits.what}")


def _check_end(path: Path, stream: IO[bytes], offset: int) -> None:
    """An archive ends in a block of zeros; where there is none, something was cut off or overwritten."""
    stream.seek(offset)
    block = stream.read(tarfile.BLOCKSIZE)
    if len(block) < tarfile.BLOCKSIZE or any(block):
        raise MachineError(f"{path}: is truncated or damaged at byte {offset}; get the archive again")


def _inside(path: Path, name: str) -> str:
    """The member's name without `.` parts; "" for the top itself; names that leave the archive are refused."""
    if name.startswith("/"):
        raise MachineError(f"{path}: {name!r}: is an absolute path; an archive must stay within itself")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in name:
        raise MachineError(f"{path}: {name!r}: leaves the archive; an archive must stay within itself")
    return "/".join(parts)


def _content(
    path: Path, archive: tarfile.TarFile, member: tarfile.TarInfo, found: Mapping[str, FileContent]
) -> FileContent:
    if member.isdir():
        return Directory()
    if member.issym():
        return Link(member.linkname)
    if member.islnk():
        linked = found.get(_inside(path, member.linkname))
        if not isinstance(linked, bytes):
            raise MachineError(
                f"{path}: {member.name!r}: is a hard link to {member.linkname!r}, no file of this archive before it"
            )
        return linked
    if not member.isreg():
        kind = _SPECIAL.get(member.type, f"of the unknown type {member.type!r}")
        raise MachineError(f"{path}: {member.name!r}: is {kind}; a machine's tree holds files, directories and links")
    return _file_content(archive, member)


def _file_content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    return b"" if file is None else b"".join(iter(lambda: file.read(_BLOCK), b""))


def _check_places(path: Path, found: Mapping[str, FileContent]) -> None:
    """Nothing lies within a file, or within a link, through which it could be written elsewhere."""
    good = {""}
    for name in found:
        above = posixpath.dirname(name)
        while above not in good:
            if not isinstance(found.get(above, Directory()), Directory):
                raise MachineError(f"{path}: {name!r}: lies within {above!r}, which is not a directory")
            good.add(above)
            above = posixpath.dirname(above)


def _check_links(path: Path, found: Mapping[str, FileContent]) -> None:
    for name, content in found.items():
        if isinstance(content, Link) and not _stays_inside(name, found):
            raise MachineError(f"{path}: {name!r}: is a link to {content.target!r}, which leaves the archive")


def _stays_inside(name: str, found: Mapping[str, FileContent]) -> bool:
    """Follow a link as the kernel would, with the links on its way; one that goes in a circle leads nowhere."""
    here: list[str] = []
    ahead = name.split("/")[::-1]
    followed = 0
    while ahead:
        part = ahead.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not here:
                return False
            here.pop()
            continue
        here.append(part)
        content = found.get("/".join(here))
        if isinstance(content, Link):
            followed += 1
            if content.target.startswith("/"):
                return False
            if followed > _MOST_LINKS:
                return True
            here.pop()
            ahead.extend(content.target.split("/")[::-1])
    return True
