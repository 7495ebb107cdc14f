"""What each policy makes of hints, where the recorded decisions do not say it by themselves."""

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import product
from operator import and_

import pytest

from numaproof.errors import UserError
from numaproof.harness.topology import Decision, Manager, NumaInfo, PolicyOptions, TopologyHint, policy_options
from numaproof.harness.topology.bitmask import mask_of
from numaproof.harness.topology.comparison import COMPARED, compare
from numaproof.harness.topology.policies import POLICIES, find_policy
from numaproof.harness.topology.scopes import find_scope

TWO_NODES = NumaInfo((0, 1))


def hint(*nodes: int, preferred: bool = True) -> TopologyHint:
    return TopologyHint(mask_of(nodes), preferred)


# The rows of the feedback document (15 July 2019). Its `current strict` became `restricted`.
DOCUMENT_ROWS = [
    ([[hint(0)], [hint(1)]], Decision(hint(), True), True, False),
    ([[hint(0, 1)], [hint(0)]], Decision(hint(0), True), True, False),
    ([[hint(0, 1)], [hint(0), hint(1), hint(0, 1)]], Decision(hint(0), True), True, True),
]


@pytest.mark.parametrize(("answers", "best_effort", "current_strict", "proposed_strict"), DOCUMENT_ROWS)
def test_rows_of_the_feedback_document(
    answers: list[list[TopologyHint]], best_effort: Decision, current_strict: bool, proposed_strict: bool
) -> None:
    providers = [{f"provider {number}": answer} for number, answer in enumerate(answers)]
    decisions = {name: policy(providers, TWO_NODES, PolicyOptions()) for name, policy in COMPARED["feedback"].items()}
    assert decisions["best-effort"] == best_effort
    assert decisions["restricted"] == Decision(best_effort.hint, current_strict)
    assert decisions["strict"].admit == proposed_strict


def best_hint_by_the_text(answers: Sequence[Sequence[TopologyHint]]) -> TopologyHint:
    """Steps 1 to 4 of the feedback document's algorithm, word for word; (None, False) is its nil default."""
    best = TopologyHint(None, False)  # 4a
    for combination in product(*answers):  # 1
        affinity = reduce(and_, (each.affinity or 0 for each in combination))  # 2
        merged = hint(*(node for node in TWO_NODES.nodes if affinity >> node & 1))
        merged = TopologyHint(merged.affinity, all(each.preferred for each in combination))  # 3
        if _criteria(merged) < _criteria(best):
            best = merged
    return best


def _criteria(merged: TopologyHint) -> tuple[bool, bool, int, int]:
    mask = merged.affinity or 0
    # 4b preferred, 4c at least one bit set, 4d fewer bits, 4e lower bits: less is better.
    return not merged.preferred, mask == 0, mask.bit_count(), mask


def test_the_feedbacks_merge_is_its_text_in_every_row() -> None:
    rows = list(compare(2, 2, COMPARED["feedback"], sets=True))
    assert len(rows) == 26 * 26
    for row in rows:
        best = best_hint_by_the_text(row.answers)
        assert row.decisions["best-effort"] == Decision(best, True), row.answers  # 5: always admit
        assert row.decisions["restricted"] == Decision(best, best.preferred), row.answers


def test_in_the_feedback_no_common_node_and_no_preference_stay_the_nil_default() -> None:
    providers = [{"gpu": [hint(0)]}, {"cpu": [hint(1, preferred=False)]}]
    decision = COMPARED["feedback"]["best-effort"](providers, TWO_NODES, PolicyOptions())
    assert decision == Decision(TopologyHint(None, False), True)


def test_strict_places_on_the_mask_that_all_prefer() -> None:
    providers = [{"gpu": [hint(0, 1)]}, {"cpu": [hint(0), hint(1), hint(0, 1)]}, {}]
    assert POLICIES["current"]["strict"](providers, TWO_NODES, PolicyOptions()) == Decision(hint(0, 1), True)


def test_since_v1_24_restricted_admits_what_strict_admits() -> None:
    both = {name: POLICIES["current"][name] for name in ("restricted", "strict")}
    rows = list(compare(2, 2, both, sets=True))
    assert len(rows) == 26 * 26
    assert not any(row.differing for row in rows)


