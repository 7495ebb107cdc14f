"""Reports on conformance, of results made by hand: what readers are told, and that no word of a subject is markup."""

import io
import shlex
from dataclasses import replace

import pytest
import yaml
from rich.console import Console

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.conformance.about import About
from numaproof.harness.conformance.catalogue import BY_ID
from numaproof.harness.conformance.exchange import Called, Ended, Event, Exchange, Happened, Listed, Opened, Registered
from numaproof.harness.conformance.finding import CheckVerdict
from numaproof.harness.conformance.happenings import Happening, Method, Probe, Session
from numaproof.harness.conformance.printed import Printed
from numaproof.harness.conformance.result import CheckResult, Report
from numaproof.harness.report.conformance_html import html
from numaproof.harness.report.conformance_junit import junit
from numaproof.harness.report.conformance_terminal import show
from numaproof.harness.report.conformance_yaml import as_yaml
from numaproof.harness.report.exchange_text import lines_about
from numaproof.harness.report.printed_text import last_lines
from tests.harness.report.junit_shape import check_shape

RESOURCE = "example.com/gpu"


def listed(time: float, *ids: str) -> Listed:
    response = api.ListAndWatchResponse(devices=[api.Device(ID=name, health="Healthy") for name in ids])
    return Listed(Session.CALLS, time, RESOURCE, 1, response, response.ByteSize())


EVENTS: tuple[Event, ...] = (
    Happened(Session.EARLY, 0.5, Happening.SUBJECT_EXITED, "panic: <no>", 2),
    Registered(Session.CALLS, 1.0, RESOURCE, "v1beta1", "g.sock", None, Method.REGISTER, accepted=True),
    Opened(Session.CALLS, 1.5, RESOURCE, 1, Probe.REGISTERED),
    listed(2.0, "<a>"),
    Called(Session.CALLS, 3.0, RESOURCE, Method.ALLOCATE, Probe.SINGLE, api.AllocateRequest(), None, "INTERNAL", "", 1),
    Happened(Session.CALLS, 4.0, Happening.STREAM_CANCELLED, RESOURCE),
    Ended(Session.CALLS, 5.0, RESOURCE, 1, "CANCELLED", "", expected=True),
)
REPORT = Report(
    (
        CheckResult(BY_ID["dp/register/1"], CheckVerdict.PASS, "version v1beta1"),
        CheckResult(BY_ID["dp/list/3"], CheckVerdict.FAIL, "'<OK>'\x00 & more\nsecond line"),
        CheckResult(BY_ID["dp/allocate/1"], CheckVerdict.FAIL, "INTERNAL"),
        CheckResult(BY_ID["dp/allocate/3"], CheckVerdict.WARN, "unknown ids"),
        CheckResult(BY_ID["dp/watcher/1"], CheckVerdict.SKIP, "it registers by itself"),
        CheckResult(BY_ID["dp/list/8"], CheckVerdict.ERROR, "KeyError: 'x'"),
    ),
    Exchange(EVENTS),
    12.3456,
    7,
)
KNOWN = ("dp/allocate/1",)


def printed(report: Report, verbose: bool = False, width: int = 200) -> str:
    output = io.StringIO()
    show(report, Console(file=output, width=width), KNOWN, verbose=verbose)
    return output.getvalue()


def test_junit_counts_what_stands_against_the_subject_and_has_no_character_that_xml_cannot_hold() -> None:
    [suite] = check_shape(junit(REPORT, KNOWN))
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["6", "1", "1", "1"]
    parts = {case.get("name"): [part for part in case if part.tag != "properties"] for case in suite}
    inside = {name: [(part.tag, part.get("message")) for part in of_case] for name, of_case in parts.items()}
    assert inside == {
        "dp/register/1": [],
        "dp/list/3": [("failure", "'<OK>'? & more")],
        "dp/allocate/1": [("system-out", None)],  # known
        "dp/allocate/3": [("system-out", None)],  # a warning
        "dp/watcher/1": [("skipped", "it registers by itself")],
        "dp/list/8": [("error", "KeyError: 'x'")],
    }
    skipped = suite.findtext("testcase[@name='dp/watcher/1']/skipped")
    assert "it registers by itself" in str(skipped)  # GitLab shows the text alone
    known = suite.findtext("testcase[@name='dp/allocate/1']/system-out")
    assert known is not None
    assert known.startswith("fail (known)\nexpected: ")


def test_yaml_is_the_whole_report() -> None:
    data = yaml.safe_load(as_yaml(REPORT, KNOWN))
    assert (data["resources"], data["seconds"], data["seed"]) == ([RESOURCE], 12.346, 7)
    assert data["verdicts"] == {"pass": 1, "fail": 2, "warn": 1, "skip": 1, "error": 1}
    entries = {entry["id"]: entry for entry in data["checks"]}
    assert entries["dp/list/3"]["seen"] == "'<OK>'\x00 & more\nsecond line"
    assert [entries[name].get("known") for name in ("dp/list/3", "dp/allocate/1", "dp/register/1")] == [
        False,
        True,
        None,
    ]
    assert "exchange" not in entries["dp/register/1"]
    assert len(entries["dp/allocate/1"]["exchange"]) == 1


def test_no_word_of_the_subject_is_markup_in_html() -> None:
    page = html(REPORT, KNOWN)
    assert "&lt;OK&gt;" in page
    assert "<OK>" not in page
    assert "<a>" not in page  # a device's id
    assert "fail (known)" in page


