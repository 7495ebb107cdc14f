"""The base of the image: a small Debian, made from the mirror that the host itself uses."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from numaproof.errors import UserError
from numaproof.harness.runtimes.image.host_tool import run_tool
from numaproof.harness.runtimes.local import NamespaceRuntime

SUITE = "bookworm"
PYTHON = "3.11"  # that suite's
INCLUDES = "python3,util-linux,numactl,hwloc-nox"
_APT = Path("/etc/apt")


def make_base(directory: Path) -> Path:
    """A tar of the base's root file system, made below `directory`."""
    archive = directory / "base.tar"
    if os.geteuid() != 0:
        raise UserError("the image's base can be made by root only: run `numaproof image` as root, or `docker build .`")
    if shutil.which("mmdebstrap"):
        command = _by_mmdebstrap(archive)
    elif shutil.which("debootstrap"):
        command = _by_debootstrap(archive, directory / "root")
    else:
        raise UserError(
            "the image's base is made by mmdebstrap or debootstrap, and neither is here: "
            "apt-get install mmdebstrap, or `docker build .`"
        )
    # In a namespace, so that the mounts of a tool that is killed go with it.
    run_tool(NamespaceRuntime(), command, directory, "the image's base cannot be made")
    return archive


def _by_mmdebstrap(archive: Path) -> tuple[str, ...]:
    sources = (str(path) for path in _apt_sources() if list(mirrors(path.read_text())))
    return ("mmdebstrap", "--variant=minbase", f"--include={INCLUDES}", SUITE, str(archive), *sources)


def _by_debootstrap(archive: Path, root: Path) -> tuple[str, ...]:
    mirror = next((one for path in _apt_sources() for one in mirrors(path.read_text())), "")  # empty: the tool's own
    script = """
        debootstrap --variant=minbase "--include=$1" "$2" "$3" ${4:+"$4"} ||
            { cat "$3/debootstrap/debootstrap.log"; exit 1; }
        rm -rf "$3"/var/cache/apt/archives/*.deb "$3"/var/lib/apt/lists/*
        tar --numeric-owner -C "$3" -cf "$5" .
    """
    return ("/bin/sh", "-ec", script, "sh", INCLUDES, SUITE, str(root), mirror, str(archive))


def _apt_sources() -> Iterator[Path]:
    yield from (path for path in (_APT / "sources.list",) if path.is_file())
    yield from sorted((_APT / "sources.list.d").glob("*.list"))
    yield from sorted((_APT / "sources.list.d").glob("*.sources"))


def mirrors(sources: str) -> Iterator[str]:
    """The addresses that a file of apt's takes the suite from: lines `deb ADDRESS SUITE`, or paragraphs of fields."""
    yield from re.findall(rf"^deb(?:\s+\[[^\]]*\])?\s+(\S+)\s+{SUITE}\s", sources, re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n", sources):
        if re.search(rf"^Suites:(?:.*\s)?{SUITE}(?:\s|$)", paragraph, re.MULTILINE):
            yield from re.findall(r"^URIs:\s*(\S+)", paragraph, re.MULTILINE)
