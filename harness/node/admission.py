"""Admitting, binding, explaining and removing pods: decide, have the plugins allocate, make it durable, answer."""

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from numaproof.errors import UserError
from numaproof.harness.affinity.rules import PENDING, Site, waiting
from numaproof.harness.api import deviceplugin_v1beta1_pb2 as plugin_api
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.cost.costs import Entry
from numaproof.harness.decision.config import NodeConfig
from numaproof.harness.decision.fit import Room, whole_amounts
from numaproof.harness.decision.managers import Managers
from numaproof.harness.decision.reservations import Reservations
from numaproof.harness.decision.trace import Trace
from numaproof.harness.explain.replica import Attempt, attempt_of
from numaproof.harness.node import saving
from numaproof.harness.node.deciding import Decider
from numaproof.harness.node.encode.control import pod_message, verdict_message
from numaproof.harness.node.events import EventLog
from numaproof.harness.node.explaining import Moment, explained, moment_of
from numaproof.harness.node.house_rules import HouseRules
from numaproof.harness.node.keeping import Keeper
from numaproof.harness.node.manifests import bound_manifest, check_manifest, is_same_request, read_manifest
from numaproof.harness.node.measures import Measures
from numaproof.harness.node.plugins import PluginHub
from numaproof.harness.node.questions import SwitchboardPort
from numaproof.harness.node.records import Phase, PodRecord
from numaproof.harness.node.snapshot import Admission, ContainerView, Explanation, NodeSnapshot, PodView, pod_view
from numaproof.harness.node.starting import Starter
from numaproof.harness.node.state.affinity import AffinityState
from numaproof.harness.node.store import LoadedState, Store
from numaproof.harness.node.tainting import Tainter
from numaproof.harness.node.viewing import Views
from numaproof.harness.pods.affinity import is_bound
from numaproof.harness.pods.pod import Pod
from numaproof.harness.pods.taints import Taint
from numaproof.harness.providers.devices import Device
from numaproof.harness.topology.provider import AllocationError
from numaproof.harness.topology.verdict import ADMITTED, Verdict, unexpected


class UnknownPodError(UserError):
    """There is no such pod here."""


class ConflictError(UserError):
    """A pod that runs already cannot be changed like that."""


