"""The machine that a node and its plugins are on: changed, looked at, and used to start containers on."""

from pathlib import Path
from typing import Protocol

from numaproof.fake_sysfs import Machine
from numaproof.fake_sysfs.alter import without_cpus
from numaproof.fake_sysfs.change import change
from numaproof.harness.rig.observe.tool_views import View
from numaproof.harness.rig.observe.tools import look
from numaproof.harness.rig.observe.workload import Workload, workload_differences
from numaproof.harness.runtimes import Running, Runtime
from numaproof.harness.runtimes.trees import tree_to_mount


class ObservedNode(Protocol):
    """What surroundings ask of the node that is in them."""

    @property
    def running(self) -> Running:
        """Its process: where it runs, commands can be executed."""

    def restart(self) -> None:
        """End the node hard and start it again; its plugins register again."""

    def machine_seen(self) -> View:
        """The machine, as the node sees it; what it does not tell is empty."""

    def workloads(self, name: str) -> tuple[Workload, ...] | None:
        """What is to be started of a pod; None: the node does not hold it."""


class MachineSurroundings:
    """A machine's tree, and the node and the programs that see it."""

    def __init__(self, runtime: Runtime, tree: Path, sysfs_root: str, machine: Machine, node: ObservedNode) -> None:
        self._runtime = runtime
        self._tree = tree
        self._sysfs_root = sysfs_root  # where programs find the machine: "/", or the path of the tree
        self._machine = machine  # what everybody should see; not what the tree says, which may be wrong
        self._node = node

    def offline(self, cpu: int) -> None:
        """Take a CPU offline and restart the node."""
        self._machine = change(self._tree, lambda machine: without_cpus(machine, (cpu,)))
        self._node.restart()

    def look(self) -> list[str]:
        """How the views of the real tools and of the node differ from the machine."""
        return look(self._node.running, self._sysfs_root, self._machine, self._node.machine_seen())

    def start(self, name: str) -> list[str]:
        """Start a pod's containers for real; the answer is how what they see differs from what was decided."""
        workloads = self._node.workloads(name)
        if workloads is None:
            return [f"{name} cannot be started: the node does not hold it"]
        return workload_differences(self._runtime, tree_to_mount(self._tree), workloads)
