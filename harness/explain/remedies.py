"""What would help: changes that were tried, on the node as it is and on one that its pods come to again."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from numaproof.harness.decision.trace import Trace
from numaproof.harness.explain.blame import DEVICES, LEFT_BY_INIT, POLICY, QOS, Blame, find_blame
from numaproof.harness.explain.change import Change
from numaproof.harness.explain.config_changes import (
    aligning_policy,
    cpu_manager_on,
    laxer_policy,
    memory_manager_off,
    reserved_elsewhere,
    scope,
    without_cpu_option,
)
from numaproof.harness.explain.pod_changes import (
    Shrinking,
    fitting,
    guaranteed,
    matching_init,
    sharing,
    sharing_init,
    shrinking,
    whole_cores,
    wider,
)
from numaproof.harness.explain.removals import joint_removals, removal, removals
from numaproof.harness.explain.replica import Replica, Resident, Setup, played
from numaproof.harness.explain.stock import CPU
from numaproof.harness.pods.pod import Pod
from numaproof.harness.providers.memory.state import MEMORY

Goal = Callable[[Trace], bool]  # whether a decision is what the user wants

_MOST_REMOVALS = 3  # of single pods, that are offered
_MOST_SHRUNK = 8  # requests that are made smaller together
_MOST_TRIALS = 160  # all in all, so that no explanation takes long


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change that helps, and the decision that comes of it."""

    change: Change
    trace: Trace


def find_remedies(
    replica: Replica, pod: Pod, blame: Blame, goal: Goal, history: Sequence[Pod] | None
) -> tuple[Remedy, ...]:
    """The nearest changes after which the decision is the wanted one; each was tried.

    `history`: the pods that came before, in their order, if that is known, with those that were refused. Then a change
    has to help both on the node as it is, restarted, and on one to which they come again, where no pod that is here
    now may be turned away.
    """
    trials = _Trials(replica, pod, goal, history)
    found: list[Remedy] = []
    init = (*sharing_init(replica, pod), *matching_init(replica, pod))
    if blame.cause == LEFT_BY_INIT:
        found += _first(trials, init, len(init))
    if blame.what not in (POLICY, QOS):
        found += _first(trials, whole_cores(replica, pod))
        found += _first(trials, fitting(replica, pod, blame))
        less = shrinking(replica, pod, blame)
        found += (trials.largest(less) if less else []) or _joint_shrinking(trials, replica, pod, blame)
        found += _first(trials, wider(replica, pod, blame))
        found += [] if found or blame.cause == LEFT_BY_INIT else _first(trials, init)
        found += _removals(trials, replica, blame)
    else:
        found += _first(trials, guaranteed(replica, pod))
        found += _first(trials, aligning_policy(replica))
        found += _first(trials, cpu_manager_on(replica))
    found += _first(trials, scope(replica))
    found += _first(trials, without_cpu_option(replica))
    found += _first(trials, reserved_elsewhere(replica, blame))
    if blame.what in (CPU, MEMORY, DEVICES) and not found:
        found += _first(trials, sharing(replica, pod, blame))
    found += _first(trials, laxer_policy(replica))
    found += _first(trials, memory_manager_off(replica))
    return tuple(found)


def _changed(setup: Setup, change: Change) -> Setup:
    allocatable = setup.allocatable
    if allocatable is not None and change.kept_cpus:
        allocatable = {**allocatable, CPU: allocatable[CPU] - 1000 * change.kept_cpus}
    return replace(setup, config=change.config or setup.config, allocatable=allocatable)


def _first(trials: "_Trials", changes: Iterable[Change], most: int = 1) -> list[Remedy]:
    found: list[Remedy] = []
    for change in changes:
        if len(found) == most:
            break
        found += trials.remedy(change)
    return found


def _joint_shrinking(trials: "_Trials", replica: Replica, pod: Pod, blame: Blame) -> list[Remedy]:
    """Less of several things, where less of one is not enough: each time of what is to blame then."""
    changed, texts, asked = pod, [], {}  # type: Pod, list[str], dict[str, dict[str, str]]
    empty = Replica(replica.setup)
    for _ in range(_MOST_SHRUNK):
        less = shrinking(replica, changed, blame)
        if less is None:
            return []
        other: Blame | None = blame
        for amount in less.first:
            change = less.change(changed, amount)
            assert change.pod is not None
            attempt = replica.attempt(change.pod)
            other = (
                None
                if attempt.trace.verdict.admitted
                else find_blame(replica, change.pod, attempt, empty.decide(change.pod))
            )
            if other is None or (other.resource, other.container) != (blame.resource, blame.container):
                break
        else:
            return []
        changed = change.pod
        texts.append(change.text)
        for container, amounts in change.apply["pod"].items():
            asked.setdefault(container, {}).update(amounts)
        if other is None:
            return trials.remedy(Change(", and ".join(texts), {"pod": asked}, changed))
        blame = other
    return []


def _removals(trials: "_Trials", replica: Replica, blame: Blame) -> list[Remedy]:
    """Single pods that could go; where no single one is enough, the smallest set that is found."""
    single = _first(trials, removals(replica, blame), _MOST_REMOVALS)
    if single:
        return single
    sets = [found for group in joint_removals(replica, blame) if (found := _enough(trials, group))]
    best = min(sets, key=lambda remedy: len(remedy.change.gone), default=None)
    return [best] if best else []


def _enough(trials: "_Trials", group: Sequence[Resident]) -> Remedy | None:
    """So many of a group as are needed, the first of them first; None: not even all of them are enough."""
    if not trials.remedy(removal(group)):
        return None
    return next(
        (found[0] for count in range(2, len(group) + 1) if (found := trials.remedy(removal(group[:count])))), None
    )


class _Trials:
    """Tries changes, a limited number of them."""

    def __init__(self, replica: Replica, pod: Pod, goal: Goal, history: Sequence[Pod] | None) -> None:
        self._replica = replica
        self._pod = pod
        self._goal = goal
        self._history = history
        self._left = _MOST_TRIALS

    def remedy(self, change: Change) -> list[Remedy]:
        """The change as a remedy, if it is one."""
        first = None
        for trace in self._decisions(change):
            if trace is None or not self._goal(trace):
                return []
            first = first or trace
        return [Remedy(change, first)] if first else []

    def largest(self, less: Shrinking) -> list[Remedy]:
        """The most that the pod can ask for: the first amount that helps, and then what halving finds above it."""
        above = less.now
        for amount in less.first:
            found = self.remedy(less.change(self._pod, amount))
            if not found:
                above = amount
                continue
            below = amount
            while above - below > less.unit:
                middle = (below + above) // 2 // less.unit * less.unit
                better = self.remedy(less.change(self._pod, middle)) if middle > below else []
                below, above, found = (middle, above, better) if better else (below, max(middle, below + 1), found)
            return found
        return []

    def _decisions(self, change: Change) -> Iterator[Trace | None]:
        """What is decided after a change: on the node as it is, and on one to which its pods come again."""
        if self._left <= 0:
            return
        self._left -= 1
        pod = change.pod or self._pod
        if change.config is None and not change.gone:
            yield self._replica.decide(pod)
            return
        setup = _changed(self._replica.setup, change)
        restarted = self._replica.under(setup, without=change.gone)
        yield restarted.decide(pod) if restarted else None
        if self._history is not None and restarted is not None:
            again = played(setup, (one for one in self._history if one.uid not in change.gone))
            stays = self._replica.uids.difference(change.gone)
            yield again.decide(pod) if again is not None and stays <= again.uids else None