class BusyError(UserError):
    """A pod that is on its way cannot be changed just now; later it can."""


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
        site: Site,
        measures: Measures,
        events: EventLog,
        log: Callable[[str], None],
    ) -> None:
        self._keeper = Keeper(config, managers, store, measures, log)
        self._lock = self._keeper.lock
        self._records = self._keeper.records
        self._config = config
        self._managers = managers
        self._decider = Decider(self._lock, managers, port, plugins)
        self._plugins = plugins
        self._allocatable = whole_amounts(reservations.allocatable)
        self._measures = measures
        self._events = events
        self._log = log
        self._rules = HouseRules(site, managers, self._records)
        self._tainter = Tainter(self._keeper, self._rules, events, log)
        self._views = Views(site.shown_name, config, managers, self._records, self._rules, reservations)
        self._starter = Starter(self._lock, self._records, managers.topology, plugins, log)

    def start(self, loaded: LoadedState, quotas: Mapping[str, Fraction]) -> None:
        """Begin with what an earlier run left: the state files are written before anybody is answered.

        The configuration's taints and quotas are those of a node that has none of its own; from then on its file has
        them. A UserError, with nothing written, if what it left does not fit the machine any more.
        """
        with self._lock:
            saving.restore(self._managers, self._records, loaded)
            for record in self._records:
                self._rules.check_restored(record.pod)
            for record in self._records:
                for container in record.pod.all_containers() if not record.waits else ():
                    self._starter.note(record, container)
            self._measures.holdings(self._managers)
            configured = AffinityState(self._config.taints, quotas)
            self._rules.state = loaded.affinity or configured
        for what, asked, own in (
            ("taints", configured.taints, self._rules.state.taints),
            ("quotas", configured.quotas, self._rules.state.quotas),
        ):
            if asked and asked != own:
                self._log(
                    f"{what} of the configuration: have no effect, the node has its own; change them while it runs"
                )
        if self._rules.state != (loaded.affinity or AffinityState()):
            self._keeper.store.save_affinity(self._rules.state)
        self._keeper.save()
        self._tainter.evict_unwelcome()

    def admit(self, manifest: str | Mapping[str, Any]) -> Admission:
        """Decide about a pod; when this returns, the answer is durable. A UserError if it is not a pod's manifest.

        A pod that has to be bound first waits: it is here, and holds nothing.
        """
        read, content = read_manifest(manifest) if isinstance(manifest, str) else check_manifest(manifest)
        with self._lock:
            pod = self._rules.settled(read)
            record = PodRecord(pod, content)
            known = self._known(record)
            if known is not None:
                return self._again(known)
            self._rules.check(pod)
            self._keeper.refused.pop(pod.uid, None)
            self._records.add(record)
            ruled = self._rules.refusal(pod) or self._has_to_wait(pod, self._room(record))
        try:
            if ruled is not None and ruled.reason == PENDING:
                return self._pend(record, ruled)
            trace = self._decide(record) if ruled is None else self._ruled(ruled)
            verdict, view = self._given(record, trace)
        except BaseException:
            self._keeper.drop(record)
            raise
        if not verdict.admitted:
            refusal = Admission(verdict, PodView(pod, content), trace)
            self._refuse(record, refusal)
            return refusal
        return self._begin(record, Admission(verdict, view, trace))

    def bind(self, reference: str, numa_node_id: str | None, cpu_affinity: str | None) -> Admission:
        """Give a pod that waits a NUMA node, CPUs or both (None: as they are), durably; with all it needs it starts.

        A refusal leaves it waiting as it was. A ConflictError if it has started, a UserError if it cannot be bound so.
        """
        if numa_node_id is None and cpu_affinity is None:
            raise UserError("bind: nothing is given; give numaNodeID, cpuAffinity or both")
        with self._lock:
            record = self._found(reference)
            if record.phase is Phase.ADMITTED:
                raise ConflictError(f"pod {reference}: runs already; only a pod that waits can be bound")
            if record.phase is not Phase.PENDING:
                raise self._busy(reference, record)
            named, content = bound_manifest(record.manifest, record.pod.uid, numa_node_id, cpu_affinity)
            pod = self._rules.settled(named)
            self._rules.check(pod)
            record.pod, record.manifest, record.phase = pod, content, Phase.BINDING
        trace = None
        try:
            verdict = waiting(pod)
            if verdict is not None:
                answer = self._pend(record, verdict)
            else:
                trace = self._decide(record)
                verdict, view = self._given(record, trace)
                answer = Admission(verdict, view, trace)
        except BaseException:
            self._keeper.wait_again(record)
            raise
        if verdict.admitted:
            return self._begin(record, answer)
        if trace is not None:
            self._keeper.wait_again(record)
            self._keeper.save_now()  # another pod's admission may have written down what this one held meanwhile
            answer = Admission(verdict, self._shown_waiting(record), trace)
        self._tainter.evict_unwelcome()  # by a taint that came meanwhile
        return answer

    def _given(self, record: PodRecord, trace: Trace) -> tuple[Verdict, PodView]:
        """Have what was decided allocated by plugins and made durable."""
        verdict = self._allocate(record) if trace.verdict.admitted else trace.verdict
        with self._lock:
            view = self._views.pod(record)  # before init containers end and leave what they were given
        if verdict.admitted:
            # A taint may have come meanwhile.
            verdict = self._keeper.commit(record, lambda: self._rules.unwelcome(record.pod))
        return verdict, view

    def _begin(self, record: PodRecord, admission: Admission) -> Admission:
        message = pod_message(admission.pod)
        self._events.add(api.Event(kind=api.ADMITTED, pod=message, verdict=verdict_message(admission.verdict)))
        self._starter.start_pod(record)
        return admission

    def _again(self, record: PodRecord) -> Admission:
        """The answer to who asks twice, for want of the first one."""
        pending = waiting(record.pod) if record.waits else None
        if pending is not None:
            return Admission(pending, self._views.waiting(record))
        return Admission(ADMITTED, self._views.pod(record))

    def _pend(self, record: PodRecord, verdict: Verdict) -> Admission:
        """Have a pod wait, durably."""
        self._keeper.wait(record)
        view = self._shown_waiting(record)
        self._events.add(api.Event(kind=api.PENDING, pod=pod_message(view), message=verdict.message))
        self._tainter.evict_unwelcome()  # by a taint that came meanwhile
        return Admission(verdict, view)

    def _shown_waiting(self, record: PodRecord) -> PodView:
        with self._lock:
            return self._views.waiting(record)

    def _has_to_wait(self, pod: Pod, room: Room) -> Verdict | None:
        """Why a pod does not start yet, or why it never could: even those that wait need room on the node."""
        verdict = waiting(pod)
        shortage = self._managers.shortage(pod, room) if verdict else None
        return shortage.verdict() if shortage else verdict

    def explain(self, manifest: str | Mapping[str, Any]) -> Explanation:
        """How a pod would be decided about now: it is, and that is taken back. A UserError as from `admit`."""
        named, content = read_manifest(manifest) if isinstance(manifest, str) else check_manifest(manifest)
        # Under a uid of its own, as the pod may be here already, and has to stay as it is.
        another = replace(named, uid=f"explained-{uuid.uuid4()}")

        def attempt() -> tuple[Moment, Pod, Attempt]:
            pod = self._rules.settled(another)
            self._rules.check(pod)
            room = self._room(None)
            here = [record.pod for record in self._records if record.phase is Phase.ADMITTED]
            moment = moment_of(self._managers, self._allocatable, here)
            verdict = self._rules.refusal(pod) or self._has_to_wait(pod, room)
            trace = self._ruled(verdict) if verdict else self._attempt(pod, room)
            return moment, pod, attempt_of(self._managers, pod, trace)

        moment, pod, attempted = self._decider.run(attempt, keep=False)
        trace = attempted.trace
        told = explained(moment, pod, attempted)
        if not trace.verdict.admitted:
            return Explanation(trace, PodView(named, content), told)
        return Explanation(trace, pod_view(named, content, trace.given), told)

    def _known(self, record: PodRecord) -> PodRecord | None:
        """The same pod, if it is admitted already: who asks twice, for want of the first answer, gets that one."""
        present = self._records.get(record.pod.uid)
        if present is None:
            return None
        if present.phase not in (Phase.ADMITTED, Phase.PENDING):
            raise self._busy(record.pod.name, present)
        if not is_same_request(present.manifest, record.manifest):
            field = _resized(present.pod, record.pod)
            if is_bound(present.pod) and field:
                raise ConflictError(
                    f"pod {record.pod.name}: {field}: is bound, and a bound pod is not resized; remove it first"
                )
            raise UserError(
                f"pod {record.pod.name}: the uid {record.pod.uid} is admitted with another manifest; "
                "remove that pod first, or give this one a uid of its own"
            )
        return present

    def _decide(self, record: PodRecord) -> Trace:
        """Topology admission and the node's fit; what a refused pod got is free again."""
        begun = time.monotonic()

        def attempt() -> Trace:
            before = self._managers.checkpoint()
            trace = self._attempt(record.pod, self._room(record))
            if trace.broken_rule is None or trace.given:  # else no manager was asked, and a kubelet counts nothing
                self._measures.decided(record.pod, trace, time.monotonic() - begun)
            if trace.verdict.admitted:
                record.phase = Phase.COMMITTING
                record.assignments = trace.given
            elif is_bound(record.pod) or trace.broken_rule is not None:
                self._managers.rollback(before)  # what the kubelet does not know is as if it had never been tried
            else:
                self._managers.remove(record.pod.uid)  # the kubelet's way, which may shift memory within a group
            return trace

        return self._decider.run(attempt, keep=True)

    def _attempt(self, pod: Pod, room: Room) -> Trace:
        """What the managers make of a pod, after the rules for its place and before those for what it was given."""
        clash = self._rules.clash(pod)
        if clash is not None:
            return self._ruled(clash)
        trace = self._managers.admit(pod, room)
        broken = self._rules.broken(pod, trace) if trace.verdict.admitted else None
        return trace if broken is None else replace(trace, verdict=broken, broken_rule=broken)

    def _ruled(self, verdict: Verdict) -> Trace:
        """A decision that no manager was asked about."""
        return Trace(self._config.policy_in_force, self._config.topology_scope, (), {}, None, None, verdict, verdict)

    def _room(self, record: PodRecord | None) -> Room:
        # Of pods that are being decided about nobody knows yet whether they will be here; those that wait will.
        others = [
            other.requests for other in self._records if other.phase is not Phase.DECIDING and other is not record
        ]
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

    def _refuse(self, record: PodRecord, refusal: Admission) -> None:
        self._keeper.drop(record)
        self._keeper.save_now()  # another pod's admission may have written down what this one held meanwhile
        self._keeper.remember(refusal)
        pod, verdict = pod_message(refusal.pod), verdict_message(refusal.verdict)
        self._events.add(api.Event(kind=api.REJECTED, pod=pod, verdict=verdict))

    def start_container(self, reference: str, container_name: str) -> ContainerView:
        """A container of an admitted pod starts again: it has what it had, and the plugins that want it are told."""
        with self._lock:
            record = self._admitted(reference)
        container = next((one for one in record.pod.all_containers() if one.name == container_name), None)
        if container is None:
            raise UserError(f"pod {record.pod.name}: has no container {container_name!r}")
        self._starter.start(record, container)
        with self._lock:
            return self._views.container(record, container)

    def remove(self, reference: str) -> str:
        """Free all that a pod has, durably; the answer is its uid. One that was refused has nothing to free."""
        with self._lock:
            if self._records.find(reference) is None:
                for refusal in self._keeper.refused.values():
                    pod = refusal.pod.pod
                    if reference in (pod.uid, f"{pod.namespace}/{pod.name}"):
                        del self._keeper.refused[pod.uid]
                        return pod.uid
            record = self._found(reference)
            if record.phase not in (Phase.ADMITTED, Phase.PENDING):
                raise self._busy(reference, record)
            before, record.phase = record.phase, Phase.REMOVING
        try:
            self._keeper.take_away(record, before)
        except OSError as error:
            raise UserError(
                f"pod {reference}: cannot be removed from disk ({error}); mend the disk, try again"
            ) from None
        message = pod_message(PodView(record.pod, record.manifest))
        self._events.add(api.Event(kind=api.REMOVED, pod=message))
        return record.pod.uid

    def _admitted(self, reference: str) -> PodRecord:
        record = self._found(reference)
        if record.phase is not Phase.ADMITTED:
            raise self._busy(reference, record)
        return record

    def _found(self, reference: str) -> PodRecord:
        record = self._records.find(reference)
        if record is None:
            told = reference if reference.isprintable() else repr(reference)
            raise UnknownPodError(f"pod {told}: is not here; give the uid or namespace/name of an admitted pod")
        return record

    def _busy(self, reference: str, record: PodRecord) -> BusyError:
        return BusyError(f"pod {reference}: is {record.phase.value} just now; try again when that is done")

    # What plugins tell

    def devices_listed(self, resource: str, devices: tuple[Device, ...]) -> None:
        """A plugin's list has arrived, or its stream has ended and all its devices are unhealthy."""
        with self._lock:
            self._managers.devices.update(resource, devices)
            self._keeper.changed()
        self._keeper.save_now()

    def costs_told(self, resource: str, entries: tuple[Entry, ...]) -> None:
        """What the devices of the list that follows cost."""
        with self._lock:
            self._managers.update_costs(resource, entries)

    def plugin_gone(self, resource: str) -> None:
        """A plugin has not come back: its resource is gone, but its devices stay with the pods that have them."""
        with self._lock:
            self._managers.devices.forget(resource)
            self._managers.update_costs(resource, ())
            self._keeper.changed()
        self._keeper.save_now()

    # What others may see

    def change_taints(self, add: Iterable[Taint], remove: Iterable[Taint]) -> tuple[tuple[Taint, ...], tuple[str, ...]]:
        """Change the node's taints, durably; the answer is what there is now, and the uids of pods that had to go."""
        return self._tainter.change_taints(add, remove)

    def set_quota(self, namespace: str, amount: Fraction | None) -> None:
        """Limit the dedicated CPUs of a namespace, durably; None: no longer."""
        self._tainter.set_quota(namespace, amount)

    def snapshot(self) -> NodeSnapshot:
        """All that is held now; what happens later does not change it."""
        with self._lock:
            return self._views.snapshot(self._keeper.refused)


def _resized(before: Pod, after: Pod) -> str:
    """The field by which a pod asks for something else than before; empty: it does not."""
    if before.all_containers() != after.all_containers():
        return "spec.containers"
    return "" if before.resources == after.resources else "spec.resources"
