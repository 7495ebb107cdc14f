"""What the user says about the subject's surroundings: runtime, binds, environment, device nodes."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numaproof.errors import UserError
from numaproof.harness.runtimes.program import Bind, DeviceNode, Runtime
from numaproof.harness.runtimes.scratch import run_directory
from numaproof.harness.runtimes.select import select_local_runtime

VERSION_LABEL = "org.opencontainers.image.version"


@dataclass(frozen=True, slots=True)
class Image:
    """What an image says of itself."""

    reference: str = ""  # as the user named it, with its digest; empty: there is no image
    command: tuple[str, ...] = ()
    version: str = ""  # by its label; empty: it has none


_NO_IMAGE = Image()


def runtime_for(name: str, image: str | None, ending: ExitStack) -> tuple[Runtime, Image]:
    """The runtime that a name stands for, and what an image says of itself."""
    if image:
        if name not in {"auto", "docker"}:
            raise UserError(f"--runtime {name}: an image runs with docker; leave --runtime out")
        return _docker(image, ending)
    return select_local_runtime(name), _NO_IMAGE


def _docker(image: str, ending: ExitStack) -> tuple[Runtime, Image]:
    from numaproof.harness.runtimes.docker import DockerRuntime, connect, has_image  # noqa: PLC0415 (the SDK takes long to import)

    client = connect()
    try:
        if not has_image(client, image):
            raise UserError(f"--image {image}: the engine does not hold it; pull or build it first")
        told = image_facts(image, client.images.get(image).attrs)
    finally:
        client.close()
    runtime = DockerRuntime(image, ending.enter_context(run_directory("check")))
    ending.callback(runtime.close)
    return runtime, told


def image_facts(name: str, attributes: Mapping[str, Any]) -> Image:
    """What an engine tells of an image; its digest in a registry if it came from one, else that of its content."""
    config = attributes["Config"]
    digests = attributes.get("RepoDigests") or ()
    digest = digests[0].partition("@")[2] if digests else attributes["Id"]
    return Image(
        f"{name} ({digest})",
        (*(config.get("Entrypoint") or ()), *(config.get("Cmd") or ())),
        (config.get("Labels") or {}).get(VERSION_LABEL, ""),
    )


def refuse_unshown(runtime: Runtime, options: Mapping[str, object]) -> None:
    """Refuse options by which a program is shown something, where the runtime shows programs nothing."""
    if runtime.name != "process":
        return
    for option, value in options.items():
        if value:
            told = "the process runtime shows a plugin nothing but this host"
            raise UserError(f"{option} {value}: {told}; take --runtime namespace or docker, or leave {option} out")


def parse_bind(text: str) -> Bind:
    """`SOURCE:TARGET` or `SOURCE:TARGET:ro`."""
    source, _, rest = text.partition(":")
    target, _, how = rest.partition(":")
    if not target.startswith("/") or how not in {"", "ro", "rw"}:
        raise UserError(f"--bind {text}: not of the form SOURCE:TARGET[:ro] with an absolute target")
    if not Path(source).exists():
        raise UserError(f"--bind {text}: {source} does not exist")
    return Bind(Path(source).absolute(), target, how == "ro")


def parse_environment(text: str) -> tuple[str, str]:
    """`NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UserError(f"--env {text}: not of the form NAME=VALUE")
    return name, value


def parse_device_node(text: str) -> DeviceNode:
    """`SOURCE` or `SOURCE:TARGET`."""
    source, _, target = text.partition(":")
    if not Path(source).exists():
        raise UserError(f"--device {text}: {source} does not exist")
    if target and not target.startswith("/"):
        raise UserError(f"--device {text}: the target {target!r} is not an absolute path")
    return DeviceNode(source, target or source)
