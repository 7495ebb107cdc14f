"""False rules about taints, places, quotas and pods that wait: each is a rule of the NUMA proposal, flipped."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from numaproof.harness.affinity import ledger, rules
from numaproof.harness.affinity.ledger import Holding
from numaproof.harness.decision.managers import Managers
from numaproof.harness.node import house_rules, saving
from numaproof.harness.node.admission import Admissions, ConflictError
from numaproof.harness.node.bind_token import BindToken
from numaproof.harness.node.house_rules import HouseRules
from numaproof.harness.node.keeping import Keeper
from numaproof.harness.node.records import PodRecord
from numaproof.harness.node.state.affinity import AffinityState
from numaproof.harness.pods.affinity import CPUS_FIELD
from numaproof.harness.pods.pod import Pod
from numaproof.harness.pods.taints import Toleration
from numaproof.harness.providers.cpu import manager as cpu_manager
from numaproof.harness.providers.cpu.manager import CpuManager
from numaproof.harness.providers.cpu.topology import CpuTopology
from numaproof.harness.topology import manager as topology_manager


def _nothing(_rule: Any) -> Any:
    """A rule that has no objection."""
    return lambda *_asked: None


def _with_wildcards(missing_fields: Any) -> Any:
    """Tolerations for everything ask for fields, too."""

    def missing(pod: Pod) -> tuple[str, ...]:
        found: tuple[str, ...] = missing_fields(pod)
        wildcard = any(not one.key for one in pod.tolerations) and pod.cpu_affinity is None
        return (*found, CPUS_FIELD) if wildcard else found

    return missing


def _with_those_that_wait(others: Any) -> Any:
    """Pods that wait count as pods that are there."""

    def found(asked: HouseRules, pod: Pod | None) -> list[Holding]:
        held: list[Holding] = others(asked, pod)
        return held + [Holding(one.pod, {}) for one in asked.records if one.waits and one.pod is not pod]

    return found


def _of_the_node_alone(check: Any) -> Any:
    return lambda asked, pod: check(asked, replace(pod, cpu_affinity=None))


def _of_those_that_run(refusal: Any) -> Any:
    """A quota that knows nothing of pods that wait."""

    def asked_without(asked: HouseRules, pod: Pod) -> Any:
        running: Any = [one for one in asked.records if not one.waits]
        return refusal(replace(asked, records=running), pod)

    return asked_without


def _told_again(bind: Any) -> Any:
    def bound(admissions: Admissions, reference: str, *told: Any) -> Any:
        try:
            return bind(admissions, reference, *told)
        except ConflictError:
            return admissions._again(admissions._found(reference))

    return bound


def _as_it_was_told(wait_again: Any) -> Any:
    def kept(keeper: Keeper, record: PodRecord) -> None:
        told = record.pod, record.manifest
        wait_again(keeper, record)
        record.pod, record.manifest = told

    return kept


def _of_exclusive_cpus(claims: Any) -> Any:
    """Promises that count for nothing."""

    def held(holding: Holding, zones: Any) -> Any:
        return claims(replace(holding, pod=replace(holding.pod, numa_node_id=None, cpu_affinity=None)), zones)

    return held


def _of_one_cpu(bind: Any) -> Any:
    """Every container but the first has one CPU of its pod's."""

    def given(manager: CpuManager, pod: Pod, container: Any, cpus: int) -> None:
        first = container.name == pod.all_containers()[0].name
        bind(manager, pod, container, cpus if first else cpus & -cpus)

    return given


def _without_those_that_waited(restore: Any) -> Any:
    def restored(managers: Any, records: Any, loaded: Any) -> None:
        restore(managers, records, replace(loaded, pods=tuple(one for one in loaded.pods if not one.waits)))

    return restored


def _without_state(init: Any) -> Any:
    """Taints and quotas that the node has forgotten when it starts."""

    def started(admissions: Admissions, loaded: Any, quotas: dict[str, Fraction]) -> None:
        init(admissions, replace(loaded, affinity=AffinityState()), quotas)

    return started


# name -> (where the rule stands, its name there, from the rule to a false one)
AFFINITY_MUTATIONS: dict[str, tuple[object, str, Callable[[Any], Any]]] = {
    "any-toleration-matches": (Toleration, "matches", lambda _: lambda *_asked: True),
    "tolerations-match-by-key": (Toleration, "matches", lambda _: lambda own, taint: own.key in ("", taint.key)),
    "nobody-is-evicted": (HouseRules, "unwelcome", _nothing),
    "fractions-are-dedicated": (rules, "not_whole", lambda _: lambda *_asked: ""),
    "dedicated-cpus-are-shared": (cpu_manager, "is_dedicated", lambda _: lambda *_asked: False),
    "any-place-is-free": (HouseRules, "clash", _nothing),
    "sets-of-cpus-are-not-checked": (HouseRules, "check", _of_the_node_alone),
    "numa-nodes-are-promised-twice": (ledger, "claims", _of_exclusive_cpus),
    "nobody-waits": (rules, "missing_fields", lambda _: lambda *_asked: ()),
    "wildcards-wait": (rules, "missing_fields", _with_wildcards),
    "pods-that-wait-hold-cpus": (HouseRules, "_others", _with_those_that_wait),
    "quota-forgets-pods-that-wait": (HouseRules, "refusal", _of_those_that_run),
    "quota-is-ignored": (house_rules, "exceeded", _nothing),
    "started-pods-are-bound": (Admissions, "bind", _told_again),
    "refused-binds-are-kept": (Keeper, "wait_again", _as_it_was_told),
    "anybody-may-bind": (BindToken, "allows", lambda _: lambda *_asked: True),
    "hints-forget-promises": (cpu_manager, "kept", lambda _: lambda *_asked: 0),
    "containers-have-parts": (CpuManager, "_bind", _of_one_cpu),
    "places-are-no-hints": (Managers, "bound_nodes", _nothing),
    "places-are-given-up": (topology_manager, "_kept_within", lambda _: lambda _bound, decision: decision),
    "halves-of-cores-are-offered": (CpuTopology, "covering", lambda _: lambda _topology, cpus, _level: cpus),
    "strict-memory-is-ignored": (house_rules, "memory_policy", _nothing),
    "preferred-memory-is-strict": (house_rules, "memory_policy", lambda _: lambda *_asked: "strict"),
    "pods-that-wait-are-forgotten": (saving, "restore", _without_those_that_waited),
    "taints-are-forgotten": (Admissions, "start", _without_state),
}
