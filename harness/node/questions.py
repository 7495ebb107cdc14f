"""Asking plugins which devices they prefer, while deciding about a pod, without holding others up.

A decision runs under the node's lock and is pure, so nobody can be asked in its midst. Instead the decision is broken
off with its question, taken back, the plugin is asked with no lock held, and the decision is made again, from what is
free by then. Answers are given again in the order of the questions; one to a question that has changed is dropped,
and all after it, so that a plugin is asked exactly what a kubelet, which waits, would ask.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numaproof.harness.providers.devices.port import PreferredPort
from numaproof.harness.topology.provider import AllocationError


@dataclass(frozen=True, slots=True)
class Question:
    """One call to a plugin; `plural` for the draft GetPreferredAllocations."""

    plural: bool
    resource: str
    available: tuple[str, ...]
    must_include: tuple[str, ...]
    size: int

    def ask(self, plugins: PreferredPort) -> Callable[[], Any]:
        """Ask the plugin; what comes back gives its answer again, or its failure."""
        call = plugins.preferred_sets if self.plural else plugins.preferred
        try:
            answer = call(self.resource, list(self.available), list(self.must_include), self.size)
        except AllocationError as error:
            failure = error  # the name of the except clause ends with it

            def fail() -> Any:
                raise failure

            return fail
        return lambda: answer


class UnansweredError(Exception):
    """A decision needs an answer that nobody has given yet."""

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self.question = question


class Conversation:
    """The questions and answers of one admission, from attempt to attempt."""

    def __init__(self, plugins: PreferredPort) -> None:
        self._plugins = plugins
        self._told: list[tuple[Question, Callable[[], Any]]] = []
        self._next = 0

    def restart(self) -> None:
        """A new attempt begins."""
        self._next = 0

    def answer(self, question: Question) -> Any:
        """The plugin's answer; UnansweredError if it is not known yet."""
        if self._next < len(self._told) and self._told[self._next][0] != question:
            del self._told[self._next :]
        if self._next == len(self._told):
            raise UnansweredError(question)
        self._next += 1
        return self._told[self._next - 1][1]()

    def ask(self, question: Question) -> None:
        """Have the plugin answer; this may take as long as its deadline."""
        self._told.append((question, question.ask(self._plugins)))


class SwitchboardPort:
    """The device manager's port: hands its questions to the conversation of the admission under way."""

    def __init__(self, plugins: PreferredPort) -> None:
        self._plugins = plugins
        self.conversation: Conversation | None = None  # None: nobody is being admitted, so nobody asks

    def offers(self, resource: str) -> bool:
        """Whether the plugin of the resource implements GetPreferredAllocation."""
        return self._plugins.offers(resource)

    def preferred(self, resource: str, available: list[str], must_include: list[str], size: int) -> list[str]:
        """The devices that the plugin would take; empty if it does not care."""
        answer: list[str] = self._answer(Question(False, resource, tuple(available), tuple(must_include), size))
        return answer

    def offers_plural(self, resource: str) -> bool:
        """Whether the plugin of the resource implements the draft GetPreferredAllocations."""
        return self._plugins.offers_plural(resource)

    def preferred_sets(
        self, resource: str, available: list[str], must_include: list[str], size: int
    ) -> list[list[str]]:
        """Every set of devices that the plugin would gladly take, best first."""
        answer: list[list[str]] = self._answer(Question(True, resource, tuple(available), tuple(must_include), size))
        return answer

    def _answer(self, question: Question) -> Any:
        assert self.conversation is not None
        return self.conversation.answer(question)
