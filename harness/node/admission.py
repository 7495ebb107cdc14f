"""Admitting and removing pods: decide, have the plugins allocate, make it durable, answer."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as plugin_api
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.decision.config import NodeConfig
from numaproof.harness.decision.fit import check_fit, whole_amounts
from numaproof.harness.decision.managers import Managers
from numaproof.harness.decision.reservations import Reservations
from numaproof.harness.errors import UserError
from numaproof.harness.node import snapshot
from numaproof.harness.node.deciding import Decider
from numaproof.harness.node.events import EventLog
from numaproof.harness.node.manifests import check_manifest, read_manifest
from numaproof.harness.node.measures import Measures
from numaproof.harness.node.plugins import PluginHub
from numaproof.harness.node.records import Given, Phase, PodRecord, PodRecords
from numaproof.harness.node.store import NodeState, Store
from numaproof.harness.node.views import ContainerView, PodView, pod_message, verdict_message
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.providers.devices import Device
from numaproof.harness.topology.provider import AllocationError
from numaproof.harness.topology.verdict import ADMITTED, Verdict, unexpected

REMEMBERED_REFUSALS = 1000


class UnknownPodError(UserError):
    """There is no such pod here."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The answer about a pod, and what it was given."""

    verdict: Verdict
    pod: PodView


