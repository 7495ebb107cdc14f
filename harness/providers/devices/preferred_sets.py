"""What plugins with the draft GetPreferredAllocations answered: each is asked once for a container."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from numaproof.harness.providers.devices.port import PreferredPort


@dataclass(frozen=True, slots=True)
class _Question:
    resource: str
    available: tuple[str, ...]
    must_include: tuple[str, ...]
    size: int


class PreferredSets:
    """Asks plugins for all sets that they would gladly take, and keeps an answer for the allocation after the hints.

    An answer holds as long as the question would be word for word the same: another list of devices, another health,
    another pod's devices or another size make another question. Hints are always asked for anew, so an answer never
    outlives the decision that it was given for; a call that failed has no answer to keep.
    """

    def __init__(self, port: PreferredPort | None) -> None:
        self._port = port
        self._uid = ""  # the pod that the answers were given for
        self._answers: dict[_Question, Sequence[frozenset[str]]] = {}

    def offered(self, resource: str) -> bool:
        """Whether the plugin of the resource serves the draft."""
        return self._port is not None and self._port.offers_plural(resource)

    def for_hints(
        self, uid: str, resource: str, available: Collection[str], must_include: Collection[str], size: int
    ) -> Sequence[frozenset[str]]:
        """The sets that count for a pod's hints, best first; none without the draft, AllocationError if it fails."""
        if uid != self._uid:
            self._uid, self._answers = uid, {}
        question = _Question(resource, tuple(sorted(available)), tuple(sorted(must_include)), size)
        self._answers.pop(question, None)
        answer = self._ask(question)
        self._answers[question] = answer
        return answer

    def for_allocation(
        self, uid: str, resource: str, available: Collection[str], must_include: Collection[str], size: int
    ) -> Sequence[frozenset[str]]:
        """The same for the allocation: as for the pod's hints, if the question was the same then."""
        question = _Question(resource, tuple(sorted(available)), tuple(sorted(must_include)), size)
        kept = self._answers.get(question) if uid == self._uid else None
        return self._ask(question) if kept is None else kept

    def forget(self, uid: str) -> None:
        """The pod is gone, or its decision is taken back."""
        if uid == self._uid:
            self._uid, self._answers = "", {}

    def _ask(self, question: _Question) -> Sequence[frozenset[str]]:
        """The plugin's sets without those that do not answer the question: so many devices, each of them available,
        the necessary ones included.
        """
        if self._port is None or not self._port.offers_plural(question.resource):
            return ()
        answer = self._port.preferred_sets(
            question.resource, list(question.available), list(question.must_include), question.size
        )
        necessary, available = frozenset(question.must_include), frozenset(question.available)
        return tuple(
            frozenset(ids)
            for ids in answer
            if len(ids) == question.size == len(set(ids)) and necessary <= set(ids) <= available
        )
