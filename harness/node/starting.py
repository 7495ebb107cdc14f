"""Starting the containers of admitted pods, as far as plugins and the Topology Manager want to know of it."""

import threading
from collections.abc import Callable

from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.node.plugins import PluginHub
from numaproof.harness.node.records import PodRecord, PodRecords
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.topology.manager import Manager
from numaproof.harness.topology.provider import AllocationError


class Starter:
    """Starts containers; its lock is the one of the admissions, held while records change."""

    def __init__(
        self,
        lock: threading.Lock,
        records: PodRecords,
        topology: Manager,
        plugins: PluginHub,
        log: Callable[[str], None],
    ) -> None:
        self._lock = lock
        self._records = records
        self._topology = topology
        self._plugins = plugins
        self._log = log

    def start_pod(self, record: PodRecord) -> None:
        """Start the containers of a pod, in order; one that cannot be is logged, and the pod stays admitted."""
        for container in record.pod.all_containers():
            error = self.start(record, container)
            if error:
                self._log(f"pod {record.pod.name}: container {container.name}: {error}")

    def start(self, record: PodRecord, container: Container) -> str:
        """Start one container: the plugins that want it are told first; the answer is what went wrong, if anything."""
        error = self._pre_start(record, container)
        with self._lock:
            record.start_errors[container.name] = error
            if not error:
                self.note(record, container)
        return error

    def note(self, record: PodRecord, container: Container) -> None:
        """Tell the Topology Manager, as the kubelet does, that a run of a container begins, and that the one before it,
        or that of a container that ends at once, is over; the lock is held.
        """
        if self._records.get(record.pod.uid) is not record:
            return  # it was removed meanwhile
        topology, runs = self._topology, record.starts.get(container.name, 0)
        record.starts[container.name] = runs + 1
        topology.add_container(record.pod, container, _run_id(record.pod, container, runs + 1))
        topology.remove_container(_run_id(record.pod, container, runs))
        if record.pod.ends(container):
            topology.remove_container(_run_id(record.pod, container, runs + 1))

    def _pre_start(self, record: PodRecord, container: Container) -> str:
        for resource, devices in sorted(record.assignments.get(container.name, Assignment()).devices.items()):
            if self._plugins.pre_start_required(resource):
                try:
                    self._plugins.pre_start(resource, [device.id for device in devices])
                except AllocationError as error:
                    return str(error)
        return ""


def _run_id(pod: Pod, container: Container, number: int) -> str:
    """The id of a container's run; the kubelet's come from the container runtime, of which there is none here."""
    return f"{pod.uid}/{container.name}/{number}"
