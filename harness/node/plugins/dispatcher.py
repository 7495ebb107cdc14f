"""Calling others in the order in which things happened, with no lock held."""

import heapq
import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable

_logger = logging.getLogger(__name__)


class Dispatcher:
    """A thread that does what is posted, one action after the other, in the order of posting.

    Whoever posts may hold locks; the actions are free to take them.
    """

    def __init__(self, name: str) -> None:
        self._changed = threading.Condition()
        self._actions: deque[Callable[[], None]] = deque()
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._counter = itertools.count()
        self.closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def post(self, action: Callable[[], None]) -> None:
        """Have `action` done after all that was posted before it."""
        with self._changed:
            self._actions.append(action)
            self._changed.notify()

    def post_after(self, seconds: float, action: Callable[[], None]) -> None:
        """Have `action` done when `seconds` have passed."""
        with self._changed:
            heapq.heappush(self._later, (time.monotonic() + seconds, next(self._counter), action))
            self._changed.notify()

    def close(self) -> None:
        """Finish the action that is being done; drop the others."""
        with self._changed:
            self.closed = True
            self._changed.notify()
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            while not self.closed:
                now = time.monotonic()
                while self._later and self._later[0][0] <= now:
                    self._actions.append(heapq.heappop(self._later)[2])
                if self._actions:
                    return self._actions.popleft()
                self._changed.wait(self._later[0][0] - now if self._later else None)
        return None

    def _run(self) -> None:
        while action := self._next():
            try:
                action()
            except Exception:
                # One listener's fault must not deafen the others.
                _logger.exception("a listener failed")
