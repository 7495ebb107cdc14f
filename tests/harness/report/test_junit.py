"""JUnit's XML of scenarios, of results made by hand: what CI systems show of it."""

import json
from pathlib import Path

import numaproof
from numaproof.harness.report.junit import Case, junit_xml
from numaproof.harness.report.matrix import InstanceResult
from numaproof.harness.report.scenario_junit import scenario_junit
from tests.harness.report.junit_shape import check_shape

ROOT = Path("/builds/group/project")
FILE = ROOT / "scenarios/theme/story.yaml"
SHIPPED = Path(numaproof.__file__).parent / "suites/scenarios/views/all.yaml"


def result(name: str, outcome: str, *differences: str, reason: str = "", path: Path = FILE) -> InstanceResult:
    words = {"id": name, "theme": name.partition("/")[0], "machine": "laptop", "policy": "none"}
    return InstanceResult(words, outcome, 0.25, reason, path=str(path), differences=differences)


RESULTS = [
    result("views/all[laptop-none]", "passed", path=SHIPPED),
    result("theme/story[b]", "failed", "the node ended: \x1b[31mpanic\x00", f"{FILE}:7: steps[0]: was <refused>"),
    result("theme/story[c]", "skipped", reason="Skipped: needs 2 NUMA nodes"),
    result("theme/story[a]", "failed", f"{FILE}:12: steps[1]: expected 'a & b'\nwas 'c'", "the node: \ud800\uffff"),
    result("theme/story[d]", "failed"),
]


def test_an_instance_is_shown_by_its_scenario_its_name_and_its_file() -> None:
    [suite] = check_shape(scenario_junit(RESULTS, 2.5, ROOT))
    assert (suite.get("name"), suite.get("time")) == ("numaproof run", "2.500")
    assert [(case.get("classname"), case.get("name"), case.get("line"), case.get("time")) for case in suite] == [
        ("theme/story", "theme/story[a]", "12", "0.250"),
        ("theme/story", "theme/story[b]", "7", "0.250"),
        ("theme/story", "theme/story[c]", None, "0.250"),
        ("theme/story", "theme/story[d]", None, "0.250"),
        ("views/all", "views/all[laptop-none]", None, "0.250"),
    ]
    assert [case.get("file") for case in suite][:4] == ["scenarios/theme/story.yaml"] * 4
    assert str(suite[-1].get("file")).endswith("suites/scenarios/views/all.yaml")
    words = suite.find("testcase[@name='theme/story[a]']/properties/property[@name='numaproof']")
    assert words is not None
    assert json.loads(str(words.get("value"))) == dict(RESULTS[3].words)


def test_a_failure_begins_with_its_first_difference_and_has_all() -> None:
    [suite] = check_shape(scenario_junit(RESULTS, 2.5, ROOT))
    failures = {case.get("name"): part for case in suite for part in case.findall("failure")}
    assert failures["theme/story[a]"].get("message") == f"{FILE}:12: steps[1]: expected 'a & b'"
    assert failures["theme/story[a]"].text == f"{FILE}:12: steps[1]: expected 'a & b'\nwas 'c'\nthe node: ??"
    assert failures["theme/story[b]"].get("message") == "the node ended: ?[31mpanic?"
    assert failures["theme/story[b]"].text == f"the node ended: ?[31mpanic?\n{FILE}:7: steps[0]: was <refused>"
    assert failures["theme/story[d]"].text == "failed"  # nobody told why
    [skipped] = suite.iter("skipped")
    assert (skipped.get("message"), skipped.text) == ("needs 2 NUMA nodes", "needs 2 NUMA nodes")


def test_a_run_of_nothing_is_a_suite_of_nothing() -> None:
    [suite] = check_shape(scenario_junit([], 0, ROOT))
    assert (suite.get("tests"), list(suite)) == ("0", [])


def test_every_character_may_be_printed_anywhere() -> None:
    every = "".join(map(chr, (*range(0x300), 0x2028, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF, 0x1F600)))
    case = Case(every, every, "failure", "t", "m", f"m{every}", every, every, 1, 0.1, {every: every})
    [[case_element]] = list(check_shape(junit_xml("n", [case], 0.1)))
    assert "\U0001f600" in str(case_element.findtext("failure"))
    assert "\u2028" in str(case_element.get("name"))
