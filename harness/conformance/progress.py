"""How far a run is, told while it goes on: its sessions, and what can be judged already."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from numaproof.harness.conformance.checks.check import Check
from numaproof.harness.conformance.exchange import Recorder
from numaproof.harness.conformance.happenings import Session
from numaproof.harness.conformance.result import CheckResult
from numaproof.harness.conformance.verdicts import Conditions, judge


@dataclass(frozen=True, slots=True)
class Progress:
    """A session that begins or ends; its text is a line for people."""

    session: Session
    ended: bool
    seconds: float  # since the run began
    running: tuple[Session, ...]  # the sessions that go on
    judged: int  # checks whose sessions are all over
    checks: int  # of the run
    violated: tuple[CheckResult, ...]  # those that came with this session's end; the whole exchange has the last word

    def __str__(self) -> str:
        if not self.ended:
            return f"{self.seconds:6.1f} s  session {self.session} begins"
        found = "".join(f"\n{'':10}{one.check.id} {one.verdict}: {one.check.title}" for one in self.violated)
        judged = f"{self.judged} of {self.checks} checks judged"
        return f"{self.seconds:6.1f} s  session {self.session} is over; {judged}{found}"


class Follower:
    """Follows the sessions of a run, and tells of each."""

    def __init__(
        self, checks: tuple[Check, ...], recorder: Recorder, conditions: Conditions, tell: Callable[[Progress], None]
    ) -> None:
        self._checks = checks
        self._recorder = recorder
        self._conditions = conditions
        self._tell = tell
        self._lock = threading.Lock()
        self._running: list[Session] = []
        self._over = set(conditions.absent)
        self._judged: set[str] = set()

    def begins(self, session: Session) -> None:
        """A session begins."""
        with self._lock:
            self._running.append(session)
            self._say(session, ended=False)

    def is_over(self, session: Session) -> None:
        """A session is over; the checks that waited for it alone are judged."""
        with self._lock:
            self._running.remove(session)
            self._over.add(session)
            ready = [one for one in self._checks if one.id not in self._judged and self._over.issuperset(one.sessions)]
            self._judged.update(one.id for one in ready)
            exchange = self._recorder.exchange()
            results = [judge(one, exchange, self._conditions) for one in ready]
            self._say(session, ended=True, violated=tuple(one for one in results if one.violated))

    def _say(self, session: Session, *, ended: bool, violated: tuple[CheckResult, ...] = ()) -> None:
        self._tell(
            Progress(
                session,
                ended,
                self._recorder.now(),
                tuple(self._running),
                len(self._judged),
                len(self._checks),
                violated,
            )
        )
