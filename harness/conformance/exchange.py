"""What happened between the suite and its subject, recorded; every check is judged by this alone."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from google.protobuf.message import Message

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.conformance.happenings import Happening, Method, Probe, Session
from numaproof.harness.conformance.printed import Printed, bounded, printed
from numaproof.harness.runtimes.program import OutputLine


@dataclass(frozen=True, slots=True)
class Registered:
    """A registration that arrived, by Register or by a socket in plugins_registry."""

    session: Session
    time: float
    resource: str
    version: str
    endpoint: str
    options: api.DevicePluginOptions | None  # None: that way of registering does not tell any
    via: Method  # REGISTER or GET_INFO
    accepted: bool
    dial_error: str = ""  # empty: the plugin's socket answered when the kubelet dialled back
    overlaps: bool = False  # an older stream of the same resource was still open


@dataclass(frozen=True, slots=True)
class Called:
    """A call that the suite made, with its answer."""

    session: Session
    time: float
    resource: str
    name: Method
    probe: Probe
    request: Message
    response: Message | None  # None: it failed
    code: str  # "OK" or a gRPC status
    details: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Listed:
    """A message of a ListAndWatch stream."""

    session: Session
    time: float
    resource: str
    stream: int
    response: api.ListAndWatchResponse
    size: int  # bytes


@dataclass(frozen=True, slots=True)
class Opened:
    """A ListAndWatch stream that the suite opened."""

    session: Session
    time: float
    resource: str
    stream: int
    probe: Probe  # REGISTERED, or SECOND for one after a cancelled stream


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a stream."""

    session: Session
    time: float
    resource: str
    stream: int
    code: str
    details: str
    expected: bool  # the suite ended it, or had given a reason to


@dataclass(frozen=True, slots=True)
class Happened:
    """Anything else: what the suite did, and what became of the subject."""

    session: Session
    time: float
    what: Happening
    details: str = ""
    value: int = 0


Event: TypeAlias = Registered | Called | Listed | Opened | Ended | Happened
E = TypeVar("E", Registered, Called, Listed, Opened, Ended, Happened)


@dataclass(frozen=True, slots=True)
class Exchange:
    """All events of a run in the order of their recording."""

    events: tuple[Event, ...] = ()

    def of(self, kind: type[E], session: Session | None = None) -> tuple[E, ...]:
        """The events of a kind, of one session or of all."""
        return tuple(e for e in self.events if isinstance(e, kind) and session in (None, e.session))

    def calls(self, name: Method, *probes: Probe) -> tuple[Called, ...]:
        """The calls of a name, made for one of these reasons or for any."""
        return tuple(call for call in self.of(Called) if call.name == name and (not probes or call.probe in probes))

    def happenings(self, what: Happening, session: Session | None = None, since: float = 0.0) -> tuple[Happened, ...]:
        """The happenings of a kind, from a time on."""
        return tuple(event for event in self.of(Happened, session) if event.what is what and event.time >= since)

    def happened(self, what: Happening, session: Session | None = None) -> Happened | None:
        """The first happening of a kind, if any."""
        return next(iter(self.happenings(what, session)), None)

    def resources(self, session: Session | None = None) -> tuple[str, ...]:
        """The resources that were registered, in order."""
        return tuple(dict.fromkeys(event.resource for event in self.of(Registered, session)))


@dataclass(slots=True)
class Recorder:
    """Gathers events from many threads."""

    start: float = field(default_factory=time.monotonic)
    stopped: threading.Event = field(default_factory=threading.Event)  # nobody wants to know more
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _events: list[Event] = field(default_factory=list)
    _printed: dict[Session, list[Printed]] = field(default_factory=dict)

    def now(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.start

    def add(self, event: Event) -> None:
        """Keep an event."""
        with self._lock:
            self._events.append(event)

    def add_output(self, session: Session, lines: Sequence[OutputLine]) -> None:
        """Keep what the subject printed in a life that has just ended; of a flood a part."""
        told = printed(session, lines, self.start, self.now())
        with self._lock:
            self._printed[session] = bounded([*self._printed.get(session, ()), *bounded(told)])

    def exchange(self) -> Exchange:
        """What was recorded so far."""
        with self._lock:
            return Exchange(tuple(self._events))

    def output(self) -> tuple[Printed, ...]:
        """What the subject has printed in those of its lives that have ended, session by session."""
        with self._lock:
            return tuple(line for session in Session for line in self._printed.get(session, ()))
