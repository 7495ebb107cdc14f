"""How a node decided about a pod, as it told it with its answer, as values that are kept."""

from collections.abc import Iterable

from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.rig.explained import selection_lines
from numaproof.harness.scenario.record import DecisionRecord, HintRecord, WishRecord


def decision_records(decisions: Iterable[api.Decision]) -> tuple[DecisionRecord, ...]:
    """One for each container, or a single one for a whole pod; none where nobody was asked."""
    return tuple(map(_record, decisions))


def _record(decision: api.Decision) -> DecisionRecord:
    if decision.rule == "cost":
        lines = tuple(selection_lines(decision))
        return DecisionRecord(decision.container, (), None, decision.admitted, lines)
    wishes = tuple(
        WishRecord(one.resource, tuple(map(_hint, one.hints)), one.no_preference, one.left_out)
        for provider in decision.providers
        for one in provider.resources
    )
    return DecisionRecord(decision.container, wishes, _hint(decision.merged), decision.admitted)


def _hint(hint: api.Hint) -> HintRecord:
    return HintRecord(tuple(hint.affinity.nodes) if hint.HasField("affinity") else None, hint.preferred)
