"""Programs in containers of a Docker engine (or of Podman's socket): the only file that knows the Docker SDK."""

import contextlib
import io
import os
import signal
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

import docker
import docker.errors
import requests.exceptions
from docker.types import Mount

from numaproof.errors import UserError
from numaproof.harness.runtimes.engine.contexts import engine_address
from numaproof.harness.runtimes.mounts import container_binds
from numaproof.harness.runtimes.program import Bind, CannotStartError, Finished, OutputLine, Program
from numaproof.harness.waiting import WaitTimeoutError, wait_until

LABEL = "numaproof.run"  # its value names the run's directory, by which an abandoned container is known
_MOST_PROCESSES = 4096  # in a container, threads included: a program that forks without end hurts itself alone
_API_SECONDS = 120  # a busy engine answers late, not wrongly


def connect(host: str | None = None) -> docker.DockerClient:
    """A client of the engine at an address; None: where DOCKER_HOST, or else the current context, says."""
    where = host or engine_address(os.environ)
    try:
        _knock(where)
        client = docker.DockerClient(base_url=where, timeout=_API_SECONDS)
        client.ping()
    except (docker.errors.DockerException, requests.exceptions.RequestException, OSError, ValueError) as error:
        raise UserError(
            f"no Docker engine answers at {where} ({_reason(error)}); start one, or take --runtime namespace"
        ) from error
    return client


def _knock(where: str) -> None:
    """OSError when nobody listens at a unix socket: the SDK would find out too, but leave its connection open."""
    if where.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(where.removeprefix("unix://"))


def _reason(error: BaseException) -> str:
    """What the system said at the bottom of a library's error, or else all of it."""
    found = _one_line(error)
    below: BaseException | None = error
    while below is not None:
        if isinstance(below, OSError) and below.strerror:
            found = below.strerror
        below = below.__cause__ or below.__context__
    return found


def _one_line(what: object) -> str:
    return " ".join(str(what).split())


def engine_answers(host: str | None = None) -> bool:
    """Whether an engine answers at an address; None: where the environment or the context says."""
    try:
        connect(host).close()
    except UserError:
        return False
    return True


def build_image(client: docker.DockerClient, context: bytes, tag: str, arguments: Mapping[str, str]) -> None:
    """Build an image from a packed build context, with no network in its steps."""
    try:
        client.images.build(
            fileobj=io.BytesIO(context),
            custom_context=True,
            tag=tag,
            buildargs=dict(arguments),
            network_mode="none",
            rm=True,
            forcerm=True,
            labels={LABEL: "image"},
        )
    except docker.errors.BuildError as error:
        # What the failed step printed: Podman's error itself says no more than that it failed.
        printed = "".join(line.get("stream", "") for line in error.build_log)
        raise UserError(f"the image {tag} cannot be built: {_one_line(error)}; {_one_line(printed[-500:])}") from error
    except (docker.errors.APIError, requests.exceptions.RequestException) as error:
        raise UserError(f"the image {tag} cannot be built: {_one_line(error)}") from error


def has_image(client: docker.DockerClient, tag: str) -> bool:
    """Whether the engine holds an image."""
    try:
        client.images.get(tag)
    except docker.errors.ImageNotFound:
        return False
    return True


def import_image(client: docker.DockerClient, archive: Path, tag: str) -> None:
    """Make an image of a root file system's tar."""
    try:
        # The tag as part of the name: given apart from it, Podman 4.3 forgets it.
        answer = client.api.import_image_from_file(str(archive), repository=tag)
    except (docker.errors.APIError, requests.exceptions.RequestException) as error:
        answer = _one_line(error)
    # An engine may begin its answer well and fail afterwards (a full disk, say): what counts is what it holds then.
    if not has_image(client, tag):
        raise UserError(f"the engine cannot import the image's base {tag}: {_one_line(answer)}")


def reap_abandoned() -> list[str]:
    """Remove our containers whose runs are gone from the engine in use; the answer is their names."""
    client = connect()
    try:
        return reap_containers(client)
    finally:
        client.close()


def reap_containers(client: docker.DockerClient) -> list[str]:
    """Remove our containers whose runs are gone; the answer is their names."""
    removed = []
    for container in client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True):
        if not Path(container.labels[LABEL]).exists():
            with contextlib.suppress(docker.errors.APIError, WaitTimeoutError):
                _remove(container)
                removed.append(str(container.name))
    return removed


def _remove(container: Any) -> None:
    """End and remove a container; it is gone afterwards, whoever else removes it at the same time."""

    def gone() -> bool:
        try:
            container.remove(force=True)
        except docker.errors.NotFound:
            return True
        except docker.errors.APIError as error:
            if error.status_code != HTTPStatus.CONFLICT:  # a conflict: somebody is just removing it
                raise
            return False
        return True

    wait_until(gone, timeout=_API_SECONDS, what=f"the end of the container {container.name}", interval=0.1)


