"""Admitting, explaining and removing pods: decide, have the plugins allocate, make it durable, answer."""

import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from numaproof.errors import UserError
from numaproof.harness.api import deviceplugin_v1beta1_pb2 as plugin_api
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.cost.costs import Entry
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.decision.config import NodeConfig
from numaproof.harness.decision.fit import Room, whole_amounts
from numaproof.harness.decision.managers import Managers
from numaproof.harness.decision.reservations import Reservations
from numaproof.harness.decision.trace import Trace
from numaproof.harness.node import saving
from numaproof.harness.node.deciding import Decider
from numaproof.harness.node.encode.control import pod_message, verdict_message
from numaproof.harness.node.events import EventLog
from numaproof.harness.node.manifests import check_manifest, read_manifest
from numaproof.harness.node.measures import Measures
from numaproof.harness.node.plugins import PluginHub
from numaproof.harness.node.questions import SwitchboardPort
from numaproof.harness.node.records import Phase, PodRecord, PodRecords
from numaproof.harness.node.snapshot import (
    Admission,
    ContainerView,
    Explanation,
    NodeSnapshot,
    PodView,
    pod_view,
)
from numaproof.harness.node.store import LoadedState, NodeState, Store
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.providers.devices import Device
from numaproof.harness.topology.provider import AllocationError
from numaproof.harness.topology.verdict import ADMITTED, Verdict, unexpected

REMEMBERED_REFUSALS = 1000


class UnknownPodError(UserError):
    """There is no such pod here."""


