"""The explanation of a decision about a pod, as a value: every form that people and programs see is made of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from numaproof.harness.decision.trace import Trace
from numaproof.harness.explain.alignment import unaligned_container
from numaproof.harness.explain.blame import Blame, find_blame
from numaproof.harness.explain.remedies import Remedy, find_remedies
from numaproof.harness.explain.replica import Attempt, Replica, Setup, played, with_policy
from numaproof.harness.pods.pod import Pod
from numaproof.harness.vocabulary import KUBELET_POLICIES, SCOPES


@dataclass(frozen=True, slots=True)
class Cell:
    """What another policy and scope make of the pod."""

    policy: str
    scope: str
    told: "Explanation | None"  # on the node as it is, restarted with this policy and scope; None: it does not start
    afresh: Trace | None = None  # if the pods before had come under them too; None: the order is not known, or the same

    @property
    def trace(self) -> Trace | None:
        """The decision; None: the node does not start so."""
        return self.told.trace if self.told else None


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision about a pod, what decided, and what would help."""

    pod: Pod
    replica: Replica
    attempt: Attempt
    blame: Blame | None  # None: it is admitted, and on one NUMA node
    empty: Trace  # what the node would decide without any other pod
    remedies: tuple[Remedy, ...] = ()
    matrix: tuple[Cell, ...] = ()

    @property
    def trace(self) -> Trace:
        """The decision."""
        return self.attempt.trace


def explain(
    replica: Replica,
    pod: Pod,
    history: Sequence[Pod] | None = None,
    *,
    attempt: Attempt | None = None,
    remedies: bool = True,
    matrix: bool = True,
) -> Explanation:
    """Why a node decides about a pod as it does, and what would help; the node is as it was afterwards.

    `history`: the pods that are there, in the order in which they came, if that is known. `attempt`: the decision,
    where the node itself has made it already. Without `remedies` and `matrix`, neither what would help nor the other
    policies are tried: they take longest, and where the replica does not know all that takes part they are not true.
    """
    told = _explained(replica, pod, attempt or replica.attempt(pod))
    machine = replica.setup.description

    def is_wanted(trace: Trace) -> bool:
        aligned = not told.trace.verdict.admitted or unaligned_container(pod, trace, machine) is None
        return trace.verdict.admitted and aligned

    return replace(
        told,
        remedies=find_remedies(replica, pod, told.blame, is_wanted, history) if remedies and told.blame else (),
        matrix=_matrix(told, history) if matrix else (),
    )


def _explained(replica: Replica, pod: Pod, attempt: Attempt) -> Explanation:
    empty = Replica(replica.setup).decide(pod)
    return Explanation(pod, replica, attempt, find_blame(replica, pod, attempt, empty), empty)


def _matrix(told: Explanation, history: Sequence[Pod] | None) -> tuple[Cell, ...]:
    own = told.replica.setup
    cells = []
    for policy in dict.fromkeys((*KUBELET_POLICIES, own.config.topology_policy)):
        for scope in SCOPES:
            setup = with_policy(own, policy, scope)
            if setup is own:
                cells.append(Cell(policy, scope, told))
                continue
            restarted = told.replica.under(setup)
            other = _explained(restarted, told.pod, restarted.attempt(told.pod)) if restarted else None
            cells.append(Cell(policy, scope, other, _afresh(setup, told.pod, history, other.trace if other else None)))
    return tuple(cells)


def _afresh(setup: Setup, pod: Pod, history: Sequence[Pod] | None, other: Trace | None) -> Trace | None:
    """The decision if all pods before had come under the same policy; None: it is the same, or not known."""
    again = played(setup, history) if history else None
    trace = again.decide(pod) if again else None
    same = trace is None or (other is not None and (trace.verdict, trace.given) == (other.verdict, other.given))
    return None if same else trace
