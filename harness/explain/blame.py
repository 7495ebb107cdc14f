"""What decided about a pod: found by making the same decision again with one thing different."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from numaproof.harness.decision.fit import Shortage
from numaproof.harness.decision.trace import Trace
from numaproof.harness.explain.alignment import is_spread, unaligned_container
from numaproof.harness.explain.amounts import is_memory
from numaproof.harness.explain.pinning import why_not_pinned
from numaproof.harness.explain.places import ResourceHints, preferred_width
from numaproof.harness.explain.replica import Attempt, Replica
from numaproof.harness.explain.stock import CPU, Stock
from numaproof.harness.pods.pod import Pod
from numaproof.harness.providers.memory.state import MEMORY
from numaproof.harness.topology.numa import NumaInfo
from numaproof.harness.topology.placement import Step
from numaproof.harness.topology.policies import find_policy, policy_options
from numaproof.harness.vocabulary import SELECTING_POLICY

DEVICES, QOS, FIT, POLICY = "devices", "qos", "fit", "policy"

# Why a resource is to blame, in a word; reasons.py has the sentences.
IN_USE = "in use"  # an empty node would have it
TOO_MUCH = "too much"  # even an empty node does not have it on NUMA nodes that the policy accepts
APART = "apart"  # it is there, but not where the other resources are
WIDER = "wider"  # it needs more NUMA nodes than the others do, and the policy wants all alike
LEFT_BY_INIT = "left by init containers"  # what these leave must be covered
NOT_GIVEN = "not given"  # the allocation failed

Said = Mapping[str, ResourceHints]  # by resource


@dataclass(frozen=True, slots=True)
class Blame:
    """What decided that a pod is refused, or that it is not on one NUMA node."""

    what: str  # "cpu", "memory", "devices", "qos", "fit" or "policy"
    cause: str
    resource: str = ""
    container: str = ""  # empty: the pod as a whole
    stock: Stock | None = None  # the amounts of that resource
    others: tuple[str, ...] = ()  # the resources that it does not go with, or that are short as well
    alone: bool = False  # whether it would not do by itself, as if nothing else was asked for
    shortage: Shortage | None = None  # of the node as a whole, if that decided


def find_blame(replica: Replica, pod: Pod, attempt: Attempt, empty: Trace) -> Blame | None:
    """Why a pod is refused or, if it is admitted, why it is not on one NUMA node; None: it is.

    `empty` is the decision about it on the same node without any pod.
    """
    trace = attempt.trace
    if trace.shortage is not None:
        return Blame(FIT, IN_USE, trace.shortage.resource, shortage=trace.shortage)
    if trace.failure is not None:
        return _of_failure(attempt)
    if not trace.verdict.admitted:
        if trace.broken_rule is not None or not trace.steps or trace.policy == SELECTING_POLICY:
            return Blame(POLICY, trace.verdict.reason)
        return _Search(replica, pod, empty, trace.policy).of_step(trace.steps[-1], attempt.stocks)
    name = unaligned_container(pod, trace, replica.setup.description)
    return None if name is None else _unaligned(replica, pod, attempt, empty, name)


def _of_failure(attempt: Attempt) -> Blame:
    failure = attempt.trace.failure
    assert failure is not None
    if failure.provider == CPU:
        return Blame(CPU, NOT_GIVEN, CPU, failure.container, attempt.stocks.get(CPU))
    if failure.provider == MEMORY:
        stock = _scarcest(attempt.stocks, MEMORY)
        return Blame(MEMORY, NOT_GIVEN, stock.resource if stock else MEMORY, failure.container, stock)
    return Blame(DEVICES, NOT_GIVEN, failure.resource, failure.container, attempt.stocks.get(failure.resource))


def _unaligned(replica: Replica, pod: Pod, attempt: Attempt, empty: Trace, name: str) -> Blame:
    """Why a pod that is admitted is not on one NUMA node; `name`: the container that is not."""
    trace = attempt.trace
    unpinned = why_not_pinned(pod)
    machine = replica.setup.description
    spread = any(is_spread(one, machine) for container, one in trace.given.items() if name in ("", container))
    if unpinned is not None and not spread:
        return Blame(QOS, unpinned.cause, unpinned.resource, unpinned.container)
    if replica.setup.config.cpu_policy == "none" and not spread:
        return Blame(POLICY, "cpuManagerPolicy none")
    step = next((one for one in trace.steps if one.container == name), None)
    if step is None or trace.policy == SELECTING_POLICY:
        return Blame(POLICY, trace.policy)
    # Asked as the strictest policy asks: what keeps it from a single NUMA node?
    search = _Search(replica, pod, empty, "single-numa-node")
    return search.of_step(step, replica.stocks_for(pod, name)) or Blame(POLICY, trace.policy)


class _Search:
    """Asks a policy again and again, with something in the hints different."""

    def __init__(self, replica: Replica, pod: Pod, empty: Trace, policy: str) -> None:
        config, machine = replica.setup.config, replica.setup.description
        self._replica, self._pod, self._empty = replica, pod, empty
        self._numa = NumaInfo(machine.node_ids, machine.distances)
        self._policy = find_policy(policy, config.semantics)
        self._options = policy_options(config.topology_options, config.topology_policy)

    def of_step(self, step: Step, stocks: Mapping[str, Stock]) -> Blame | None:
        """The resource for which the policy does not accept what was said in a step; None: it accepts that."""
        said = _said(step)
        if self._accepts(said):
            return None

        alone = [one for one in said if not self._accepts({one: said[one]})]

        def blame(cause: str, found: Iterable[str], among: Iterable[str], key: Callable[[str], Any]) -> Blame:
            first = min(found, key=key)
            others = tuple(one for one in among if one != first)
            stock = _scarcest(stocks, first)
            resource = stock.resource if stock else first
            return Blame(_what(first), cause, resource, step.container, stock, others, bool(alone))

        empty = _said_in(self._empty, step)
        without_init = self._without_init(step)
        if alone:
            # What the pod itself leaves is the better reason than other pods: it may be there on an empty node, too.
            left = [one for one in alone if one in without_init and self._accepts({one: without_init[one]})]
            if len(left) == len(alone):
                return blame(LEFT_BY_INIT, left, alone, _order)
            others = [one for one in alone if one not in left]
            used = [one for one in others if one in empty and self._accepts({one: empty[one]})]
            # What no empty node has either is the better reason.
            found = [one for one in others if one not in used] or used
            cause = IN_USE if found == used else TOO_MUCH
            return blame(cause, found, alone, lambda one: (_coverage(_scarcest(stocks, one)), _order(one)))
        # Each of them can be had, but not together.
        apart = [one for one in said if self._accepts({other: said[other] for other in said if other != one})]
        candidates = apart or list(said)
        left = self._mended(said, candidates, without_init)
        if left:
            return blame(LEFT_BY_INIT, left, candidates, _order)
        used = self._mended(said, candidates, empty)
        if used:
            return blame(IN_USE, used, candidates, _order)
        widths = {one: preferred_width(said[one]) for one in candidates}
        widest = max(widths.values())
        cause = WIDER if min(widths.values()) < widest else APART
        return blame(cause, [one for one in candidates if widths[one] == widest], candidates, _order)

    def _accepts(self, said: Said) -> bool:
        return self._policy([said], self._numa, self._options).admit

    def _mended(self, said: Said, candidates: Iterable[str], instead: Said) -> list[str]:
        """The resources for which it would do if they alone were as they are `instead`."""
        return [one for one in candidates if one in instead and self._accepts({**said, one: instead[one]})]

    def _without_init(self, step: Step) -> Said:
        """What would be said if no init container had ended before; nothing if none has.

        In the scope pod nothing is left by then: all that the pod needs at any time is asked for at once.
        """
        before = tuple(takewhile(lambda one: one.name != step.container, self._pod.init_containers))
        if not step.container or not any(map(self._pod.ends, before)):
            return {}
        staying = tuple(one for one in self._pod.init_containers if one not in before or not self._pod.ends(one))
        return _said_in(self._replica.decide(replace(self._pod, init_containers=staying)), step)


def _said(step: Step) -> Said:
    """What was said of each resource; all kinds of memory go together, and have the same hints."""
    found: dict[str, Any] = {}
    for provider in step.hints.values():
        for resource, hints in provider.items():
            found[MEMORY if _what(resource) == MEMORY else resource] = hints
    return found


def _said_in(trace: Trace, step: Step) -> Said:
    """What was said in another decision where this one has a step; nothing if that did not come so far."""
    return next((_said(one) for one in trace.steps if one.container == step.container), {})


def _what(resource: str) -> str:
    if resource == CPU:
        return CPU
    return MEMORY if is_memory(resource) else DEVICES


def _order(resource: str) -> tuple[int, str]:
    """CPUs and memory can be had elsewhere, devices are where they are."""
    return (CPU, MEMORY, DEVICES).index(_what(resource)), resource


def _scarcest(stocks: Mapping[str, Stock], resource: str) -> Stock | None:
    """The amounts of a resource; of memory, those of the kind that is scarcest."""
    kinds = [one for name, one in stocks.items() if name == resource or _what(name) == resource]
    return min(kinds, key=_coverage, default=None)


def _coverage(stock: Stock | None) -> float:
    """How much of what is wanted the best NUMA node has."""
    return min(stock.best / stock.wanted, 1.0) if stock and stock.wanted else 1.0
