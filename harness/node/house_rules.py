"""The node's taints and quotas, and what they, and the places of other pods, mean for a pod.

Nothing here locks: the lock of the admissions guards it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from numaproof.errors import UserError
from numaproof.harness.affinity import ledger, rules
from numaproof.harness.affinity.ledger import Holding
from numaproof.harness.affinity.node_topology import DeviceStock, ZoneStatus, zone_statuses
from numaproof.harness.affinity.quota import dedicated, exceeded
from numaproof.harness.affinity.rules import Site
from numaproof.harness.decision.managers import Managers
from numaproof.harness.decision.trace import Trace
from numaproof.harness.node.records import PodRecord, PodRecords
from numaproof.harness.node.snapshot import BindingView, QuotaView
from numaproof.harness.node.state.affinity import AffinityState
from numaproof.harness.pods.affinity import is_bound, memory_policy
from numaproof.harness.pods.pod import Pod
from numaproof.harness.pods.taints import Taint
from numaproof.harness.topology.verdict import Verdict


@dataclass(slots=True)
class HouseRules:
    """What this node demands of pods beyond a kubelet."""

    site: Site
    managers: Managers
    records: PodRecords
    state: AffinityState = field(default_factory=AffinityState)

    def settled(self, pod: Pod) -> Pod:
        """The pod with what the node's taints decide for it."""
        return replace(pod, numa_memory=memory_policy(pod, self.state.taints))

    def check(self, pod: Pod) -> None:
        """A UserError, with the field, if the pod's place cannot be on this machine."""
        rules.check_fields(pod, self.site, self.state.taints)

    def check_restored(self, pod: Pod) -> None:
        """A UserError if a pod that was here before a restart is bound to what the machine does not have any more."""
        try:
            rules.check_fields(pod, self.site, ())
        except UserError as error:
            raise UserError(
                f"the machine, or what is reserved of it, changed since a pod was bound: {error}; "
                "start the node as it was and remove the pod, or give it a new root"
            ) from None

    def refusal(self, pod: Pod) -> Verdict | None:
        """Why the node does not take a pod at all; None: it may stay, and wait if it has to."""
        others = (record.pod for record in self.records if record.pod.uid != pod.uid)
        return rules.refusal(pod, self.site, self.state.taints) or exceeded(pod, others, self.state.quotas)

    def unwelcome(self, pod: Pod) -> Verdict | None:
        """Why a pod that is here cannot stay."""
        return rules.untolerable(pod, self.state.taints)

    def clash(self, pod: Pod) -> Verdict | None:
        """Why a bound pod cannot have its place; None: it can, or is not bound.

        The rules of taints are among the reasons: some may have come while it waited.
        """
        if not is_bound(pod):
            return None
        here = self.site
        return rules.refusal(pod, here, self.state.taints) or rules.clash(
            pod, self._others(pod), self._used(pod), here.zones
        )

    def broken(self, pod: Pod, trace: Trace) -> Verdict | None:
        """Why what a pod was given cannot be, though the managers gave it; None: it can.

        It may not be beyond the pod's place, nor have CPUs of a bound pod, nor leave less of a NUMA node than pods that
        are bound there were promised.
        """
        holding = Holding(pod, trace.given)
        others = self._others(pod)
        return (
            rules.outside(holding, self.site.zones)
            or (rules.given_twice(holding, others) if pod.cpu_affinity is None else None)
            or rules.overcommitted([*others, holding], self.site.zones, self.managers.memory.state)
        )

    def statuses(self, devices: Mapping[str, DeviceStock]) -> tuple[ZoneStatus, ...]:
        """The NUMA nodes with what is left of each."""
        return zone_statuses(self.site.zones, self._used(None), devices)

    def binding(self, record: PodRecord, *, waits: bool) -> BindingView | None:
        """Where a pod is bound to, and what that confines it to unless it waits; None: nowhere."""
        pod = record.pod
        if not is_bound(pod):
            return None
        home = ledger.home_of(pod, self.site.zones)
        mems = (home,) if home is not None and pod.numa_memory == "strict" else ()
        if waits:
            return BindingView(pod.numa_node_id, pod.cpu_affinity, frozenset(), ())
        return BindingView(pod.numa_node_id, pod.cpu_affinity, self._cpuset(record), mems)

    def quotas(self) -> tuple[QuotaView, ...]:
        """Every quota, and how much of it is in use."""
        pods = [record.pod for record in self.records]
        return tuple(QuotaView(name, most, dedicated(pods, name)) for name, most in sorted(self.state.quotas.items()))

    def _cpuset(self, record: PodRecord) -> frozenset[int]:
        """The CPUs that all containers of a bound pod may use now."""
        own = Holding(record.pod, record.assignments).cpus
        home = ledger.home_of(record.pod, self.site.zones)
        allowed = record.pod.cpu_affinity
        if allowed is None:
            allowed = next(zone.pod_cpus for zone in self.site.zones if zone.id == home)
        return own | (allowed & self.managers.cpu.shared_pool)

    def _others(self, pod: Pod | None) -> list[Holding]:
        uid = None if pod is None else pod.uid
        return [Holding(one.pod, one.assignments) for one in self.records if one.assignments and one.pod.uid != uid]

    def _used(self, pod: Pod | None) -> dict[int, dict[str, int]]:
        """What others than a pod have of each NUMA node."""
        return ledger.used(self.site.zones, self._others(pod), self.managers.memory.state)


def changed_quotas(quotas: Mapping[str, Fraction], namespace: str, amount: Fraction | None) -> dict[str, Fraction]:
    """The quotas with that of a namespace replaced, or gone (None)."""
    others = {name: most for name, most in quotas.items() if name != namespace}
    return others if amount is None else {**others, namespace: amount}


def changed_taints(taints: Iterable[Taint], add: Iterable[Taint], remove: Iterable[Taint]) -> tuple[Taint, ...]:
    """The taints without those that are removed, and with those that are added, which replace others of their key and
    effect. A removal without an effect is for all effects.
    """
    gone, new = tuple(remove), tuple(add)
    left = [
        one
        for one in taints
        if not any(other.key == one.key and other.effect in ("", one.effect) for other in gone)
        and not any((other.key, other.effect) == (one.key, one.effect) for other in new)
    ]
    return (*left, *new)
