"""Many pods over many nodes, one after another: by the plain fit of whole nodes, or by the predicate in two phases.

Both ways try nodes in the same order, the least share of CPU in use first, then by name, so that what differs is what
knowing NUMA nodes adds. A pod that its node refuses is counted, not tried again, and holds nothing. By the predicate's
way, the node is passed over for others that ask for the same until it has changed; kube-scheduler does not remember.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Final, Literal

from numaproof.harness.affinity.needs import Needs, needs_of
from numaproof.harness.affinity.predicate import Misfit, Nearness, homes, load, misfit, plain_misfit, unwanted
from numaproof.harness.affinity.rooms import Rooms
from numaproof.harness.affinity.rules import PENDING
from numaproof.harness.affinity.targets import Decision, Target
from numaproof.harness.affinity.zones import CPU
from numaproof.harness.pods.affinity import missing_fields
from numaproof.harness.pods.pod import Pod
from numaproof.harness.topology.verdict import Verdict

Way = Literal["plain", "predicate"]
NEAREST: Final = 20  # nodes of which is told why a pod that fits none does not fit them
NOWHERE: Final = "Unschedulable"


@dataclass(frozen=True, slots=True)
class Placement:
    """What became of a pod."""

    pod: Pod  # with the fields that it was bound by
    node: str  # that it was sent to; empty: it fits none
    decision: Decision
    cpu: int  # that it asks for, in thousandths
    misfits: tuple[Misfit, ...] = ()  # of a pod that fits no node: the nearest ones
    not_fitting: int = 0  # of a pod that fits no node: how many these are


@dataclass(frozen=True, slots=True)
class Tally:
    """The pods by what became of them."""

    pods: int
    sent: int  # to a node
    admitted: int  # there
    waiting: int  # there, for fields that nobody fills
    refused: Mapping[str, int] = field(default_factory=dict)  # there, by reason
    unschedulable: int = 0
    cpu: int = 0  # of the admitted pods together, in thousandths

    @property
    def refusals(self) -> int:
        """How many were sent to a node that refused them."""
        return sum(self.refused.values())


def schedule(pods: Sequence[Pod], targets: Sequence[Target], way: Way) -> list[Placement]:
    """Place pods in their order; the targets have them afterwards."""
    scheduler = _Scheduler(targets, way)
    return [scheduler.place(pod) for pod in pods]


def tally(placements: Sequence[Placement]) -> Tally:
    """What became of the pods, counted."""
    sent = [one for one in placements if one.node]
    reasons = Counter(one.decision.verdict.reason for one in sent if not one.decision.verdict.admitted)
    waiting = reasons.pop(PENDING, 0)
    admitted = sum(one.decision.verdict.admitted for one in sent)
    refused = dict(sorted(reasons.items()))
    cpu = sum(one.cpu for one in sent if one.decision.verdict.admitted)
    return Tally(len(placements), len(sent), admitted, waiting, refused, len(placements) - len(sent), cpu)


@dataclass(slots=True)
class _Shape:
    """What is known of all pods that ask for the same: needs, and which nodes they did not fit."""

    needs: Needs
    misfits: dict[int, int] = field(default_factory=dict)  # nodes that they did not fit, by number: at which version
    refusals: dict[int, Misfit] = field(default_factory=dict)  # those of them that refused one, and why
    settled: int = -1  # the number of changes to any node at which it was known to fit none
    nearest: tuple[Misfit, ...] = ()  # as of then

    @property
    def cpu(self) -> int:
        return self.needs.requests.get(CPU, 0)


class _Scheduler:
    """Nodes in their order, and what is known of them."""

    def __init__(self, targets: Sequence[Target], way: Way) -> None:
        self._targets = targets
        self._way = way
        self._misfit = misfit if way == "predicate" else plain_misfit
        self._versions = [one.version for one in targets]
        self._keys = [(load(one.topology), one.topology.name, number) for number, one in enumerate(targets)]
        self._order = sorted(self._keys)
        self._rooms = Rooms([one.topology for one in targets])
        self._promising = self._rooms.promising if way == "predicate" else self._rooms.having
        self._changes = 0
        self._wanted: dict[tuple[object, ...], set[int]] = {}
        self._shapes: dict[tuple[object, ...], _Shape] = {}

    def place(self, pod: Pod) -> Placement:
        """Find the first node that a pod fits, and send it there."""
        shape = self._shape(pod)
        found = None
        if shape.settled != self._changes:
            found = self._first(pod, shape)
        if found is None:
            return self._nowhere(pod, shape)
        target = self._targets[found]
        sent = pod
        binds = self._way == "predicate" and bool(missing_fields(pod))
        if binds:
            sent = target.bound(pod, homes(pod, shape.needs, target.topology)[0])
        decision = target.send(sent, shape.needs, chosen=binds)
        if target.version != self._versions[found]:
            self._move(found)
        elif self._way == "predicate":
            self._remember(found, shape, decision)
        return Placement(sent, target.topology.name, decision, shape.cpu)

    def _remember(self, number: int, shape: _Shape, decision: Decision) -> None:
        """A node that refused a pod would refuse the next of its shape, too, as long as it does not change."""
        verdict, name = decision.verdict, self._targets[number].topology.name
        why = f"it refused a pod like this: {verdict.reason}: {verdict.message}"
        shape.misfits[number] = self._versions[number]
        shape.refusals[number] = Misfit(name, Nearness.ZONES, why)

    def _shape(self, pod: Pod) -> _Shape:
        # Copies of a pod share their containers; the pods are alive as long as this is, and so are the ids.
        rest = (pod.tolerations, pod.node_name, pod.numa_node_id, pod.cpu_affinity)
        key = (id(pod.init_containers), id(pod.containers), id(pod.resources), *rest)
        shape = self._shapes.get(key)
        if shape is None:
            # Others that ask for the same were written down anew; what they ask for cannot be hashed, its text can.
            alike = (repr((pod.init_containers, pod.containers, pod.resources)), *rest)
            shape = self._shapes[key] = self._shapes.setdefault(alike, _Shape(needs_of(pod)))
        return shape

    def _first(self, pod: Pod, shape: _Shape) -> int | None:
        for number in self._promising(shape.needs, self._wanting(pod)):
            if shape.misfits.get(number) == self._versions[number]:
                continue
            if self._misfit(pod, shape.needs, self._targets[number].topology) is None:
                return number
            shape.misfits[number] = self._versions[number]
        return None

    def _nowhere(self, pod: Pod, shape: _Shape) -> Placement:
        if shape.settled != self._changes:
            shape.nearest = self._nearest(pod, shape)
            shape.settled = self._changes
        nodes = len(self._targets)
        decision = Decision(Verdict(False, NOWHERE, f"0 of {nodes} nodes fit"))
        return Placement(pod, "", decision, shape.cpu, shape.nearest, nodes)

    def _nearest(self, pod: Pod, shape: _Shape) -> tuple[Misfit, ...]:
        """The nearest of the nodes, none of which it fits: first those that have enough, then those that want it."""
        wanting = [*self._wanting(pod)]
        order = (number for _, _, number in self._order)
        found = (
            self._misfit(pod, shape.needs, self._targets[number].topology) or shape.refusals.get(number)
            for number in dict.fromkeys(chain(self._rooms.having(shape.needs, wanting), wanting, order))
        )
        return tuple(islice(filter(None, found), NEAREST))

    def _wanting(self, pod: Pod) -> Iterator[int]:
        """The nodes that a pod is for by names and taints, which do not change; in their order."""
        key = pod.node_name, pod.tolerations
        if key not in self._wanted:
            nodes = enumerate(self._targets)
            self._wanted[key] = {number for number, one in nodes if unwanted(pod, one.topology) is None}
        wanted = self._wanted[key]
        return (number for _, _, number in self._order if number in wanted)

    def _move(self, number: int) -> None:
        """Put a node that changed where it belongs now."""
        before = self._keys[number]
        del self._order[bisect_left(self._order, before)]
        target = self._targets[number]
        self._keys[number] = (load(target.topology), target.topology.name, number)
        insort(self._order, self._keys[number])
        self._versions[number] = target.version
        self._rooms.update(number, target.topology)
        self._changes += 1
