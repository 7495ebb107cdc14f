"""Annotations, of results made by hand: where they stand, that nothing breaks out of them, how GitLab knows them."""

import json
import re
from pathlib import Path

from numaproof.harness.conformance.catalogue import BY_ID
from numaproof.harness.conformance.finding import CheckVerdict
from numaproof.harness.conformance.result import CheckResult, Report
from numaproof.harness.report.annotations import MOST_SHOWN, Annotation, Severity, code_quality, github_commands
from numaproof.harness.report.conformance_annotations import of_checks
from numaproof.harness.report.matrix import InstanceResult
from numaproof.harness.report.scenario_annotations import of_scenarios
from tests.harness.report.test_conformance import KNOWN, REPORT

ROOT = Path("/builds/group/project")
FILE = ROOT / "scenarios/theme/story.yaml"
COMMAND = re.compile(r"::(error|warning) ([^:]*)::(.*)")


def result(instance: str, *differences: str, outcome: str = "failed", path: Path = FILE) -> InstanceResult:
    words = {"id": f"{path.parent.name}/{path.stem}[{instance}]", "theme": "theme", "machine": "m"}
    return InstanceResult(words, outcome, 0.25, "", path=str(path), differences=differences)


def decoded(line: str) -> tuple[str, dict[str, str], str]:
    """A command as the runner reads it."""
    found = COMMAND.fullmatch(line)
    assert found is not None, line
    kind, words, data = found.groups()
    split = (word.split("=", 1) for word in words.split(","))
    codes = {"%2C": ",", "%3A": ":", "%0A": "\n", "%0D": "\r", "%25": "%"}

    def decode(text: str) -> str:
        return re.sub("%2C|%3A|%0A|%0D|%25", lambda code: codes[code.group()], text)

    return kind, {key: decode(value) for key, value in split}, decode(data)


def test_a_failure_stands_at_the_line_of_its_step_once_for_all_instances() -> None:
    step = f"{FILE}:12: steps[1]: expected admission"
    results = [
        result("b", step, "the node: 100% full, sorry: no"),
        result("a", step, "the node: 90% full"),
        result("c", outcome="passed"),
        result("d", f"{FILE}:3: steps[0]: was refused"),
        result("e", "the node ended: panic"),
    ]
    found = [decoded(line) for line in github_commands(of_scenarios(results), ROOT)]
    file = "scenarios/theme/story.yaml"
    assert found == [
        (
            "error",
            {"file": file, "line": "12", "title": "theme/story (2 instances)"},
            "steps[1]: expected admission\nthe node: 90% full\nin theme/story[a], theme/story[b]",
        ),
        (
            "error",
            {"file": file, "line": "3", "title": "theme/story"},
            "steps[0]: was refused\nin theme/story[d]",
        ),
        ("error", {"file": file, "title": "theme/story"}, "the node ended: panic\nin theme/story[e]"),
    ]


def test_a_file_outside_of_the_repository_is_not_named_to_github() -> None:
    elsewhere = Path("/opt/suites/theme/story.yaml")
    [line] = github_commands(of_scenarios([result("a", f"{elsewhere}:1: steps[0]: no", path=elsewhere)]), ROOT)
    assert decoded(line)[1] == {"title": "theme/story"}


def test_nothing_that_a_program_printed_becomes_a_command_or_a_property() -> None:
    nasty = "a\r\n::set-output name=x::y\u2028::warning::z\x0b::stop-commands::q\x1b]0;t\x07%0A%3A,file=/etc/passwd::"
    [line] = github_commands([Annotation(Severity.ERROR, "r", nasty, nasty, ROOT / "a:b,c=d.yaml", 3)], ROOT)
    assert line.isprintable()
    kind, words, text = decoded(line)
    assert (kind, list(words), words["file"]) == ("error", ["file", "line", "title"], "a:b,c=d.yaml")
    assert words["title"] == text
    assert text.splitlines()[1] == "::set-output name=x::y"
    assert text.endswith("%0A%3A,file=/etc/passwd::")


