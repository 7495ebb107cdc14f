"""The node's state on disk, below its root directory: read once at the start, written before an answer is given."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from numaproof.harness.node.plugins.sockets import private_directory
from numaproof.harness.node.state import affinity, cpus, devices, files, memory, pods
from numaproof.harness.node.state.affinity import AffinityState
from numaproof.harness.node.state.cpus import CpuState
from numaproof.harness.node.state.devices import DeviceState
from numaproof.harness.node.state.memory import MemoryState
from numaproof.harness.node.state.pods import SavedPod


@dataclass(frozen=True, slots=True)
class NodeState:
    """What all managers hold at one moment."""

    cpu: CpuState
    memory: MemoryState
    devices: DeviceState


@dataclass(frozen=True, slots=True)
class LoadedState:
    """What was found on disk; None: no such file yet."""

    cpu: CpuState | None
    memory: MemoryState | None
    devices: DeviceState | None
    pods: tuple[SavedPod, ...]
    affinity: AffinityState | None = None


class Store:
    """The files of one root directory.

    A pod's own file is its admission, and says all that the pod was given: it alone has to survive the machine's end.
    The managers' files, in the kubelet's form, are up to date whenever an answer is given, and whole at any time; after
    a kill between two writes they may say more or less than the pods' files, which are right then.
    """

    def __init__(self, root: Path) -> None:
        self.device_directory = root / "device-plugins"
        self._pods = root / "pods"
        self._cpu_file = root / "cpu_manager_state"
        self._memory_file = root / "memory_manager_state"
        self._device_file = self.device_directory / "kubelet_internal_checkpoint"
        self._affinity_file = root / "affinity_state"
        self._lock = threading.Lock()
        self._written: dict[Path, str] = {}
        self._saved = -1  # the newest version that is on disk
        private_directory(self.device_directory)
        private_directory(self._pods)

    def load(self, cpu_policy: str, memory_policy: str) -> LoadedState:
        """What an earlier run left; a UserError if it is damaged, foreign, or another policy's."""
        return LoadedState(
            cpus.load(self._cpu_file, cpu_policy),
            memory.load(self._memory_file, memory_policy),
            devices.load(self._device_file),
            tuple(pods.load(self._pods)),
            affinity.load(self._affinity_file),
        )

    def save(self, version: int, take: Callable[[], tuple[int, NodeState]]) -> None:
        """Return when the state of `version` or a later one is in the managers' files; `take` gives the present one.

        Those who wait here while another writes are mostly served by the next write together.
        """
        with self._lock:
            if self._saved >= version:
                return
            current, state = take()
            self._write(self._cpu_file, cpus.dump(state.cpu))
            self._write(self._memory_file, memory.dump(state.memory))
            self._write(self._device_file, devices.dump(state.devices))
            self._saved = current

    def _write(self, path: Path, text: str) -> None:
        if self._written.get(path) != text:
            self._written.pop(path, None)
            files.write(path, text, durable=False)
            self._written[path] = text

    def save_affinity(self, state: AffinityState) -> None:
        """Make taints and quotas durable."""
        files.write(self._affinity_file, affinity.dump(state), durable=True)

    def save_pod(self, saved: SavedPod) -> None:
        """Make an admission durable, or that a pod waits."""
        pods.save(self._pods, saved)

    def delete_pod(self, uid: str) -> None:
        """Make a removal durable."""
        pods.delete(self._pods, uid)
