"""Comparing the policies for every combination of hints, as the feedback on the original proposal does."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from numaproof.errors import UserError
from numaproof.harness.topology.bitmask import NodeMask, masks_over
from numaproof.harness.topology.hints import TopologyHint
from numaproof.harness.topology.merge import ResourceHints, filter_hints
from numaproof.harness.topology.numa import NumaInfo
from numaproof.harness.topology.policies import POLICIES, Decision, Policy, PolicyOptions, ProvidersHints, none, strict
from numaproof.harness.topology.reach import reachable

Answer = list[TopologyHint]  # what one provider says
MOST_ROWS = 200_000
MOST_NODES = 8
MOST_PROVIDERS = 16  # more than enough to have too many rows


@dataclass(frozen=True, slots=True)
class Row:
    """What each provider says, and what each policy makes of it."""

    answers: tuple[Answer, ...]
    decisions: Mapping[str, Decision]

    @property
    def differing(self) -> bool:
        """Whether some policies admit and others do not."""
        return len({decision.admit for decision in self.decisions.values()}) > 1


def merge_of_feedback(resources: Sequence[ResourceHints], numa: NumaInfo) -> TopologyHint:
    """The merge as the feedback describes it: like v1.18's, but a preferred hint wins even with no node in it.

    Without a preferred one, and without a node in any, the default of its step 4a stays: nil, not preferred.
    """
    for preferred in (True, False):
        masks = [_masks(hints, numa, preferred=preferred) for hints in resources]
        best = min(reachable(masks, numa.all_nodes), key=lambda mask: (not mask, mask.bit_count(), mask), default=None)
        if best or (preferred and best is not None):
            return TopologyHint(best, preferred)
    return TopologyHint(None, False)


def _best_effort(providers: ProvidersHints, numa: NumaInfo, _options: PolicyOptions) -> Decision:
    return Decision(merge_of_feedback(filter_hints(providers), numa), admit=True)


def _restricted(providers: ProvidersHints, numa: NumaInfo, _options: PolicyOptions) -> Decision:
    best = merge_of_feedback(filter_hints(providers), numa)
    return Decision(best, admit=best.preferred)


# `restricted` is what the feedback calls the current strict policy, `strict` the one that it proposes.
COMPARED: Mapping[str, Mapping[str, Policy]] = {
    "current": POLICIES["current"],
    "kep": POLICIES["kep"],
    "feedback": {"none": none, "best-effort": _best_effort, "restricted": _restricted, "strict": strict},
}


def compare(nodes: int, providers: int, policies: Mapping[str, Policy], *, sets: bool = False) -> Iterator[Row]:
    """A row for every combination of one hint of each provider; with `sets`, of one non-empty set of hints."""
    _check_size(nodes, providers, sets=sets)
    numa = NumaInfo(tuple(range(nodes)))
    options = PolicyOptions()
    for answers in product(list(_sets(numa) if sets else _single_hints(numa)), repeat=providers):
        hints = [{f"provider {number}": answer} for number, answer in enumerate(answers)]
        yield Row(answers, {name: policy(hints, numa, options) for name, policy in policies.items()})


def _check_size(nodes: int, providers: int, *, sets: bool) -> None:
    if nodes < 1 or providers < 1:
        raise UserError(f"{providers} providers on {nodes} nodes: give at least one of each")
    masks = (1 << min(nodes, MOST_NODES)) - 1
    rows = (3**masks - 1 if sets else 2 * masks) ** min(providers, MOST_PROVIDERS)
    if nodes > MOST_NODES or providers > MOST_PROVIDERS or rows > MOST_ROWS:
        raise UserError(
            f"{providers} providers on {nodes} nodes have more than {MOST_ROWS} combinations of hints "
            "(ask for fewer nodes or providers)"
        )


def _single_hints(numa: NumaInfo) -> Iterator[Answer]:
    for mask in masks_over(numa.nodes):
        yield [TopologyHint(mask, True)]
        yield [TopologyHint(mask, False)]


def _sets(numa: NumaInfo) -> Iterator[Answer]:
    masks = list(masks_over(numa.nodes))
    for flags in product((None, True, False), repeat=len(masks)):
        chosen = [TopologyHint(mask, flag) for mask, flag in zip(masks, flags, strict=True) if flag is not None]
        if chosen:
            yield chosen


def _masks(hints: ResourceHints, numa: NumaInfo, *, preferred: bool) -> set[NodeMask]:
    listed = hints if isinstance(hints, Sequence) else hints.hints()
    return {
        numa.all_nodes if hint.affinity is None else hint.affinity for hint in listed if hint.preferred or not preferred
    }
