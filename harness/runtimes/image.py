"""The one image that containers are started from: found by the hash of what goes into it, or built.

Nothing is downloaded inside the build. The base is a Debian made from the host's own mirror; the Python packages are
collected on the host, for the Python of that base.
"""

import fcntl
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from harness.errors import UserError
from harness.runtimes.docker import build_image, connect, has_image, import_image
from harness.runtimes.places import parents, run_directory

_SOURCES = Path(__file__).parent.parent.parent
_PACKAGES = ("harness", "fake_sysfs", "plugins_mock", "suites")
_SUITE = "bookworm"
_BASE_PYTHON = "3.11"  # that suite's
_BASE_INCLUDES = "python3,util-linux,numactl,hwloc-nox"
_BASE = f"numaproof-base:{_SUITE}"
_DOCKERFILE = Path(__file__).with_name("Dockerfile")


def ensure_image() -> str:
    """The tag of an image with exactly our present code, built when the engine does not hold it yet."""
    tag = f"numaproof:{_content_hash()}"
    client = connect()
    try:
        with _one_at_a_time():
            if not has_image(client, tag):
                if not has_image(client, _BASE):
                    with run_directory("base", on_disk=True) as place:
                        import_image(client, _made_base(place), _BASE)
                with run_directory("image", on_disk=True) as place:
                    build_image(client, _context(_collected_packages(place)), tag, {"BASE": _BASE})
    finally:
        client.close()
    return tag


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Of several runs that need the same image the first builds it, the others wait and find it."""
    with (parents()[-1] / f".numaproof-image-{os.geteuid()}").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _files() -> Iterator[Path]:
    for package in _PACKAGES:
        for path in sorted((_SOURCES / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def _requirements() -> list[str]:
    """What the installed numaproof says it needs, without the extras."""
    return sorted(text for text in metadata.requires("numaproof") or [] if "extra ==" not in text)


def _content_hash() -> str:
    summed = hashlib.sha256(f"{_BASE_INCLUDES}{_BASE}{_requirements()}".encode())
    for path in _files():
        summed.update(f"{path.relative_to(_SOURCES)}\0".encode())
        summed.update(path.read_bytes())
    return summed.hexdigest()[:16]


def _made_base(place: Path) -> Path:
    """A small Debian as a tar, from the mirror that the host itself uses."""
    if shutil.which("mmdebstrap") is None or os.geteuid() != 0:
        raise UserError(
            "the image's base is made by mmdebstrap as root: apt-get install mmdebstrap, or `docker build .`"
        )
    archive = place / "base.tar"
    mirrors = [path for path in _apt_sources() if _SUITE in path.read_text()]
    command = ["mmdebstrap", "--variant=minbase", f"--include={_BASE_INCLUDES}", _SUITE, str(archive)]
    done = subprocess.run([*command, *map(str, mirrors)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UserError(f"mmdebstrap cannot make the image's base: {done.stderr.strip().splitlines()[-1]}")
    return archive


def _apt_sources() -> Iterator[Path]:
    apt = Path("/etc/apt")
    yield from (path for path in (apt / "sources.list",) if path.is_file())
    yield from sorted((apt / "sources.list.d").glob("*.list"))
    yield from sorted((apt / "sources.list.d").glob("*.sources"))


def _collected_packages(place: Path) -> Path:
    """Our dependencies, unpacked for the base's Python, whatever Python the host has."""
    packages = place / "packages"
    machine = os.uname().machine
    platforms = [f"--platform=manylinux{version}_{machine}" for version in ("2014", "_2_17", "_2_28", "_2_34", "_2_36")]
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--target",
        str(packages),
    ]
    command += ["--only-binary=:all:", f"--python-version={_BASE_PYTHON}", "--implementation=cp", *platforms]
    done = subprocess.run([*command, *_requirements()], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UserError(f"the image's Python packages cannot be collected: {done.stderr.strip().splitlines()[-1]}")
    return packages


def _context(packages: Path) -> bytes:
    """The packed build context: the Dockerfile, our code, and the packages."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(_DOCKERFILE, arcname="Dockerfile", filter=_owned_by_root)
        for path in _files():
            archive.add(path, arcname=str(path.relative_to(_SOURCES)), filter=_owned_by_root)
        archive.add(packages, arcname="packages", filter=_owned_by_root)
    return packed.getvalue()


def _owned_by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member