def test_of_more_than_github_shows_the_last_tells_how_many() -> None:
    def some(count: int, severity: Severity) -> list[Annotation]:
        return [Annotation(severity, f"r{n}", f"title {n}", "text") for n in range(count)]

    assert len(github_commands(some(MOST_SHOWN, Severity.ERROR), ROOT)) == MOST_SHOWN
    lines = github_commands([*some(MOST_SHOWN + 15, Severity.ERROR), *some(2, Severity.WARNING)], ROOT)
    assert [decoded(line)[0] for line in lines] == ["error"] * MOST_SHOWN + ["warning"] * 2
    assert decoded(lines[MOST_SHOWN - 1])[2].startswith("16 more, for which there is no room here: title 9, title 10,")


def test_a_violation_is_told_with_its_remedy() -> None:
    found = [decoded(line) for line in github_commands(of_checks(REPORT, KNOWN, ROOT / "numaproof.yaml"), ROOT)]
    assert [(kind, words["title"], words["file"]) for kind, words, _ in found] == [
        ("error", "dp/list/3: health words (MUST)", "numaproof.yaml"),
        ("error", "dp/list/8: the stream stays open (the suite's own fault)", "numaproof.yaml"),
        ("warning", "dp/allocate/3: invalid ids (SHOULD)", "numaproof.yaml"),
    ]
    assert "seen: '<OK>'? & more\nsecond line\nwhy: " in found[0][2]
    assert found[0][2].endswith(f"remedy: {BY_ID['dp/list/3'].remedy}")
    assert [list(decoded(line)[1]) for line in github_commands(of_checks(REPORT, KNOWN), ROOT)] == [["title"]] * 3


def test_what_is_known_and_gone_is_told_at_the_list() -> None:
    lines = github_commands(of_checks(REPORT, ["dp/register/1"], None, ROOT / "known.txt"), ROOT)
    healed = [words for _, words, text in map(decoded, lines) if "take it off the list" in text]
    assert healed == [{"file": "known.txt", "title": "dp/register/1: API version"}]


def test_where_nothing_was_checked_that_is_told() -> None:
    skipped = CheckResult(BY_ID["dp/watcher/1"], CheckVerdict.SKIP, "it registers by itself")
    [one] = of_checks(Report((skipped,), REPORT.exchange, 1, 1))
    assert one.text == "nothing was checked"


def test_code_quality_has_what_gitlab_needs() -> None:
    results = [result("a", f"{FILE}:12: steps[1]: no"), result("b", f"{FILE}:3: steps[0]: no")]
    annotations = [*of_scenarios(results), *of_checks(REPORT, KNOWN)]
    issues = json.loads(code_quality(annotations, ROOT, "numaproof.yaml"))
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
    assert [(issue["location"]["path"], issue["location"]["lines"]["begin"]) for issue in issues] == [
        ("scenarios/theme/story.yaml", 12),
        ("scenarios/theme/story.yaml", 3),
        *[("numaproof.yaml", 1)] * 3,
    ]
    assert [issue["check_name"] for issue in issues[:3]] == [
        "numaproof theme/story steps[1]",
        "numaproof theme/story steps[0]",
        "numaproof dp/list/3",
    ]
    assert [issue["severity"] for issue in issues[2:]] == ["major", "minor", "major"]
    assert code_quality([], ROOT, "x") == "[]\n"


def test_a_fingerprint_stays_while_lines_move_and_amounts_change() -> None:
    def fingerprints(*results: InstanceResult) -> list[str]:
        issues = json.loads(code_quality(of_scenarios(results), ROOT, "x"))
        return [issue["fingerprint"] for issue in issues]

    one, other = fingerprints(result("a", f"{FILE}:12: steps[1]: no"), result("a", f"{FILE}:14: steps[2]: no"))
    moved = [result("b", f"{FILE}:13: steps[1]: yes"), result("a", f"{FILE}:13: steps[1]: 2 CPUs")]
    assert one != other
    assert fingerprints(*moved) == [one]
    assert fingerprints(result("a", f"{FILE}:12: steps[1]: no")) == [one]
