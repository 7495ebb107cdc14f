"""What happened on the node: numbered, remembered for a while, and told to whoever watches."""

import itertools
import threading
import time
from collections import deque
from collections.abc import Iterator

from numaproof.harness.api import numaproof_v1_pb2 as api

REMEMBERED = 10_000
REMEMBERED_BYTES = 64 << 20  # a single list of devices may have some MiB


class EventLog:
    """Events in the order of their numbers; the oldest are forgotten."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._numbers = itertools.count(1)
        self._events: deque[api.Event] = deque()
        self._bytes = 0
        self._closed = False

    def add(self, event: api.Event) -> None:
        """Number the event, and tell it."""
        with self._changed:
            event.number = next(self._numbers)
            event.time_unix_nanoseconds = time.time_ns()
            self._events.append(event)
            self._bytes += event.ByteSize()
            while len(self._events) > REMEMBERED or (self._bytes > REMEMBERED_BYTES and len(self._events) > 1):
                self._bytes -= self._events.popleft().ByteSize()
            self._changed.notify_all()

    @property
    def last(self) -> int:
        """The number of the newest event; 0 when nothing has happened yet."""
        with self._changed:
            return self._events[-1].number if self._events else 0

    def close(self) -> None:
        """Let every watcher go."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def wake(self) -> None:
        """Have watchers look whether they are still wanted."""
        with self._changed:
            self._changed.notify_all()

    def follow(self, after: int, wanted: threading.Event) -> Iterator[api.Event]:
        """The remembered events with numbers above `after`, then each as it happens, while `wanted` is set."""
        seen = after
        while True:
            with self._changed:
                while wanted.is_set() and not self._closed and (not self._events or self._events[-1].number <= seen):
                    self._changed.wait()
                if not wanted.is_set():
                    return
                fresh = [event for event in self._events if event.number > seen]
                if not fresh:
                    return  # closed, and all is told
            for event in fresh:
                seen = event.number
                yield event