def test_in_the_proposal_strict_refuses_more_than_restricted() -> None:
    both = {name: POLICIES["kep"][name] for name in ("restricted", "strict")}
    differing = [row for row in compare(2, 2, both) if row.differing]
    assert all(row.decisions["restricted"].admit for row in differing)
    assert ([hint(0)], [hint(0, 1)]) in [row.answers for row in differing]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, PolicyOptions()),
        ({"prefer-closest-numa-nodes": "true"}, PolicyOptions(prefer_closest_numa_nodes=True)),
        ({"max-allowable-numa-nodes": "64"}, PolicyOptions(max_allowable_numa_nodes=64)),
        # Recorded: the kubelet takes every text that Go reads as true or false, and a bool is none other than its text.
        *(({"prefer-closest-numa-nodes": text}, PolicyOptions(True)) for text in ("1", "t", "T", "TRUE", "True", True)),
        *(({"prefer-closest-numa-nodes": text}, PolicyOptions(False)) for text in ("0", "f", "F", "FALSE", "False")),
    ],
)
def test_options_are_read(given: dict[str, object], expected: PolicyOptions) -> None:
    assert policy_options(given) == expected


def test_options_of_the_policy_cost_are_read_with_it_alone() -> None:
    given = {"cost-maximum": "12.5", "cost-unlisted": "farthest", "cost-seed": 7, "max-allowable-numa-nodes": "9"}
    expected = PolicyOptions(False, 9, Fraction(25, 2), "farthest", 7)
    assert policy_options(given, "cost") == expected
    with pytest.raises(UserError, match="cost-maximum: is an option of the policy cost, this is none; drop it"):
        policy_options(given)


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"prefer-closest-numa-nodes": "yes"}, 'prefer-closest-numa-nodes: "yes"'),
        ({"prefer-closest-numa-nodes": "tRUE"}, 'prefer-closest-numa-nodes: "tRUE"'),
        ({"max-allowable-numa-nodes": "7"}, 'max-allowable-numa-nodes: "7"'),
        ({"max-allowable-numa-nodes": "many"}, 'max-allowable-numa-nodes: "many"'),
        ({"closest": "true"}, "closest: unknown option"),
    ],
)
def test_bad_options_are_named(given: dict[str, object], place: str) -> None:
    with pytest.raises(UserError, match=place):
        policy_options(given)


def test_the_policy_cost_needs_who_selects() -> None:
    with pytest.raises(UserError, match="topologyManagerPolicy: cost: nobody is there to select; give a selector"):
        Manager(TWO_NODES, "cost")


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(UserError, match=r'"preferred" is unknown \(known: none, best-effort, restricted'):
        find_policy("preferred")
    with pytest.raises(UserError, match=r'"node" is unknown \(known: container, pod'):
        find_scope("node")


def test_more_nodes_than_allowed_is_an_error_at_the_start() -> None:
    nine = NumaInfo(tuple(range(9)))
    with pytest.raises(UserError, match="unsupported on machines with more than 8 NUMA Nodes"):
        Manager(nine, "best-effort")
    with pytest.raises(UserError, match="unsupported on machines with more than 8 NUMA Nodes"):
        Manager(nine, "restricted", options=PolicyOptions(max_allowable_numa_nodes=9), semantics="kep")
    Manager(nine, "none")
    Manager(nine, "best-effort", options=PolicyOptions(max_allowable_numa_nodes=9))


def test_the_closest_nodes_need_distances() -> None:
    closest = PolicyOptions(prefer_closest_numa_nodes=True)
    Manager(NumaInfo((0, 2), {0: [10, 0, 20], 2: {0: 20, 2: 10}}), "restricted", options=closest)
    Manager(NumaInfo((0, 2)), "none", options=closest)
    with pytest.raises(UserError, match="distance of NUMA node 2 to node 0 is not known"):
        Manager(NumaInfo((0, 2), {0: [10, 0, 20], 2: {2: 10}}), "restricted", options=closest)


@pytest.mark.parametrize("nodes", [(0, 64), (-1,)])
def test_nodes_that_fit_no_mask_are_refused(nodes: tuple[int, ...]) -> None:
    with pytest.raises(UserError, match=r"NUMA node (64|-1) does not fit into a mask \(0 to 63\)"):
        NumaInfo(nodes)
