"""Questions to plugins in the midst of a decision: asked once each, in their order."""

from typing import Any

import pytest

from numaproof.harness.node.questions import Conversation, Question, UnansweredError
from numaproof.harness.topology.provider import AllocationError


class Plugins:
    """Answers with the size of each question, and remembers them."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def offers(self, _resource: str) -> bool:
        return True

    offers_plural = offers

    def preferred(self, *question: Any) -> list[str]:
        self.asked.append(question)
        if question[0] == "bad":
            raise AllocationError("it is broken")
        return [str(question[3])]

    def preferred_sets(self, *question: Any) -> list[list[str]]:
        self.asked.append(question)
        return [[str(question[3])]]


def question(resource: str, size: int) -> Question:
    return Question(False, resource, ("a",), (), size)


def test_answers_are_given_again_until_a_question_changes() -> None:
    plugins = Plugins()
    talk = Conversation(plugins)
    with pytest.raises(UnansweredError) as caught:
        talk.answer(question("r", 1))
    talk.ask(caught.value.question)
    talk.restart()
    assert talk.answer(question("r", 1)) == ["1"]
    # The same question again is another question: a kubelet would ask it again.
    with pytest.raises(UnansweredError):
        talk.answer(question("r", 1))
    talk.ask(question("r", 1))
    talk.restart()
    assert [talk.answer(question("r", 1)), talk.answer(question("r", 1))] == [["1"], ["1"]]
    # The first question is another one now: what was answered after it does not count either.
    talk.restart()
    with pytest.raises(UnansweredError):
        talk.answer(question("r", 2))
    talk.ask(question("r", 2))
    talk.restart()
    assert talk.answer(question("r", 2)) == ["2"]
    with pytest.raises(UnansweredError):
        talk.answer(question("r", 1))
    assert [asked[3] for asked in plugins.asked] == [1, 1, 2]


def test_a_failure_is_an_answer_too() -> None:
    talk = Conversation(Plugins())
    talk.ask(question("bad", 1))
    for _ in range(2):
        talk.restart()
        with pytest.raises(AllocationError, match="it is broken"):
            talk.answer(question("bad", 1))
