"""The table of docs/costs.md is what the code computes: looked at where that is cheap; the benchmark looks at all."""

import pytest

from benchmarks.cost_table import BEGIN, END, PAGE, cases, costs_of, dearer, line
from numaproof.fake_sysfs import preset, preset_names


def table() -> list[str]:
    return PAGE.read_text().partition(BEGIN)[2].partition(END)[0].strip().splitlines()


def test_every_preset_has_a_line() -> None:
    named = [row.split("|")[1].strip() for row in table()[2:]]
    assert named == list(preset_names())


@pytest.mark.parametrize("name", ["laptop", "xeon-2s", "dgx1-v100"])
def test_the_line_of_a_preset_is_what_the_policies_pick(name: str) -> None:
    found = costs_of(name)
    assert line(name, found) in table()
    assert dearer(found) == []


def test_the_policies_are_asked_ten_different_things() -> None:
    asked = {tuple(sorted(case.limits.items())) for case in cases(preset("dgx1-v100"))}
    assert len(asked) == 10
