"""A private Docker engine: in namespaces of its own, so that its containers and mounts end with it, however it ends."""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numaproof.errors import UserError
from numaproof.harness.runtimes.docker import engine_answers
from numaproof.harness.runtimes.engine.cgroups import remove_abandoned_cgroups
from numaproof.harness.runtimes.local import NamespaceRuntime
from numaproof.harness.runtimes.program import Bind, CannotStartError, Program
from numaproof.harness.runtimes.scratch import remove_stale, run_directory
from numaproof.harness.waiting import WaitTimeoutError, wait_until

_START_SECONDS = 120
_STOP_SECONDS = 60
# Where an engine writes whatever it is told, and reads the settings of the host's own one: it gets others to see there.
_FIXED_DIRECTORIES = ("/etc/docker", "/run/docker", "/run/containerd")


@contextmanager
def private_engine() -> Iterator[str]:
    """Start an engine of our own and give its address; it uses no bridge and changes no firewall."""
    remove_stale()
    remove_abandoned_cgroups()
    try:
        with run_directory("engine", on_disk=True) as directory:
            address = f"unix://{directory}/s"
            command = (
                "dockerd",
                "--bridge=none",
                "--iptables=false",
                "--ip6tables=false",
                "--ip-forward=false",
                "--ip-masq=false",
                # The kernel's one thing that outlives namespaces: named after our directory, and found by it.
                "--exec-opt=native.cgroupdriver=cgroupfs",
                f"--cgroup-parent=/{directory.name}",
                f"--host={address}",
                f"--data-root={directory}/data",
                f"--exec-root={directory}/exec",
                f"--pidfile={directory}/pid",
            )
            with _started(
                Program(command, binds=_own_directories(directory), environment={"TMPDIR": str(directory)}), address
            ):
                yield address
    finally:
        remove_abandoned_cgroups()


def _own_directories(directory: Path) -> tuple[Bind, ...]:
    """Directories of its own for an engine, in place of those that it knows by name."""
    binds = tuple(Bind(directory / target.replace("/", "-"), target) for target in _FIXED_DIRECTORIES)
    for bind in binds:
        bind.source.mkdir()
    return binds


@contextmanager
def _started(program: Program, address: str) -> Iterator[None]:
    """An engine that answers at an address, ended afterwards."""
    try:
        engine = NamespaceRuntime().start(program)
    except CannotStartError as error:
        raise UserError(f"a private Docker engine cannot be started: {error}") from error
    with engine:
        try:
            wait_until(
                lambda: engine_answers(address) or engine.poll() is not None,
                timeout=_START_SECONDS,
                what="the engine",
            )
        except WaitTimeoutError as error:
            raise UserError(f"the private Docker engine does not answer: {error}") from error
        if engine.poll() is not None:
            raise UserError(f"the private Docker engine ended: {engine.output().strip().splitlines()[-1]}")
        try:
            yield
        finally:
            # Asked first, so that it stores and unmounts; if it does not end, its namespace does.
            engine.terminate()
            with contextlib.suppress(WaitTimeoutError):
                engine.wait(_STOP_SECONDS)