class Admissions:
    """The pods of a node. Whatever is asked of it, in whatever order and by however many, may be asked at any time.

    Its lock guards managers and records; it is never held while a plugin is asked or the disk is written. Nobody else
    takes it: `snapshot` tells what is held.
    """

    def __init__(
        self,
        *,
        config: NodeConfig,
        managers: Managers,
        port: SwitchboardPort,
        plugins: PluginHub,
        store: Store,
        reservations: Reservations,
        measures: Measures,
        events: EventLog,
        log: Callable[[str], None],
    ) -> None:
        self._lock = threading.Lock()
        self._records = PodRecords()
        self._refused: OrderedDict[str, Admission] = OrderedDict()  # by uid, oldest first
        self._config = config
        self._managers = managers
        self._decider = Decider(self._lock, managers, port, plugins)
        self._plugins = plugins
        self._store = store
        self._allocatable = whole_amounts(reservations.allocatable)
        self._measures = measures
        self._events = events
        self._log = log
        self._version = 0

    def start(self, loaded: LoadedState) -> None:
        """Begin with what an earlier run left: the state files are written before anybody is answered."""
        with self._lock:
            saving.restore(self._managers, self._records, loaded)
            for record in self._records:
                for container in record.pod.all_containers():
                    self._note_start(record, container)
            self._measures.holdings(self._managers)
        self._store.save(self._version, self._take)

    def admit(self, manifest: str | Mapping[str, Any]) -> Admission:
        """Decide about a pod; when this returns, the answer is durable. A UserError if it is not a pod's manifest."""
        pod, content = read_manifest(manifest) if isinstance(manifest, str) else check_manifest(manifest)
        record = PodRecord(pod, content)
        with self._lock:
            known = self._known(record)
            if known is not None:
                return Admission(ADMITTED, self._view(known))
            self._refused.pop(pod.uid, None)
            self._records.add(record)
        try:
            trace = self._decide(record)
            verdict = self._allocate(record) if trace.verdict.admitted else trace.verdict
            with self._lock:
                view = self._view(record)  # before init containers end and leave what they were given
            if verdict.admitted:
                verdict = self._commit(record)
        except BaseException:
            self._drop(record)
            raise
        if not verdict.admitted:
            refusal = Admission(verdict, PodView(pod, content), trace)
            self._refuse(record, refusal)
            return refusal
        self._events.add(api.Event(kind=api.ADMITTED, pod=pod_message(view), verdict=verdict_message(verdict)))
        self._start(record)
        return Admission(verdict, view, trace)

    def explain(self, manifest: str | Mapping[str, Any]) -> Explanation:
        """How a pod would be decided about now: it is, and that is taken back. A UserError as from `admit`."""
        named, content = read_manifest(manifest) if isinstance(manifest, str) else check_manifest(manifest)
        # Under a uid of its own, as the pod may be here already, and has to stay as it is.
        pod = replace(named, uid=f"explained-{uuid.uuid4()}")
        trace = self._decider.run(lambda: self._managers.admit(pod, self._room()), keep=False)
        if not trace.verdict.admitted:
            return Explanation(trace, PodView(named, content))
        return Explanation(trace, pod_view(named, content, trace.given))

    def _known(self, record: PodRecord) -> PodRecord | None:
        """The same pod, if it is admitted already: who asks twice, for want of the first answer, gets that one."""
        present = self._records.get(record.pod.uid)
        if present is None:
            return None
        if present.phase is not Phase.ADMITTED:
            raise UserError(f"pod {record.pod.name}: is {present.phase.value} just now; try again when that is done")
        if present.manifest != record.manifest:
            raise UserError(
                f"pod {record.pod.name}: the uid {record.pod.uid} is admitted with another manifest; "
                "remove that pod first, or give this one a uid of its own"
            )
        return present

    def _decide(self, record: PodRecord) -> Trace:
        """Topology admission and the node's fit; what a refused pod got is free again."""
        begun = time.monotonic()

        def attempt() -> Trace:
            trace = self._managers.admit(record.pod, self._room())
            self._measures.decided(record.pod, trace, time.monotonic() - begun)
            if trace.verdict.admitted:
                record.phase = Phase.COMMITTING
                record.assignments = trace.given
            else:
                self._managers.remove(record.pod.uid)
            return trace

        return self._decider.run(attempt, keep=True)

    def _room(self) -> Room:
        # Of pods that are being decided about nobody knows yet whether they will be here.
        others = [other.requests for other in self._records if other.phase is not Phase.DECIDING]
        return Room(self._allocatable, others)

    def _allocate(self, record: PodRecord) -> Verdict:
        """Have the plugins allocate the devices, container by container; one that fails fails the pod."""
        responses: dict[tuple[str, str], plugin_api.ContainerAllocateResponse] = {}
        for container, given in record.assignments.items():
            for resource, devices in sorted(given.devices.items()):
                begun = time.monotonic()
                try:
                    responses[container, resource] = self._plugins.allocate(resource, [one.id for one in devices])
                except AllocationError as error:
                    return unexpected(error.reason, str(error))
                finally:
                    self._measures.metrics.allocate_duration.observe(resource, value=time.monotonic() - begun)
        with self._lock:
            record.respond(responses, self._log)
        return ADMITTED

    def _commit(self, record: PodRecord) -> Verdict:
        """Make the admission durable; if that cannot be done, the pod is not admitted."""
        with self._lock:
            self._release_finished(record)
            self._version += 1
            version = self._version
            saved = saving.saved_pod(record)
        try:
            self._store.save(version, self._take)
            self._store.save_pod(saved)
        except OSError as error:
            self._forget_file(record.pod.uid)
            return unexpected("UnexpectedAdmissionError", f"could not save state to checkpoint: {error}")
        with self._lock:
            record.phase = Phase.ADMITTED
            self._measures.holdings(self._managers)
        return ADMITTED

    def _forget_file(self, uid: str) -> None:
        """See to it that a pod that is not admitted has no file, even if its writing failed at the very end only."""
        try:
            self._store.delete_pod(uid)
        except OSError as error:
            self._log(f"the file of pod {uid} cannot be deleted: {error}")

    def _release_finished(self, record: PodRecord) -> None:
        """Free the memory of the containers that end before the next one starts."""
        left = dict(record.assignments)
        for container in filter(record.pod.ends, record.pod.all_containers()):
            self._managers.memory.release_init(record.pod.uid, container.name)
            left[container.name] = replace(left[container.name], memory=())
        record.assignments = left

    def _take(self) -> tuple[int, NodeState]:
        with self._lock:
            return self._version, saving.state_of(self._managers, self._config, self._records)

    def _drop(self, record: PodRecord) -> None:
        with self._lock:
            self._managers.remove(record.pod.uid)
            self._records.drop(record)
            self._version += 1

    def _refuse(self, record: PodRecord, refusal: Admission) -> None:
        self._drop(record)
        self._save_now()  # another pod's admission may have written down what this one held meanwhile
        with self._lock:
            self._refused[record.pod.uid] = replace(refusal, trace=None)  # a trace may hold thousands of hints
            if len(self._refused) > REMEMBERED_REFUSALS:
                self._refused.popitem(last=False)
        pod, verdict = pod_message(refusal.pod), verdict_message(refusal.verdict)
        self._events.add(api.Event(kind=api.REJECTED, pod=pod, verdict=verdict))

    def _start(self, record: PodRecord) -> None:
        """Start the containers, in order, as far as plugins want to know of it."""
        for container in record.pod.all_containers():
            error = self._pre_start(record, container)
            if error:
                self._log(f"pod {record.pod.name}: container {container.name}: {error}")
            with self._lock:
                record.start_errors[container.name] = error
                if not error:
                    self._note_start(record, container)

    def _note_start(self, record: PodRecord, container: Container) -> None:
        """Tell the Topology Manager, as the kubelet does, that a run of a container begins, and that the one before it,
        or that of a container that ends at once, is over; the lock is held.
        """
        if self._records.get(record.pod.uid) is not record:
            return  # it was removed meanwhile
        topology, runs = self._managers.topology, record.starts.get(container.name, 0)
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

    def start_container(self, reference: str, container_name: str) -> ContainerView:
        """A container of an admitted pod starts again: it has what it had, and the plugins that want it are told."""
        with self._lock:
            record = self._admitted(reference)
        container = next((one for one in record.pod.all_containers() if one.name == container_name), None)
        if container is None:
            raise UserError(f"pod {record.pod.name}: has no container {container_name!r}")
        error = self._pre_start(record, container)
        with self._lock:
            record.start_errors[container_name] = error
            if not error:
                self._note_start(record, container)
            return self._container_view(record, container)

    def remove(self, reference: str) -> str:
        """Free all that a pod has, durably; the answer is its uid. One that was refused has nothing to free."""
        with self._lock:
            if self._records.find(reference) is None:
                for refusal in self._refused.values():
                    pod = refusal.pod.pod
                    if reference in (pod.uid, f"{pod.namespace}/{pod.name}"):
                        del self._refused[pod.uid]
                        return pod.uid
            record = self._admitted(reference)
            record.phase = Phase.REMOVING
        uid = record.pod.uid
        try:
            self._store.delete_pod(uid)
        except OSError as error:
            with self._lock:
                record.phase = Phase.ADMITTED
            raise UserError(
                f"pod {reference}: cannot be removed from disk ({error}); mend the disk, try again"
            ) from None
        view = PodView(record.pod, record.manifest)
        self._drop(record)
        self._save_now()
        with self._lock:
            self._measures.holdings(self._managers)
        self._events.add(api.Event(kind=api.REMOVED, pod=pod_message(view)))
        return uid

    def _save_now(self) -> None:
        """Bring the state files up to date; if that fails, they say too much, which the next start puts right."""
        try:
            self._store.save(self._version, self._take)
        except OSError as error:
            self._log(f"the state files cannot be written: {error}")

    def _admitted(self, reference: str) -> PodRecord:
        record = self._records.find(reference)
        if record is None:
            raise UnknownPodError(f"pod {reference}: is not here; give the uid or namespace/name of an admitted pod")
        if record.phase is not Phase.ADMITTED:
            raise UserError(f"pod {reference}: is {record.phase.value} just now; try again when that is done")
        return record

    # What plugins tell

    def devices_listed(self, resource: str, devices: tuple[Device, ...]) -> None:
        """A plugin's list has arrived, or its stream has ended and all its devices are unhealthy."""
        with self._lock:
            self._managers.devices.update(resource, devices)
            self._version += 1
        self._save_now()

    def costs_told(self, resource: str, entries: tuple[Entry, ...]) -> None:
        """What the devices of the list that follows cost."""
        with self._lock:
            self._managers.update_costs(resource, entries)

    def plugin_gone(self, resource: str) -> None:
        """A plugin has not come back: its resource is gone, but its devices stay with the pods that have them."""
        with self._lock:
            self._managers.devices.forget(resource)
            self._managers.update_costs(resource, ())
            self._version += 1
        self._save_now()

    # What others may see

    def snapshot(self) -> NodeSnapshot:
        """All that is held now; what happens later does not change it."""
        managers = self._managers
        with self._lock:
            held: dict[str, set[str]] = {}
            for devices in managers.devices.assignments.values():
                for resource, ids in devices.items():
                    held.setdefault(resource, set()).update(ids)
            return NodeSnapshot(
                pods=tuple(self._view(record) for record in self._records if record.is_shown),
                refused=tuple(self._refused.values()),
                running=managers.topology.containers(),
                shared_cpus=managers.cpu.shared_pool,
                allocatable_cpus=managers.cpu.allocatable,
                memory=managers.memory.state,
                allocatable_memory=managers.memory.allocatable,
                devices={resource: managers.devices.devices(resource) for resource in managers.devices.resources()},
                healthy=managers.devices.healthy(),
                held={resource: frozenset(ids) for resource, ids in held.items()},
            )

    def _view(self, record: PodRecord) -> PodView:
        containers = tuple(self._container_view(record, one) for one in record.pod.all_containers())
        return PodView(record.pod, record.manifest, containers)

    def _container_view(self, record: PodRecord, container: Container) -> ContainerView:
        return ContainerView(
            container,
            record.pod.is_init(container),
            record.pod.ends(container),
            self._as_listed(record.assignments.get(container.name, Assignment())),
            record.merged.get(container.name, plugin_api.ContainerAllocateResponse()),
            record.start_errors.get(container.name, ""),
        )

    def _as_listed(self, given: Assignment) -> Assignment:
        """The assignment with its devices as their plugins listed them last."""
        if not given.devices:
            return given
        devices: dict[str, tuple[Device, ...]] = {}
        for resource, held in given.devices.items():
            listed = self._managers.devices.listed(resource)
            devices[resource] = tuple(listed.get(one.id, one) for one in held)
        return replace(given, devices=devices)


def _run_id(pod: Pod, container: Container, number: int) -> str:
    """The id of a container's run; the kubelet's come from the container runtime, of which there is none here."""
    return f"{pod.uid}/{container.name}/{number}"