class DockerRuntime:
    """Containers without network, privileges or a writable root; `run` is the directory of the run that owns them."""

    name = "docker"

    def __init__(self, image: str, run: Path) -> None:
        self._client = connect()
        self._image = image
        self._run = run

    def close(self) -> None:
        """Release the connections."""
        self._client.close()

    def start(self, program: Program) -> "ContainerProgram":
        """Start a program in a container of its own."""
        try:
            container = self._client.containers.create(
                self._image,
                entrypoint=list(program.command),
                environment=dict(program.environment),
                working_dir=program.directory or "/",
                mounts=[_mount(bind) for bind in (*container_binds(program.machine), *program.binds)],
                devices=[f"{one.source}:{one.target}:{one.permissions}" for one in program.devices],
                cpuset_cpus=",".join(map(str, program.cpus)) or None,
                cpuset_mems=",".join(map(str, program.memory_nodes)) or None,
                network_mode="none",
                read_only=True,
                tmpfs={"/tmp": "mode=1777", "/run": "mode=755"},
                cap_drop=["ALL"],
                security_opt=["no-new-privileges:true"],
                pids_limit=_MOST_PROCESSES,
                user=f"{os.geteuid()}:{os.getegid()}",
                labels={LABEL: str(self._run)},
            )
        except docker.errors.APIError as error:
            raise CannotStartError(f"the container cannot be made: {error.explanation or error}") from error
        running = ContainerProgram(self._client, container)
        try:
            container.start()
        except BaseException as error:  # a Ctrl-C too: what was made must not stay
            running.__exit__()
            if not isinstance(error, docker.errors.APIError):
                raise
            raise CannotStartError(f"cannot start {program.command[0]}: {error.explanation or error}") from error
        return running


class ContainerProgram:
    """A program in a container; see `Running`."""

    def __init__(self, client: docker.DockerClient, container: Any) -> None:
        self._client = client
        self._container = container

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        _remove(self._container)

    def poll(self) -> int | None:
        """Its exit code, 128 + n after signal n; None: it still runs."""
        try:
            state = self._client.api.inspect_container(self._container.id)["State"]
        except docker.errors.NotFound:
            return 128 + signal.SIGKILL  # somebody removed it, with force
        return int(state["ExitCode"]) if state["Status"] in ("exited", "dead", "stopped") else None

    def terminate(self) -> None:
        """Ask it to end (SIGTERM); nothing happens when it has ended already."""
        with contextlib.suppress(docker.errors.APIError):
            self._container.kill("SIGTERM")

    def wait(self, timeout: float) -> int:
        """Its exit code, once it has ended; raises WaitTimeoutError when that takes longer."""
        wait_until(lambda: self.poll() is not None, timeout=timeout, what="the end of the container", interval=0.05)
        code = self.poll()
        assert code is not None
        return code

    def output(self) -> str:
        """What it has printed so far, both streams."""
        try:
            printed: bytes = self._container.logs(stdout=True, stderr=True, tail=5000)
        except docker.errors.NotFound:
            return ""  # somebody removed it
        return printed.decode(errors="replace")

    def lines(self) -> list[OutputLine]:
        """The same, line by line, each with its time."""
        try:
            printed: bytes = self._container.logs(stdout=True, stderr=True, tail=5000, timestamps=True)
        except docker.errors.NotFound:
            return []
        return timed_lines(printed, time.time() - time.monotonic())

    def execute(self, command: Sequence[str], timeout: float = 60) -> Finished:
        """Run a command where the program runs, and wait for its end."""
        api = self._client.api
        made = api.exec_create(self._container.id, list(command))
        # Not api.exec_start: it takes over the connection, and loses what came together with the answer's header.
        url = f"{api.base_url}/v{api.api_version}/exec/{made['Id']}/start"
        answer = api.post(url, json={"Detach": False, "Tty": False}, timeout=timeout)
        answer.raise_for_status()
        output = b"".join(_frames(answer.content))
        # The engine may know the code a moment later than the end of the output; until then it is null.

        def codes() -> list[int]:
            return [code for code in [api.exec_inspect(made["Id"])["ExitCode"]] if code is not None]

        (code,) = wait_until(codes, timeout=timeout, what="the command's exit code")
        return Finished(code, output.decode(errors="replace"))


def timed_lines(printed: bytes, start_of_clock: float) -> list[OutputLine]:
    """The lines of an engine's log, each behind its time by the engine's clock; ours began at that of the start."""
    lines = []
    for line in printed.decode(errors="replace").split("\n"):
        stamp, _, text = line.partition(" ")
        try:
            moment = datetime.fromisoformat(stamp).timestamp()
        except ValueError:  # the last one is empty
            continue
        lines.append(OutputLine(moment - start_of_clock, text))
    return lines


def _frames(stream: bytes) -> Iterator[bytes]:
    """The payloads of the engine's stream: each behind eight bytes, of which the last four are its length."""
    start = 0
    while start + 8 <= len(stream):
        size = int.from_bytes(stream[start + 4 : start + 8], "big")
        yield stream[start + 8 : start + 8 + size]
        start += 8 + size


def _mount(bind: Bind) -> Mount:
    return Mount(bind.target, str(bind.source), type="bind", read_only=bind.read_only)
