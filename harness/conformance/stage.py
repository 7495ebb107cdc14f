"""One session on its stage: a kubelet, a subject, and the waiting for what the one does to the other."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.conformance.checks.check import Feature
from numaproof.harness.conformance.connection import Connection
from numaproof.harness.conformance.exchange import Happened, Recorder, Registered
from numaproof.harness.conformance.happenings import Happening, Session
from numaproof.harness.conformance.kubelet import FakeKubelet
from numaproof.harness.conformance.subject import Life, SessionDirectories, Subject

_POLL_SECONDS = 0.02
_SETTLE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Pace:
    """How long the suite waits, and for what."""

    start: float = 60.0  # from the start of the subject to its registration
    timeout: float = 30.0  # for anything else that the subject has to do
    watch: float = 12.0  # how long a stream is watched at least
    early: float = 3.0  # how long the subject runs without a kubelet
    death: float = 3.0  # how long a subject may take to die of what was done to it last


@dataclass(frozen=True, slots=True)
class Flips:
    """Shell commands that make a device unhealthy and healthy again."""

    unhealthy: str
    healthy: str


@dataclass(slots=True)
class Stage:
    """What a session plays on."""

    name: Session
    recorder: Recorder
    kubelet: FakeKubelet
    life: Life
    directories: SessionDirectories
    pace: Pace
    flips: Flips | None  # None: the subject offers no way
    features: frozenset[Feature] | None  # None: what the subject's options say
    chance: random.Random
    quiet: threading.Event  # no other session minds a change of health
    _exits: int = 0  # ends of the subject that are dealt with
    _silent: set[int] = field(default_factory=set)  # streams that were waited for in vain

    def tell(self, what: Happening, details: str = "", value: int = 0) -> None:
        """Record what the suite did or saw."""
        self.recorder.add(Happened(self.name, self.recorder.now(), what, details, value))

    def wait(self, condition: Callable[[], bool], seconds: float | None = None) -> bool:
        """Whether a state came about in time; a subject that is gone for good ends the waiting."""
        end = time.monotonic() + (self.pace.timeout if seconds is None else seconds)
        while not condition():
            if time.monotonic() >= end or self.recorder.stopped.is_set() or not self.life.alive():
                # What it did last may have reached us only now.
                return condition()
            time.sleep(_POLL_SECONDS)
        return True

    def launch(self) -> None:
        """Start the subject, if that is ours to do."""
        if self.life.is_ours:
            self.life.launch()

    def wait_for_registration(self) -> bool:
        """Wait until the subject is registered with everything that it registers; whether it is, in time."""
        if not self.wait(lambda: self.kubelet.accepted > 0, self.pace.start):
            return False
        while self._one_more():
            pass
        return True

    def _one_more(self) -> bool:
        """Whether another registration comes within a moment."""
        before = self.kubelet.accepted
        return self.wait(lambda: self.kubelet.accepted > before, _SETTLE_SECONDS)

    def wait_for_lists(self, connection: Connection) -> list[api.ListAndWatchResponse]:
        """Wait for the first list of a connection; all lists that it has brought by then."""
        stream = connection.stream
        assert stream is not None
        if stream.number not in self._silent and not self.wait(lambda: bool(stream.lists()) or stream.ended.is_set()):
            self._silent.add(stream.number)
        return stream.lists()

    def revive(self) -> bool:
        """Have a subject that has ended started again, for the rest of the session; whether one is registered now."""
        alive = self.life.alive()
        if self.life.exits == self._exits:
            return alive
        self._exits = self.life.exits
        if not alive:
            self.tell(Happening.SUBJECT_REVIVED, "started again for the rest of the checks")
            self.launch()
        return self.wait(self.is_connected, self.pace.start) and self.wait_for_registration()

    def is_hopeless(self) -> bool:
        """Whether the subject was waited for in vain in some session, and has registered in none."""
        exchange = self.recorder.exchange()
        return bool(exchange.happenings(Happening.NOT_REGISTERED)) and not exchange.of(Registered)

    def is_connected(self) -> bool:
        """Whether every resource has an open stream."""
        streams = [connection.stream for connection in self.kubelet.connections().values()]
        return bool(streams) and not any(stream is None or stream.ended.is_set() for stream in streams)


@contextmanager
def open_stage(
    name: Session,
    recorder: Recorder,
    subject: Subject | None,
    directories: SessionDirectories,
    *,
    pace: Pace,
    flips: Flips | None,
    features: frozenset[Feature] | None,
    supervise: bool,
    seed: int,
    quiet: threading.Event,
    refusals: int = 0,
) -> Iterator[Stage]:
    """A stage that is cleared afterwards, whatever happened on it: the subject first, so that nothing waits for it."""
    life = Life(subject, directories, recorder, name, supervise)
    kubelet = FakeKubelet(
        recorder, name, directories.plugins, directories.registry, seconds=pace.timeout, refusals=refusals
    )
    with kubelet:
        try:
            chance = random.Random(f"{seed} {name}")
            yield Stage(name, recorder, kubelet, life, directories, pace, flips, features, chance, quiet)
        finally:
            kubelet.retire()
            life.kill()


def make_directories(root: Path) -> SessionDirectories:
    """New directories for a session."""
    directories = SessionDirectories(root / "d", root / "r")
    directories.plugins.mkdir(parents=True)
    directories.registry.mkdir()
    return directories
