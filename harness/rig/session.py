"""The session of a run: a runtime, its warm processes and the machines' trees; scenarios run in it one by one."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

import numaproof
from numaproof.fake_sysfs import Machine
from numaproof.harness.rig.reference_node import ReferenceNode
from numaproof.harness.rig.rig import LiveRig
from numaproof.harness.runtimes import Runtime
from numaproof.harness.runtimes.local import NamespaceRuntime, ProcessRuntime
from numaproof.harness.runtimes.trees import Trees, machine_of
from numaproof.harness.runtimes.warm.pool import WarmPool
from numaproof.harness.scenario.drive import drive
from numaproof.harness.scenario.instances import Instance, kubelet_configuration
from numaproof.harness.scenario.plugins import fake_plugin
from numaproof.harness.scenario.recording import Recording, log_lines
from numaproof.harness.scenario.rig import RigFailedError
from numaproof.harness.scenario.sizes import Sizes, sizes_of
from numaproof.harness.scenario.skips import reason_not_to_run

# The arguments of an interpreter that becomes a warm process, in front of its socket's path.
WARM = ("-m", "numaproof.harness.warm_commands")


class Session:
    """What scenarios share, from `with` to its end; `run` is the directory of the run, `worker` names a part of it."""

    def __init__(self, runtime_name: str, run: Path, worker: str, *, warm: tuple[str, ...] = WARM) -> None:
        self.runtime_name = runtime_name
        self._run = run
        self._directory = run / worker
        self._warm = warm
        self._count = 0
        self._ending = ExitStack()

    def __enter__(self) -> Self:
        self._directory.mkdir()
        self._runtime, python, environment = self._make_runtime()
        self._pool = self._ending.enter_context(
            WarmPool(
                self._runtime,
                self._directory,
                Trees(self._run / "trees"),
                isolated=self.runtime_name != "process",
                command=(python, *self._warm),
                environment=environment,
            )
        )
        return self

    def __exit__(self, *reason: object) -> None:
        self._ending.close()

    def skip_reason(self, instance: Instance) -> str | None:
        """Why an instance means nothing on its machine; None: it applies."""
        machine, sizes = self._sized(instance)
        # The engine of docker has affinity of its own; without it a container may use what we may use.
        usable = os.sched_getaffinity(0) if self.runtime_name == "namespace" else None
        return reason_not_to_run(
            instance,
            machine,
            sizes,
            runtime=self.runtime_name,
            usable_cpus=usable,
            offers=ReferenceNode.offers,
        )

    def run(self, instance: Instance, recording: Recording | None = None) -> list[str]:
        """Drive an instance; the answer is every difference from what it expects. What happens is written down."""
        recording = recording or Recording()
        machine, sizes = self._sized(instance)
        recording.configuration = kubelet_configuration(instance, machine, sizes)
        refusal = instance.scenario.refuses
        try:
            with self.rig(instance, machine, sizes) as rig:
                try:
                    if refusal is not None:
                        return [f"expected a refusal to start with {refusal!r}, was up"]
                    return drive(instance, machine, sizes, rig, recording)
                finally:
                    recording.log = log_lines(rig.node.log())
        except RigFailedError as error:
            if refusal is None:
                raise
            return [] if refusal in str(error) else [f"expected a refusal to start with {refusal!r}, was: {error}"]

    @contextmanager
    def rig(self, instance: Instance, machine: Machine, sizes: Sizes) -> Iterator[LiveRig]:
        """A node with an instance's configuration and plugins, up."""
        self._count += 1
        root = self._directory / f"r{self._count}"
        where = str(instance.scenario.path)
        plugins = tuple(fake_plugin(words, machine, sizes, where) for words in instance.scenario.plugins)
        config = kubelet_configuration(instance, machine, sizes)
        changes = any(step.action.changes_machine for step in instance.scenario.steps)
        with self._pool.acquire(instance.argument, own_tree=changes) as warm:
            root.mkdir()
            node = ReferenceNode(warm, root, config, instance.semantics)
            with LiveRig(node, plugins, root, warm, self._runtime, warm.tree, machine) as rig:
                yield rig

    def _sized(self, instance: Instance) -> tuple[Machine, Sizes]:
        machine = machine_of(instance.argument)
        kubelet = {**instance.scenario.kubelet, **instance.values}
        use_numa = instance.scenario.needs.use_numa
        return machine, sizes_of(machine, kubelet.get("memoryManagerPolicy") == "Static", use_numa)

    def _make_runtime(self) -> tuple[Runtime, str, dict[str, str]]:
        """The runtime, the interpreter in it, and where that finds our code."""
        # Ours first, then whatever our own interpreter was told: it may find our dependencies by that.
        paths = [str(Path(numaproof.__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        if self.runtime_name == "namespace":
            return NamespaceRuntime(), sys.executable, {"PYTHONPATH": os.pathsep.join(paths)}
        if self.runtime_name == "process":
            return ProcessRuntime(), sys.executable, {"PYTHONPATH": os.pathsep.join(paths)}
        from numaproof.harness.runtimes.docker import DockerRuntime  # noqa: PLC0415
        from numaproof.harness.runtimes.image.build import ensure_image  # noqa: PLC0415

        runtime = DockerRuntime(ensure_image(), self._run)
        self._ending.callback(runtime.close)
        return runtime, "python3", {}
