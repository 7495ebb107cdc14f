"""Starts a pod's containers for real, with what the node decided, and looks inside whether they got it."""

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.harness.api import deviceplugin_v1beta1_pb2 as plugin_api
from numaproof.harness.runtimes import Bind, DeviceNode, Program, Runtime
from numaproof.harness.waiting import wait_until

_UP_SECONDS = 120
# It tells its number where it runs, and stays what it is: what it was started with can be looked at from beside it.
_STAY = "echo numaproof-up $$; while :; do sleep 1000; done"
_UP = re.compile(r"^numaproof-up (\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Workload:
    """A container that is to be started, with what a node decided about it."""

    name: str
    cpus: tuple[int, ...]  # exclusive ones, or those that its pod is bound to; empty: it may run anywhere
    memory_nodes: tuple[int, ...]  # empty: its memory may come from anywhere
    response: plugin_api.ContainerAllocateResponse  # what all plugins together want it to be given


def workload_differences(runtime: Runtime, tree: Path | None, workloads: Sequence[Workload]) -> list[str]:
    """How what running containers see differs from what the node decided.

    `tree` is the machine's; None: the host's own machine, on which CPUs and memory are really bound.
    """
    return [f"{one.name}: {text}" for one in workloads for text in _differences(runtime, tree, one)]


def _differences(runtime: Runtime, tree: Path | None, workload: Workload) -> Iterator[str]:
    # testinfra is a pytest plugin: imported before pytest has looked at it, it makes pytest warn.
    from numaproof.harness.runtimes.testinfra_host import testinfra_host  # noqa: PLC0415

    decided = workload.response
    program = Program(
        ("/bin/sh", "-c", _STAY),
        machine=tree,
        environment=dict(decided.envs),
        binds=tuple(Bind(Path(one.host_path), one.container_path, one.read_only) for one in decided.mounts),
        devices=tuple(DeviceNode(one.host_path, one.container_path, one.permissions) for one in decided.devices),
        cpus=workload.cpus if tree is None else (),
        memory_nodes=workload.memory_nodes if tree is None and runtime.name == "docker" else (),
    )
    with runtime.start(program) as running:
        wait_until(
            lambda: _UP.search(running.output()) or running.poll() is not None,
            timeout=_UP_SECONDS,
            what="the container",
        )
        up = _UP.search(running.output())
        if up is None:
            yield f"ended at once: {running.output().strip()}"
            return
        there = testinfra_host(running)
        process = f"/proc/{up[1]}"
        given = there.file(f"{process}/environ").content_string.split("\0")
        for name, value in sorted(decided.envs.items()):  # a message's own order is another one in every process
            if f"{name}={value}" not in given:
                yield f"its environment lacks {name}={value}"
        for mount in decided.mounts:
            yield from _mounted(there, mount)
        for device in decided.devices:
            yield from _same(there, device.host_path, device.container_path, "%F %t:%T")
        if tree is None:
            status = there.file(f"{process}/status").content_string
            yield from _bound(status, "Cpus", workload.cpus)
            if program.memory_nodes:
                yield from _bound(status, "Mems", program.memory_nodes)


def _mounted(there: Any, mount: plugin_api.Mount) -> Iterator[str]:
    """Whether a mount shows the host's file or directory itself, and refuses writes where it should."""
    yield from _same(there, mount.host_path, mount.container_path, "%d:%i")
    if mount.read_only and there.run("test -w %s", mount.container_path).rc == 0:
        yield f"{mount.container_path} can be written to, decided was read-only"


def _same(there: Any, source: str, target: str, form: str) -> Iterator[str]:
    """Whether a path there is what another one is here, by what `stat` tells of both."""
    # Here by the same program: its words for types and its figures are then the same.
    here = subprocess.run(["stat", "-Lc", form, source], capture_output=True, text=True, check=False)
    seen = there.run("stat -Lc %s %s 2>/dev/null", form, target)
    if seen.rc != 0:
        yield f"{target} is not there"
    elif seen.stdout != here.stdout:
        yield f"{target} is {seen.stdout.strip()}, not {source} ({here.stdout.strip()})"


def _bound(status: str, what: str, wanted: tuple[int, ...]) -> Iterator[str]:
    """Whether the kernel allows a process exactly what was decided; nothing decided: anything is right."""
    line = next(line for line in status.splitlines() if line.startswith(f"{what}_allowed_list:"))
    allowed = parse_cpulist(line.partition(":")[2].strip())
    if wanted and allowed != tuple(sorted(wanted)):
        yield f"{what}_allowed_list is {allowed}, decided was {tuple(sorted(wanted))}"
