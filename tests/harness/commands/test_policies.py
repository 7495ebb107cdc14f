"""`numaproof policies`, as a user calls it."""

import json

import pytest

from numaproof.harness.cli import main


def table(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[list[str]]:
    assert main(["policies", *arguments]) == 0
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_every_combination_of_two_hints_on_two_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    rows = table(capsys, "--policies", "best-effort,restricted,strict")
    assert rows[0] == ["provider", "0", "provider", "1", "best-effort", "restricted", "strict"]
    assert len(rows) == 2 + 36 + 1
    assert ["{0}+", "{0,1}+", "admit", "{0}", "REJECT", "{0}", "REJECT", "any"] in rows
    assert rows[-1][:2] == ["36", "rows;"]


def test_the_feedback_documents_rows(capsys: pytest.CaptureFixture[str]) -> None:
    rows = table(capsys, "--semantics", "feedback", "--differing", "--policies", "best-effort,restricted,strict")
    assert ["{0}+", "{1}+", "admit", "{}+", "admit", "{}+", "REJECT", "any"] in rows
    assert ["{0,1}+", "{0}+", "admit", "{0}+", "admit", "{0}+", "REJECT", "any"] in rows
    assert not [row for row in rows if row[:2] == ["{0}+", "{0}+"]]  # there all admit


def test_json_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies", "--nodes", "3", "--providers", "1", "--json", "--differing"]) == 0
    document = json.loads(capsys.readouterr().out)
    rows = document["rows"]
    assert all(row["differing"] for row in rows)
    # One provider: what it does not prefer is refused by three policies, what spans nodes by single-numa-node.
    assert len(rows) == 7 + 4
    wide = next(row for row in rows if row["providers"] == [[{"mask": [0, 1], "preferred": True}]])
    assert wide["decisions"]["restricted"] == {"admit": True, "hint": {"mask": [0, 1], "preferred": True}}
    assert wide["decisions"]["single-numa-node"] == {"admit": False, "hint": {"mask": None, "preferred": False}}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nodes", "0"], "give at least one of each"),
        (["--nodes", "64"], "more than 200000 combinations"),
        (["--providers", "1000000"], "more than 200000 combinations"),
        (["--policies", "preferred"], '"preferred" is not compared here'),
    ],
)
def test_bad_sizes_and_names_are_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["policies", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