class Admissions:
    """The pods of a node. Whatever is asked of it, in whatever order and by however many, may be asked at any time.

    The lock guards managers and records; it is never held while a plugin is asked or the disk is written.
    """

    def __init__(
        self,
        *,
        config: NodeConfig,
        lock: threading.Lock,
        records: PodRecords,
        managers: Managers,
        decider: Decider,
        plugins: PluginHub,
        store: Store,
        reservations: Reservations,
        measures: Measures,
        events: EventLog,
        log: Callable[[str], None],
    ) -> None:
        self.lock = lock
        self.records = records
        self.refused: OrderedDict[str, tuple[PodRecord, Verdict]] = OrderedDict()
        self._config = config
        self._managers = managers
        self._decider = decider
        self._plugins = plugins
        self._store = store
        self._allocatable = whole_amounts(reservations.allocatable)
        self._measures = measures
        self._events = events
        self._log = log
        self._version = 0
        self._devices: dict[str, Mapping[str, Device]] = {}  # by resource and id, as listed last
        self.candidate: str | None = None  # the uid of a pod that is only being explained

    def start(self) -> None:
        """Begin with what was restored: the state files are written before anybody is answered."""
        with self.lock:
            self._measures.holdings(self._managers)
        self._store.save(self._version, self._take)

    def admit(self, manifest: str | Mapping[str, Any]) -> Admission:
        """Decide about a pod; when this returns, the answer is durable. A UserError if the manifest is none."""
        pod, content = read_manifest(manifest) if isinstance(manifest, str) else check_manifest(manifest)
        record = PodRecord(pod, content)
        with self.lock:
            known = self._known(record)
            if known is not None:
                return Admission(ADMITTED, self.view(known))
            self.refused.pop(pod.uid, None)
            self.records.add(record)
        try:
            verdict = self._decide(record)
            if verdict.admitted:
                verdict = self._allocate(record)
            with self.lock:
                view = self.view(record)  # before init containers end and leave what they were given
            if verdict.admitted:
                verdict = self._commit(record)
        except BaseException:
            self._drop(record)
            raise
        if not verdict.admitted:
            self._refuse(record, verdict)
            return Admission(verdict, PodView(pod))
        self._events.add(api.Event(kind=api.ADMITTED, pod=pod_message(view), verdict=verdict_message(verdict)))
        self._start(record)
        return Admission(verdict, view)

    def _known(self, record: PodRecord) -> PodRecord | None:
        """The same pod, if it is admitted already: who asks twice, for want of the first answer, gets that one."""
        present = self.records.get(record.pod.uid)
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

    def _decide(self, record: PodRecord) -> Verdict:
        """Topology admission, then the node's fit; what a refused pod got is free again."""
        begun = time.monotonic()

        def attempt() -> Verdict:
            topology = self._managers.admit(record.pod)
            verdict = self.fit(record) if topology.admitted else topology
            self._measures.decided(record.pod, topology, self._managers, time.monotonic() - begun)
            if verdict.admitted:
                record.phase = Phase.COMMITTING
            else:
                self._managers.remove(record.pod.uid)
            return verdict

        return self._decider.run(record.pod.uid, attempt)

    def fit(self, record: PodRecord) -> Verdict:
        """Whether the node has enough for the pod beside the others; the lock is held."""
        allocatable = dict(self._allocatable)
        healthy = self._managers.devices.healthy()
        for resource in self._devices.keys() | healthy.keys():
            in_use: set[str] = set()
            for held in self._managers.devices.assignments.values():
                in_use |= held.get(resource, frozenset())
            # Devices that are in use count even if they have become unhealthy meanwhile.
            allocatable[resource] = max(len(healthy.get(resource, ())), len(in_use))
        # Of pods that are being decided about nobody knows yet whether they will be here.
        others = (other.requests for other in self.records if other.phase is not Phase.DECIDING)
        return check_fit(record.requests, others, allocatable) or ADMITTED

    def _allocate(self, record: PodRecord) -> Verdict:
        """Have the plugins allocate the devices, container by container; one that fails fails the pod."""
        pod = record.pod
        with self.lock:
            assignments = self._managers.devices.assignments
            wanted = [
                (container.name, resource, ids)
                for container in pod.all_containers()
                for resource, ids in sorted(assignments.get((pod.uid, container.name), {}).items())
            ]
            record.affinities = {
                container.name: self._managers.topology.get_affinity(pod.uid, container.name)
                for container in pod.all_containers()
            }
        given: dict[tuple[str, str], Given] = {}
        for container_name, resource, ids in wanted:
            begun = time.monotonic()
            try:
                response = self._plugins.allocate(resource, ids)
            except AllocationError as error:
                return unexpected(error.reason, str(error))
            finally:
                self._measures.metrics.allocate_duration.observe(resource, value=time.monotonic() - begun)
            with self.lock:
                given[container_name, resource] = Given(self._listed(resource, ids), response)
        with self.lock:
            record.give(given, self._log)
        return ADMITTED

    def _commit(self, record: PodRecord) -> Verdict:
        """Make the admission durable; if that cannot be done, the pod is not admitted."""
        with self.lock:
            self._release_finished(record.pod)
            self._version += 1
            version = self._version
            saved = snapshot.saved_pod(self._managers, record)
        try:
            self._store.save(version, self._take)
            self._store.save_pod(saved)
        except OSError as error:
            self._forget_file(record.pod.uid)
            return unexpected("UnexpectedAdmissionError", f"could not save state to checkpoint: {error}")
        with self.lock:
            record.phase = Phase.ADMITTED
            self._measures.holdings(self._managers)
        return ADMITTED

    def _forget_file(self, uid: str) -> None:
        """See to it that a pod that is not admitted has no file, even if its writing failed at the very end only."""
        try:
            self._store.delete_pod(uid)
        except OSError as error:
            self._log(f"the file of pod {uid} cannot be deleted: {error}")

    def _release_finished(self, pod: Pod) -> None:
        """Free the memory of init containers that end before the next container starts."""
        for container in pod.init_containers:
            if not container.restartable:
                self._managers.memory.release_init(pod.uid, container.name)

    def _take(self) -> tuple[int, NodeState]:
        with self.lock:
            return self._version, snapshot.state_of(self._managers, self._config, self.records)

    def _drop(self, record: PodRecord) -> None:
        with self.lock:
            self._managers.remove(record.pod.uid)
            self.records.drop(record)
            self._version += 1

    def _refuse(self, record: PodRecord, verdict: Verdict) -> None:
        self._drop(record)
        self._save_now()  # another pod's admission may have written down what this one held meanwhile
        with self.lock:
            self.refused[record.pod.uid] = (record, verdict)
            if len(self.refused) > REMEMBERED_REFUSALS:
                self.refused.popitem(last=False)
        pod = pod_message(PodView(record.pod))
        self._events.add(api.Event(kind=api.REJECTED, pod=pod, verdict=verdict_message(verdict)))

    def _start(self, record: PodRecord) -> None:
        """Start the containers, in order, as far as plugins want to know of it."""
        for container in record.pod.all_containers():
            error = self._pre_start(record, container)
            if error:
                self._log(f"pod {record.pod.name}: container {container.name}: {error}")
            with self.lock:
                record.start_errors[container.name] = error

    def _pre_start(self, record: PodRecord, container: Container) -> str:
        for (name, resource), given in sorted(record.given.items()):
            if name == container.name and self._plugins.pre_start_required(resource):
                try:
                    self._plugins.pre_start(resource, [device.id for device in given.devices])
                except AllocationError as error:
                    return str(error)
        return ""

    def start_container(self, reference: str, container_name: str) -> ContainerView:
        """A container of an admitted pod starts again: it has what it had, and the plugins that want it are told."""
        with self.lock:
            record = self._admitted(reference)
        container = next((one for one in record.pod.all_containers() if one.name == container_name), None)
        if container is None:
            raise UserError(f"pod {record.pod.name}: has no container {container_name!r}")
        error = self._pre_start(record, container)
        with self.lock:
            record.start_errors[container_name] = error
            return self._container_view(record, container)

    def remove(self, reference: str) -> str:
        """Free all that a pod has, durably; the answer is its uid. One that was refused has nothing to free."""
        with self.lock:
            if self.records.find(reference) is None:
                for record, _ in self.refused.values():
                    if reference in (record.pod.uid, f"{record.pod.namespace}/{record.pod.name}"):
                        del self.refused[record.pod.uid]
                        return record.pod.uid
            record = self._admitted(reference)
            record.phase = Phase.REMOVING
        uid = record.pod.uid
        try:
            self._store.delete_pod(uid)
        except OSError as error:
            with self.lock:
                record.phase = Phase.ADMITTED
            raise UserError(
                f"pod {reference}: cannot be removed from disk ({error}); mend the disk, try again"
            ) from None
        view = PodView(record.pod)
        self._drop(record)
        self._save_now()
        with self.lock:
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
        record = self.records.find(reference)
        if record is None:
            raise UnknownPodError(f"pod {reference}: is not here; give the uid or namespace/name of an admitted pod")
        if record.phase is not Phase.ADMITTED:
            raise UserError(f"pod {reference}: is {record.phase.value} just now; try again when that is done")
        return record

    # What plugins tell

    def devices_listed(self, resource: str, devices: tuple[Device, ...]) -> None:
        """A plugin's list has arrived, or its stream has ended and all its devices are unhealthy."""
        with self.lock:
            self._devices[resource] = {device.id: device for device in devices}
            self._managers.devices.update(resource, devices)
            self._version += 1
        self._save_now()

    def plugin_gone(self, resource: str) -> None:
        """A plugin has not come back: its resource is no more, but its devices stay with the pods that have them."""
        with self.lock:
            self._devices.setdefault(resource, {})
            self._managers.devices.forget(resource)
            self._version += 1
        self._save_now()

    # What others may see; the lock is held

    def active(self) -> set[str]:
        """The uids of the pods that may hold something."""
        return self.records.uids() | ({self.candidate} if self.candidate else set())

    def note_devices(self, record: PodRecord) -> None:
        """Show the devices that the managers have decided on, though no plugin has been told yet."""
        record.given = {
            (container.name, resource): Given(self._listed(resource, ids), plugin_api.ContainerAllocateResponse())
            for container in record.pod.all_containers()
            for resource, ids in self._managers.devices.assignments.get((record.pod.uid, container.name), {}).items()
        }

    def _listed(self, resource: str, ids: Iterable[str]) -> tuple[Device, ...]:
        listed = self._devices.get(resource, {})
        return tuple(listed.get(one) or Device(one, None, healthy=False) for one in sorted(ids))

    def view(self, record: PodRecord) -> PodView:
        """What a pod was given."""
        return PodView(record.pod, tuple(self._container_view(record, one) for one in record.pod.all_containers()))

    def _container_view(self, record: PodRecord, container: Container) -> ContainerView:
        key = (record.pod.uid, container.name)
        given = {resource: one for (name, resource), one in record.given.items() if name == container.name}
        return ContainerView(
            name=container.name,
            init=record.pod.is_init(container),
            restartable=container.restartable,
            affinity=record.affinities.get(container.name, self._managers.topology.get_affinity(*key)),
            cpus=self._managers.cpu.assignments.get(key, frozenset()),
            memory=self._managers.memory.blocks.get(key, ()),
            devices={
                resource: tuple(self._devices.get(resource, {}).get(device.id, device) for device in one.devices)
                for resource, one in given.items()
            },
            response=record.merged.get(container.name, plugin_api.ContainerAllocateResponse()),
            start_error=record.start_errors.get(container.name, ""),
        )