def test_a_terminal_shows_every_result_where_that_is_wanted() -> None:
    lines = printed(REPORT, verbose=True).splitlines()
    for line, result in zip(lines[1:], REPORT.results, strict=False):
        assert [result.check.id, result.check.level, result.verdict] == line.split()[:3]
    assert "version v1beta1" in lines[1]


def test_a_table_says_where_it_leaves_out_of_what_was_seen() -> None:
    long, lines = "seen " * 40, "first line\nsecond line"
    results = [
        CheckResult(BY_ID[f"dp/list/{n}"], CheckVerdict.PASS, seen) for n, seen in ((1, long), (2, lines), (3, "all"))
    ]
    report = replace(REPORT, results=tuple(results))
    told = [line.split("  ")[-1] for line in printed(report, verbose=True).splitlines()[1:4]]
    assert told == [long[:99] + "…", "first line …", "all"]


def test_a_terminal_explains_the_violations_and_ends_with_the_verdict() -> None:
    text = printed(REPORT)
    for result in REPORT.results:
        is_explained = result.check.remedy in text
        assert is_explained is (result.violated and result.check.id not in KNOWN)
        assert (result.check.id in text) is (result.verdict not in ("pass", "skip"))
    assert "dp/allocate/1 fail (known): " in text
    assert ["the", "suite's", "own", "fault:", "KeyError:", "'x'"] in [line.split() for line in text.splitlines()]
    assert text.splitlines()[-2:] == [
        "example.com/gpu: 1 pass, 2 fail, 1 warn, 1 skip, 1 error in 12.3 s (seed 7)",
        "not conformant: dp/list/3, dp/list/8",
    ]


def test_in_a_narrow_log_the_command_of_a_check_is_whole_and_no_line_ends_in_blanks() -> None:
    command = ("./my plugin", *(f"--device=example-{number}" for number in range(10)))
    words = tuple(map(shlex.quote, command))
    report = replace(REPORT, about=About(subject=" ".join(words), command=words))
    lines = printed(report, verbose=True, width=60).splitlines()
    assert [line for line in lines if line != line.rstrip()] == []
    [alone] = [line for line in lines if "this alone:" in line and "--only dp/list/3 " in line]
    assert shlex.split(alone)[-len(command) :] == list(command)


def test_a_check_is_shown_what_it_is_about_in_its_own_sessions() -> None:
    assert [line.split()[2:] for line in lines_about(BY_ID["dp/list/9"], REPORT.exchange)] == [
        line.split()
        for line in (
            "calls -> ListAndWatch stream 1 opened [registered]",
            'calls <- ListAndWatch stream 1: 16 bytes {devices { ID: "<a>" health: "Healthy" }}',
            "calls .. stream cancelled example.com/gpu",
            "calls .. stream 1 ended as expected: CANCELLED",
        )
    ]
    [allocation] = lines_about(BY_ID["dp/allocate/1"], REPORT.exchange)
    assert allocation.endswith("-> Allocate [single] {} <- INTERNAL  (1.000 s)")
    assert lines_about(BY_ID["dp/register/11"], REPORT.exchange) == [
        "   0.500 s  early    .. subject exited (2) panic: <no>"
    ]


def test_who_listed_no_healthy_device_is_told_that_no_allocation_was_checked() -> None:
    sick = api.ListAndWatchResponse(devices=[api.Device(ID="a", health="Unhealthy")])
    lists = Exchange((listed(1.0), Listed(Session.CALLS, 2.0, RESOURCE, 1, sick, sick.ByteSize())))
    passed = (CheckResult(BY_ID["dp/list/2"], CheckVerdict.PASS, "no id is listed twice"),)
    empty = replace(REPORT, results=passed, exchange=lists)
    for told in (printed(empty), html(empty)):
        assert "t listed no healthy device, so no allocation was checked: show it one" in told
    for report in (REPORT, replace(empty, exchange=Exchange(()))):
        assert "no healthy device" not in printed(report) + html(report)


@pytest.mark.parametrize(
    ("check_id", "session", "given_up"),
    [
        ("dp/register/6", Session.RESTART, Happening.NOT_REGISTERED_AGAIN),
        ("dp/register/9", Session.REFUSED, Happening.GAVE_UP),
    ],
)
def test_what_a_plugin_printed_while_it_was_waited_for_is_told(
    check_id: str, session: Session, given_up: Happening
) -> None:
    registered = Registered(session, 1.0, RESOURCE, "v1beta1", "g.sock", None, Method.REGISTER, accepted=True)
    events = (registered, Happened(session, 2.0, Happening.KUBELET_STARTED), Happened(session, 32.0, given_up))
    report = replace(REPORT, exchange=Exchange(events), output=(Printed(session, 7.0, "cannot register"),))
    assert given_up.text in lines_about(BY_ID[check_id], report.exchange)[-1]
    [line] = last_lines(BY_ID[check_id], report, 6)
    assert "cannot register" in line


def test_of_many_events_and_of_long_messages_a_part_is_shown() -> None:
    many = Exchange(tuple(listed(n, f"device-{n}") for n in range(100)))
    lines = lines_about(BY_ID["dp/list/2"], many)
    assert (len(lines), lines[30]) == (61, "... 40 more ...")
    assert ("device-0" in lines[0], "device-99" in lines[-1]) == (True, True)
    [line] = lines_about(BY_ID["dp/list/2"], Exchange((listed(1, *(f"{n:040}" for n in range(1000))),)))
    assert "{1000 devices: " in line
    assert len(line) < 500
