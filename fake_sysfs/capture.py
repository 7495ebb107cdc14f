"""A live host as a snapshot: a tarball that numaproof imports and, unpacked, hwloc reads (`HWLOC_FSROOT`)."""

import io
import os
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from numaproof.fake_sysfs.collect import collect
from numaproof.fake_sysfs.content import FileContent, Link
from numaproof.fake_sysfs.errors import MachineError

_MODES: Mapping[str, Literal["w", "w:gz", "w:bz2", "w:xz"]] = {
    ".tar": "w",
    ".tar.gz": "w:gz",
    ".tgz": "w:gz",
    ".tar.bz2": "w:bz2",
    ".tar.xz": "w:xz",
}


def capture(target: Path, root: Path = Path("/")) -> int:
    """Record what `root`'s sys and proc say of the machine as a tarball, whole or not at all; how many files it has."""
    suffix = next((suffix for suffix in _MODES if target.name.endswith(suffix) and target.name != suffix), None)
    if suffix is None:
        raise MachineError(f"{target}: no kind of snapshot has this name; end it in {', '.join(_MODES)}")
    if os.path.lexists(target):
        raise MachineError(f"{target}: exists already; remove it or choose another name")
    found = collect(str(root))
    if not any(path.startswith("sys/devices/system/cpu/") for path in found):
        raise MachineError(f"{root}: has no sys/devices/system/cpu; a snapshot is taken of a mounted sysfs")
    try:
        _pack(found, target, target.name.removesuffix(suffix), _MODES[suffix])
    except OSError as error:
        raise MachineError(f"{target}: cannot be written: {error.strerror or error}") from error
    return len(found)


def _pack(
    found: Mapping[str, FileContent], target: Path, top: str, mode: Literal["w", "w:gz", "w:bz2", "w:xz"]
) -> None:
    descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    try:
        # Packed in memory: a tarfile that meets a full disk leaves its compressor half closed.
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode=mode) as archive:
            for path, content in sorted(found.items()):
                member, data = _member(f"{top}/{path}", content)
                archive.addfile(member, io.BytesIO(data))
        with open(descriptor, "wb", closefd=True) as file:  # noqa: PTH123 (a descriptor)
            file.write(packed.getbuffer())
        Path(temporary).chmod(0o644)
        Path(temporary).rename(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _member(name: str, content: FileContent) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    if isinstance(content, bytes):
        member.size = len(content)
        return member, content
    member.type = tarfile.DIRTYPE
    member.mode = 0o755
    if isinstance(content, Link):
        member.type = tarfile.SYMTYPE
        member.linkname = content.target
    return member, b""
