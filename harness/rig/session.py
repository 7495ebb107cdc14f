"""The bench of a run: a runtime, its warm hosts and the machines' trees; scenarios are put on it one by one."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

import numaproof
from numaproof.fake_sysfs import Machine
from numaproof.harness.errors import UserError
from numaproof.harness.rig.served import ServedRig
from numaproof.harness.runtimes import Runtime
from numaproof.harness.runtimes.local import NamespaceRuntime, ProcessRuntime, namespaces_work
from numaproof.harness.runtimes.warm.pool import WARM, Hosts
from numaproof.harness.runtimes.warm.trees import Trees, machine_of
from numaproof.harness.scenario.drive import drive
from numaproof.harness.scenario.instances import Instance, kubelet_configuration
from numaproof.harness.scenario.plugins import fake_plugin
from numaproof.harness.scenario.rig import RigFailedError
from numaproof.harness.scenario.sizes import Sizes, sizes_of
from numaproof.harness.scenario.skips import reason_not_to_run


def chosen_runtime(name: str) -> str:
    """What `auto` stands for here: docker where an engine answers, else namespaces, else plain processes.

    A runtime that was asked for and cannot be had is refused.
    """
    if name == "process":
        return name
    if name == "namespace":
        if not namespaces_work():
            raise UserError("--runtime namespace: namespaces cannot be made here (unshare fails); take process")
        return name
    from numaproof.harness.runtimes.docker import connect, engine_answers  # noqa: PLC0415 (the SDK takes long to import)

    if name == "docker":
        connect().close()
        return name
    if engine_answers():
        return "docker"
    return "namespace" if namespaces_work() else "process"


class Bench:
    """What scenarios share, from `with` to its end; `place` is the run's directory, `worker` one's own part of it."""

    def __init__(self, runtime: str, place: Path, worker: str, *, warm: tuple[str, ...] = WARM) -> None:
        self.runtime = runtime
        self._place = place / worker
        self._run = place
        self._trees = Trees(place / "trees")
        self._warm = warm
        self._count = 0
        self._ending = ExitStack()

    def __enter__(self) -> Self:
        self._place.mkdir()
        runtime, python, environment = self._made_runtime()
        self._hosts = self._ending.enter_context(
            Hosts(
                runtime,
                self._place,
                self._trees,
                isolated=self.runtime != "process",
                python=python,
                environment=environment,
                warm=self._warm,
            )
        )
        return self

    def __exit__(self, *reason: object) -> None:
        self._ending.close()

    def skip_reason(self, instance: Instance) -> str | None:
        """Why an instance means nothing on its machine; None: it applies."""
        machine, sizes = self._sized(instance)
        if any(step.action == "start" for step in instance.scenario.steps):
            if self.runtime == "process":
                return "starts containers with device nodes, which the process runtime cannot give"
            # The engine of docker has affinity of its own; without it a container may use what we may use.
            ours = os.sched_getaffinity(0)
            if self.runtime == "namespace" and instance.argument == "host" and not set(machine.cpu_ids) <= ours:
                return f"pins containers to CPUs of the host, of which this process may only use {sorted(ours)}"
        return reason_not_to_run(instance, machine, sizes)

    def run(self, instance: Instance) -> list[str]:
        """Drive an instance; the answer is every difference from what it expects."""
        machine, sizes = self._sized(instance)
        refusal = instance.scenario.refuses
        try:
            with self.rig(instance, machine, sizes) as rig:
                if refusal is not None:
                    return [f"expected a refusal to start with {refusal!r}, was up"]
                return drive(instance, machine, sizes, rig)
        except RigFailedError as error:
            if refusal is None:
                raise
            return [] if refusal in str(error) else [f"expected a refusal to start with {refusal!r}, was: {error}"]

    @contextmanager
    def rig(self, instance: Instance, machine: Machine, sizes: Sizes) -> Iterator[ServedRig]:
        """A node with an instance's configuration and plugins, up."""
        self._count += 1
        place = str(instance.scenario.path)
        plugins = tuple(fake_plugin(words, machine, sizes, place) for words in instance.scenario.plugins)
        config = kubelet_configuration(instance, machine, sizes)
        changes = any(step.action == "offline" for step in instance.scenario.steps)
        with (
            self._hosts.lent(instance.argument, own_tree=changes) as (host, tree),
            ServedRig(host, tree, machine, self._place / f"r{self._count}", config, plugins) as rig,
        ):
            yield rig

    def _sized(self, instance: Instance) -> tuple[Machine, Sizes]:
        machine = machine_of(instance.argument)
        kubelet = {**instance.scenario.kubelet, **instance.values}
        use_numa = instance.scenario.needs.use_numa
        return machine, sizes_of(machine, kubelet.get("memoryManagerPolicy") == "Static", use_numa)

    def _made_runtime(self) -> tuple[Runtime, str, dict[str, str]]:
        """The runtime, the interpreter in it, and where that finds our code."""
        # Ours first, then whatever our own interpreter was told: it may find our dependencies by that.
        places = [str(Path(numaproof.__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        if self.runtime == "namespace":
            return NamespaceRuntime(), sys.executable, {"PYTHONPATH": os.pathsep.join(places)}
        if self.runtime == "process":
            return ProcessRuntime(), sys.executable, {"PYTHONPATH": os.pathsep.join(places)}
        from numaproof.harness.runtimes.docker import DockerRuntime  # noqa: PLC0415
        from numaproof.harness.runtimes.image.image import ensure_image  # noqa: PLC0415

        runtime = DockerRuntime(ensure_image(), self._run)
        self._ending.callback(runtime.close)
        return runtime, "python3", {}
