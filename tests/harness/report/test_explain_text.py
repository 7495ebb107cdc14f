"""An explanation for people in a terminal."""

import pytest

from numaproof.harness.explain.beside import Beside
from numaproof.harness.explain.explanation import Explanation
from numaproof.harness.explain.reasons import why
from numaproof.harness.report.explain_text import WIDTH, explanation_lines
from numaproof.harness.vocabulary import KUBELET_POLICIES
from tests.harness.report.explained import GPU, explained, pod


def lines(found: Explanation, assumptions: tuple[str, ...] = (), drawing: tuple[str, ...] = ()) -> list[str]:
    return list(explanation_lines(found, "two-nodes", Beside((), assumptions), drawing))


def section(told: list[str], title: str) -> list[str]:
    """The lines below a title, up to the next empty one."""
    after = told[told.index(title) + 1 :]
    return after[: after.index("")] if "" in after else after


STORIES = {
    "refused": explained(pod("asked", 6, gpu=2), pod("a", 5)),
    "admitted": explained(pod("asked", 2, gpu=1)),
    "spread": explained(pod("asked", 12), topologyManagerPolicy="best-effort"),
    "too large": explained(pod("asked", 15), pod("a", 1)),
    "not pinned": explained({**pod("asked", 1), "spec": {"containers": [{"name": "app"}]}}),
}


@pytest.mark.parametrize("name", STORIES)
def test_lines_fit_a_terminal(name: str) -> None:
    told = lines(STORIES[name], ("x" * 30 + " " + "y " * 100,))
    assert max(map(len, told)) <= WIDTH
    assert all(line == line.rstrip() for line in told)


@pytest.mark.parametrize("name", STORIES)
def test_the_verdict_comes_first_and_every_policy_has_a_say(name: str) -> None:
    told = lines(STORIES[name])
    verdict = STORIES[name].trace.verdict
    assert told[0].startswith("pod default/asked on two-nodes: policy ")
    start = told[1] if told[1].startswith(("ADMITTED", "REFUSED")) else told[2]
    assert start.startswith("ADMITTED" if verdict.admitted else f"REFUSED: {verdict.reason}")
    table = section(told, "Under other policies and scopes")
    assert list(dict.fromkeys(line[2:].split()[0] for line in table if line[2:3].strip())) == list(KUBELET_POLICIES)
    assert sum(line.startswith("*") for line in table) == 1


def test_a_refused_pod_is_told_why_and_what_helps() -> None:
    told = lines(STORIES["refused"])
    assert any(GPU in line for line in section(told, "Why"))
    assert "- remove pod default/a" in section(told, "What would help (each was tried)")


def test_an_admitted_pod_is_told_what_it_gets() -> None:
    told = lines(STORIES["admitted"])
    # Longer than 80 columns in one.
    assert told[1:4] == [
        "ADMITTED",
        "  container app: CPUs 1-2; 1 GiB of memory from NUMA 0; example.com/gpu g0 (NUMA",
        "  0)",
    ]


def test_a_drawing_and_assumptions_come_last() -> None:
    told = lines(STORIES["admitted"], ("the version",), ("+--+", "|  |"))
    assert told[-5:] == ["+--+", "|  |", "", "Assumed", "- the version"]


@pytest.mark.parametrize(
    ("memory", "told"),
    [
        ("9Gi", "wants 9 GiB of memory (9216 MiB); NUMA node 0 has 7068 MiB free of 7168 MiB, NUMA node 1 has 8192 "),
        ("8193Mi", "wants 8193 MiB of memory; NUMA node 0 has 7068 MiB free of 7168 MiB, NUMA node 1 has 8192 MiB "),
    ],
)
def test_memory_that_is_missing_is_in_the_unit_of_what_there_is(memory: str, told: str) -> None:
    found = explained(pod("asked", 1, memory), pod("a", 7, "100Mi"))
    assert told in why(found)[0]
