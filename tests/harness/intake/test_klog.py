"""Lines of klog as people paste them: behind prefixes, wrapped, split, cut off; what they tell stays the same."""

import json
import textwrap

import pytest

from numaproof.errors import UserError
from numaproof.harness.intake.kubelet_log import read_kubelet_log
from numaproof.harness.intake.log_facts import LoggedDecision
from tests.harness.intake.kubelet_logs import CPU, FIRST, LOGS, V1_36, behind


@pytest.fixture(params=LOGS)
def log(request: pytest.FixtureRequest) -> str:
    """The log of one version."""
    return LOGS[request.param]


def the_decision(text: str) -> LoggedDecision:
    facts = read_kubelet_log(text, "log")
    assert facts.notes == ()
    [decision] = facts.decisions
    return decision


def is_the_decision(text: str) -> bool:
    decision = the_decision(text)
    assert decision.pod in ("default/web", "web")  # v1.18 tells no namespace
    return decision == LoggedDecision(decision.pod, "app", CPU, FIRST)


def test_each_version_tells_the_same(log: str) -> None:
    assert is_the_decision(log)


# What stands before the lines, around them and between them.


@pytest.mark.parametrize(
    "prefix",
    [
        "Jan 17 10:57:41 node-1 kubelet[52570]: ",
        "2026-01-17T10:57:41+0000 node-1 kubelet[52570]: ",
        "2026-01-17T10:57:41.086255123Z ",
        "2026-01-17T10:57:41.086255123Z stderr F ",
        "[ 1234.567890] node-1 k3s[1]: ",
        "node-1: ",
        "> ",
        "        ",
    ],
)
def test_prefixes(log: str, prefix: str) -> None:
    assert is_the_decision(behind(prefix, log))


@pytest.mark.parametrize("version", [version for version in LOGS if version != "json"])
def test_without_headers(version: str) -> None:
    log = LOGS[version]
    lines = [line.split("] ", 1)[1] for line in log.splitlines()]
    assert is_the_decision("\n".join(lines))
    assert is_the_decision("\n".join(f"... {line}" for line in lines))


@pytest.mark.parametrize("width", [60, 80, 97, 132, 200])
@pytest.mark.parametrize("prefix", ["", "Jan 17 10:57:41 node-1 kubelet[52570]: "])
def test_lines_that_a_terminal_wrapped(log: str, width: int, prefix: str) -> None:
    pieces = []
    for line in behind(prefix, log).splitlines():
        pieces += [line[at : at + width] for at in range(0, len(line), width)]
    assert is_the_decision("\n".join(pieces) + "\n")


@pytest.mark.parametrize("width", [72, 100])
def test_lines_that_a_mail_wrapped(log: str, width: int) -> None:
    pieces = []
    for line in log.splitlines():
        pieces += textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)
    assert is_the_decision("\n".join(pieces) + "\n")


def test_a_line_that_journald_split() -> None:
    """Lines of more than 48 KiB; the rest has a prefix and no header."""
    prefix = "Jan 17 10:57:41 node-1 kubelet[52570]: "
    lines = behind(prefix, V1_36).splitlines()
    for at in range(len(prefix) + 60, len(lines[2])):
        text = "\n".join([*lines[:2], lines[2][:at], prefix + lines[2][at:], *lines[3:]])
        assert is_the_decision(text + "\n")


def test_lines_within_an_export(log: str) -> None:
    exported = "\n".join(json.dumps({"MESSAGE": line, "_PID": "52570"}) for line in log.splitlines())
    assert is_the_decision(exported + "\n")


def test_curled_quotes(log: str) -> None:
    curled, opening = "", True
    for character in log:
        curled += ("“" if opening else "”") if character == '"' else character
        opening ^= character == '"'
    assert is_the_decision(curled)


def test_other_lines_and_fences_are_passed_over(log: str) -> None:
    other = 'I0117 10:57:41.086262   52570 kubelet.go:2525] "SyncLoop ADD" source="api" pods=["default/web"]'
    lines = [
        one for line in log.splitlines() for one in (line, other, "Jan 17 10:57:41 node-1 systemd[1]: Started run.")
    ]
    text = "What we see:\n```\n# journalctl -u kubelet\n" + "\n".join(lines) + "\n```\nSo it is on NUMA node 0.\n"
    assert is_the_decision(text)


def test_every_prefix_of_a_log_is_facts_or_one_error(log: str) -> None:
    text = behind("Jan 17 10:57:41 node-1 kubelet[52570]: ", log)
    told = 0
    for end in range(len(text)):
        try:
            facts = read_kubelet_log(text[:end], "log")
        except UserError:
            assert not told, "what was told is not lost by more of it"
            continue
        told += 1
        for decision in facts.decisions:
            assert decision.pod.endswith("web")
            assert decision.container in (None, "app")
            assert decision.hints in ({}, CPU)
            assert decision.merged in (None, FIRST)
    assert told > len(text) / 2


def test_every_rest_of_a_log_is_facts_or_one_error(log: str) -> None:
    for start in range(len(log)):
        try:
            facts = read_kubelet_log(log[start:], "log")
        except UserError:
            continue
        for decision in facts.decisions:
            assert decision.hints in ({}, CPU)
            assert decision.merged in (None, FIRST)


# Lines of which something is missing.


@pytest.mark.parametrize("mark", [">", "...", "…", ""])
def test_lines_that_a_pager_cut(mark: str) -> None:
    """The pod stands at the end of a line: of a line that is cut off it is not known whose hints they are."""
    cut = "".join(f"{line[:150]}{mark if len(line) > 150 else ''}\n" for line in V1_36.splitlines())
    facts = read_kubelet_log(cut, "log")
    assert [one.hints for one in facts.decisions] == [{}]
    assert facts.decisions[0].merged == FIRST
    assert not facts.decisions[0].is_whole
    assert "log: 1 line of hints is cut off, elided or damaged; what is whole of them counts" in facts.notes


def test_hints_that_were_left_out() -> None:
    elided = V1_36.replace('},{"NUMANodeAffinity":3,"Preferred":false}', "},...")
    facts = read_kubelet_log(elided, "log")
    assert facts.decisions == (LoggedDecision("default/web", "app", {}, FIRST, is_whole=False),)


def test_a_container_that_is_cut_off_is_not_the_pod() -> None:
    line = '"TopologyHints" hints={"memory":null} pod="default/web"'
    for end in (line, line + " ", line + " containerN", line + ' containerName="ap', line + " ..."):
        [decision] = read_kubelet_log(end, "log").decisions
        assert decision.container is None
    [decision] = read_kubelet_log(line + "\n", "log").decisions
    assert decision.container == ""


def test_a_log_of_damaged_lines_is_facts() -> None:
    """Any character of a line may be lost."""
    for at in range(len(V1_36)):
        facts = read_kubelet_log(V1_36[:at] + V1_36[at + 1 :], "log")
        assert all(one.pod for one in facts.decisions)


def test_an_empty_line_ends_a_line() -> None:
    line = '"TopologyHints" hints={"memory":null} pod="default/web"'
    text = line + '\n \n{containerName="app"}\n'
    assert read_kubelet_log(text, "log").decisions[0].container == ""


def test_an_old_line_that_is_cut_off() -> None:
    text = "[topologymanager] Topology Admit Handler\n[topologymanager] TopologyHints for pod 'web', contai>\n"
    facts = read_kubelet_log(text, "log")
    assert facts.decisions == ()
    assert facts.notes[0] == "log: 1 line of hints is cut off, elided or damaged; what is whole of them counts"
