"""The one image that containers are started from: found by the hash of what goes into it, or built.

Nothing is downloaded inside the build. The base is a Debian made from the host's own mirror; the Python packages are
collected on the host, for the Python of that base.
"""

import fcntl
import hashlib
import io
import os
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import numaproof
from numaproof.errors import UserError
from numaproof.harness.runtimes.docker import build_image, connect, has_image, import_image
from numaproof.harness.runtimes.image.base import INCLUDES, PYTHON, SUITE, make_base
from numaproof.harness.runtimes.image.host_tool import run_tool
from numaproof.harness.runtimes.local import ProcessRuntime
from numaproof.harness.runtimes.scratch import parents, run_directory

_PACKAGE = Path(numaproof.__file__).parent
# In a work tree these are links, which a search does not follow by itself.
_FOLDERS = ("harness", "fake_sysfs", "plugins_mock", "suites")
_BASE = f"numaproof-base:{SUITE}-{hashlib.sha256(INCLUDES.encode()).hexdigest()[:8]}"
_DOCKERFILE = "numaproof/harness/runtimes/image/Dockerfile"


def _nobody(step: str) -> None:
    """Who wants to know no steps."""


def ensure_image(tell: Callable[[str], None] = _nobody) -> str:
    """The tag of an image with exactly our present code, built when the engine does not hold it yet.

    `tell` is told each step of the building, which takes minutes.
    """
    sources = _sources()
    tag = f"numaproof:{_content_hash(sources)}"
    client = connect()
    try:
        with _one_at_a_time():
            if not has_image(client, tag):
                tell(f"building the image {tag}, once for this version of numaproof; it takes minutes")
                if not has_image(client, _BASE):
                    with run_directory("base", on_disk=True) as directory:
                        tell("step 1 of 3: a small Debian, from this host's mirror")
                        import_image(client, make_base(directory), _BASE)
                with run_directory("image", on_disk=True) as directory:
                    tell("step 2 of 3: Python packages")
                    context = _context(sources, _collect_packages(directory))
                    tell("step 3 of 3: the image of both, with our code")
                    build_image(client, context, tag, {"BASE": _BASE})
                tell("the image is built")
    except OSError as error:
        raise UserError(
            f"the image cannot be made: {error}; TMPDIR names another directory for what it is made of"
        ) from error
    finally:
        client.close()
    return tag


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Of several runs that need the same image the first builds it, the others wait and find it."""
    with (parents()[-1] / f".numaproof-image-{os.geteuid()}").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _sources() -> dict[str, bytes]:
    """Path -> content of our code; read once, so that the hash and the image cannot differ while somebody edits."""
    within = [path for folder in _FOLDERS for path in sorted((_PACKAGE / folder).rglob("*"))]
    return {
        str(path.relative_to(_PACKAGE.parent)): path.read_bytes()
        for path in (*sorted(_PACKAGE.iterdir()), *within)
        if path.is_file() and "__pycache__" not in path.parts
    }


def _requirements() -> list[str]:
    """What the installed numaproof says it needs, without the extras."""
    return sorted(text for text in metadata.requires("numaproof") or [] if "extra ==" not in text)


def _content_hash(sources: dict[str, bytes]) -> str:
    summed = hashlib.sha256(f"{_BASE}{_requirements()}".encode())
    for name, content in sources.items():
        summed.update(f"{name}\0{len(content)}\0".encode() + content)
    return summed.hexdigest()[:16]


def _collect_packages(directory: Path) -> Path:
    """Our dependencies, unpacked for the base's Python, whatever Python the host has."""
    packages = directory / "packages"
    machine = os.uname().machine
    platforms = [f"--platform=manylinux{version}_{machine}" for version in ("2014", "_2_17", "_2_28", "_2_34", "_2_36")]
    command = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    wanted = ("--only-binary=:all:", f"--python-version={PYTHON}", "--implementation=cp", *platforms, *_requirements())
    told = "the image's Python packages cannot be collected"
    run_tool(ProcessRuntime(), (*command, "--target", str(packages), *wanted), directory, told)
    return packages


def _context(sources: dict[str, bytes], packages: Path) -> bytes:
    """The packed build context: the Dockerfile, our code, and the packages."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in {"Dockerfile": sources[_DOCKERFILE], **sources}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        archive.add(packages, arcname="packages", filter=_owned_by_root)
    return packed.getvalue()


def _owned_by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member
