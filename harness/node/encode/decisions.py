"""How the Topology Manager decided about a pod, as messages of the control service."""

from collections.abc import Callable, Sequence
from heapq import nlargest
from itertools import islice

from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.cost.pairs import pairs
from numaproof.harness.decision.selection import Account
from numaproof.harness.topology.bitmask import ids_of, masks_over
from numaproof.harness.topology.hints import HintFamily, TopologyHint
from numaproof.harness.topology.placement import Step

# Over many nodes there are more hints than anybody can read: so many of the smallest sets of nodes are looked at.
LISTED_MASKS = 4096
LISTED_PAIRS = 1000  # of a selection: two of a hundred CPUs are 4950 pairs
# Of a decision in short.
FEW_HINTS = 16
GLANCED_MASKS = 256

Hinted = Sequence[TopologyHint] | HintFamily | None


def hint_message(hint: TopologyHint) -> api.Hint:
    """A hint; without nodes where any will do."""
    if hint.affinity is None:
        return api.Hint(preferred=hint.preferred)
    return api.Hint(affinity=api.NodeSet(nodes=ids_of(hint.affinity)), preferred=hint.preferred)


def decision_message(step: Step) -> api.Decision:
    """All that there is to tell."""
    return _message(step, _all_hints, _selection_message)


def short_decision_message(step: Step) -> api.Decision:
    """What takes no time to tell: few hints of a resource, the preferred ones first, and no pairs of a selection."""
    return _message(step, _few_hints, _layers_message)


def _message(
    step: Step,
    wishes: Callable[[str, Hinted], api.ResourceHints],
    selection: Callable[[Account], api.Selection],
) -> api.Decision:
    account = account_of(step)
    return api.Decision(
        container=step.container,
        providers=[
            api.ProviderHints(provider=name, resources=[wishes(*one) for one in sorted(hints.items())])
            for name, hints in step.hints.items()
        ],
        merged=hint_message(step.decision.hint),
        admitted=step.decision.admit,
        rule=step.decision.rule,
        selection=None if account is None else selection(account),
    )


def _all_hints(resource: str, hints: Hinted) -> api.ResourceHints:
    return api.ResourceHints(
        resource=resource, no_preference=hints is None, hints=map(hint_message, _listed(hints, LISTED_MASKS))
    )


def _few_hints(resource: str, hints: Hinted) -> api.ResourceHints:
    listed = _listed(hints, GLANCED_MASKS)
    few = sorted(listed, key=lambda hint: not hint.preferred)[:FEW_HINTS]
    return api.ResourceHints(
        resource=resource,
        no_preference=hints is None,
        hints=map(hint_message, few),
        left_out=len(listed) - len(few),
    )


def account_of(step: Step) -> Account | None:
    """What a policy that selects leaves of its choice; None: there was nothing to choose, or nobody chooses."""
    account = step.selection.account if step.selection else None
    return account if isinstance(account, Account) else None


def _selection_message(account: Account) -> api.Selection:
    solution = account.solution
    told = _layers_message(account)
    everything = list(pairs(account.costs, solution.chosen))
    dearest = nlargest(LISTED_PAIRS, everything, key=lambda pair: pair.cost)
    told.pairs.extend(
        api.SelectionPair(
            one=str(pair.one),
            other=str(pair.other),
            there=float(pair.there),
            back=float(pair.back),
            cost=float(pair.cost),
        )
        for pair in dearest
    )
    told.pairs_left_out = len(everything) - len(dearest)
    told.unlisted_decided = account.unlisted_decided()
    return told


def _layers_message(account: Account) -> api.Selection:
    solution = account.solution
    return api.Selection(
        layers=[
            api.SelectionLayer(
                resource=resource,
                wanted=account.request[resource],
                offered=len(account.available[resource]),
                chosen=chosen,
            )
            for resource, chosen in solution.chosen.items()
        ],
        cost=float(solution.cost),
        raw_cost=float(solution.raw_cost),
        bound=float(solution.bound),
        optimal=solution.optimal,
        greedy=float(solution.greedy),
        annealed=None if solution.annealed is None else float(solution.annealed),
        seed=solution.seed,
        maximum=None if account.maximum is None else float(account.maximum),
        unlisted=account.costs.unlisted,
    )


def _listed(hints: Hinted, most_masks: int) -> list[TopologyHint]:
    """Hints one by one; of a rule over many nodes those among so many of the smallest sets of nodes."""
    if not isinstance(hints, HintFamily):
        return list(hints or ())
    masks = islice(masks_over(ids_of(hints.nodes)), most_masks)
    return [*hints.also, *(TopologyHint(mask, hints.prefers(mask)) for mask in masks if hints.accepts(mask))]
