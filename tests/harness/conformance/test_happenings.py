"""What the sessions tell and what the checks ask for is the same vocabulary: no word of it is of one side alone."""

import ast
from enum import Enum
from pathlib import Path

import pytest

from numaproof.harness import conformance
from numaproof.harness.conformance.catalogue import CATALOGUE
from numaproof.harness.conformance.happenings import Happening, Method, Probe, Topic

FOLDER = Path(conformance.__file__).parent
TELLING = [
    *(FOLDER / "sessions").glob("*.py"),
    *(FOLDER / name for name in ("stage.py", "subject.py", "kubelet.py", "connection.py")),
]
JUDGING = [*(FOLDER / "checks").glob("*.py"), FOLDER / "verdicts.py"]

# Told for the readers of a report alone; each with the reason why no check asks for it.
NOT_JUDGED: dict[Enum, str] = {
    Happening.SUBJECT_REVIVED: "what killed the subject is judged by its exit",
    Happening.KUBELET_RESTARTS: "what the restart leads to is judged: a registration, or none",
    Happening.KUBELET_SOCKET_REPLACED: "the registrations that it leads to say themselves whether they overlap",
    Happening.UNHEALTHY_SEEN_BEFORE: "the check of a change before the restart is that of the recovery",
    Happening.HEALTHY_SEEN_AFTER: "after the restart only a change that is lost decides",
    Probe.AFTER_CANCEL: "the second stream and the subject's end are judged; the call brings the end about",
    Probe.REFUSE: "what the subject does after the refusal is judged, not its answer to it",
}


def named(files: list[Path], kind: type[Enum]) -> set[Enum]:
    """The members of an enumeration that the files name."""
    return {
        kind[node.attr]
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == kind.__name__
    }


@pytest.mark.parametrize("kind", [Happening, Probe])
def test_every_word_is_told(kind: type[Enum]) -> None:
    assert named(TELLING, kind) == set(kind)


@pytest.mark.parametrize("kind", [Happening, Probe])
def test_every_word_is_judged_or_has_a_reason_not_to_be(kind: type[Enum]) -> None:
    assert set(kind) - named(JUDGING, kind) == {word for word in NOT_JUDGED if isinstance(word, kind)}


def test_no_two_happenings_read_alike() -> None:
    assert len({happening.text for happening in Happening}) == len(Happening)


def test_every_topic_is_that_of_a_happening_and_shown_for_a_check() -> None:
    assert {topic for happening in Happening for topic in happening.topics} == set(Topic)
    assert {topic for check in CATALOGUE for topic in check.about if isinstance(topic, Topic)} == set(Topic)


def test_every_method_is_shown_for_a_check() -> None:
    assert {method for check in CATALOGUE for method in check.about if isinstance(method, Method)} == set(Method)
