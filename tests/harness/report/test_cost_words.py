"""Words about costs: numbers, and what is told where the optimum is not proven."""

from dataclasses import replace
from fractions import Fraction

import pytest

from numaproof.harness.cost.costs import Costs, Entry, Report
from numaproof.harness.report.cost_answer import Answer, answer
from numaproof.harness.report.cost_explain import explain_lines
from numaproof.harness.report.cost_words import number, percent, range_text, short, table


@pytest.mark.parametrize(
    ("cost", "text"),
    [(Fraction(22), "22"), (Fraction(850, 7), "121.43"), (Fraction(1, 2), "0.5"), (Fraction(100), "100")],
)
def test_a_cost_has_two_digits_at_most_behind_the_point(cost: Fraction, text: str) -> None:
    assert number(cost) == text


@pytest.mark.parametrize(("share", "text"), [("1/2", "50%"), ("43/100", "43%"), ("8/1000", "0.8%"), ("1", "100%")])
def test_a_share_in_percent(share: str, text: str) -> None:
    assert percent(Fraction(share)) == text


def test_several_costs_from_the_least_to_the_most() -> None:
    assert range_text(map(Fraction, (32, 10, 20))) == "10..32"
    assert range_text(map(Fraction, (10, 10))) == "10"


def test_a_long_text_is_cut_and_says_so() -> None:
    assert short("cpu0-3", 6) == "cpu0-3"
    assert short("cpu0-30", 6) == "cpu0-…"


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert table([["a", "1"], ["bcd", "100"]], right=[1], indent=" ") == [" a      1", " bcd  100"]


def two_cards() -> Answer:
    """cpu0 and cpu1 at 100 and 50 from the one card; the walk takes cpu0, which is not the best."""
    entries = tuple(
        Entry("example.com/gpu", ("gpu0",), "cpu", (f"cpu{cpu}",), Fraction(cost)) for cpu, cost in ((0, 20), (1, 10))
    )
    costs = Costs({"cpu": ("cpu0", "cpu1"), "example.com/gpu": ("gpu0",)}, (Report("example.com/gpu", entries),))
    return answer(costs, {"cpu": 1, "example.com/gpu": 1}, 1)


def test_what_is_not_proven_is_told_with_bound_and_gap() -> None:
    """As if the search had not proven more than 40: 50 is a quarter above."""
    found = two_cards()
    found = replace(found, solution=replace(found.solution, bound=Fraction(40), annealed=Fraction(50)))
    lines = list(explain_lines(found))
    assert "The proof: no set costs less than 40, so this is at most 25% above the best." in lines
    assert "The annealing brought the walk's 100 down to 50 (50% less):" in lines


def test_another_set_of_the_same_cost_is_told() -> None:
    found = two_cards()
    found = replace(found, solution=replace(found.solution, greedy=found.solution.cost))
    lines = list(explain_lines(found))
    at = lines.index("The search found nothing cheaper than the walk's 50.")
    assert lines[at + 1] == "Of sets that cost the same it took another: cpu cpu1 instead of cpu0."


def test_where_nothing_is_known_any_set_would_do() -> None:
    lines = list(explain_lines(answer(Costs({"cpu": ("cpu0", "cpu1")}, ()), {"cpu": 2}, 1)))
    assert "Nothing is known of what these cost together: any set would do." in lines
