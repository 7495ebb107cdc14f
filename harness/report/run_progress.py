"""How far a run is: on a terminal a line that changes, elsewhere a line from time to time; failures as they occur."""

import threading
import time
from collections import Counter
from collections.abc import Iterable
from typing import Self, TextIO

from numaproof.harness.report.matrix import OUTCOMES, InstanceResult
from numaproof.harness.report.run_again import Again
from numaproof.harness.report.run_text import Paint, clipped, failure_lines, seconds_text, short_failure

_TICK_SECONDS = 1.0
_TENTHS = 10
_FULL_FAILURES = 10  # that are told in full; more of them in a line each
_ERASE = "\r\x1b[K"


class Progress:
    """Tells of a run, from `with` to its end; whoever is told things may be another thread than its clock."""

    def __init__(
        self,
        total: int,
        stream: TextIO,
        *,
        paint: Paint,
        width: int,
        live: bool,
        verbose: bool,
        quiet: bool,
        again: Again,
    ) -> None:
        """`live`: the stream is a terminal, on which a line can be written anew."""
        self._total = total
        self._stream = stream
        self._paint = paint
        self._width = width
        self._live = live
        self._verbose = verbose
        self._quiet = quiet
        self._again = again
        self._counts: Counter[str] = Counter()
        self._running: dict[str, None] = {}  # in the order of their start
        self._explained: set[str] = set()  # paths of stories: why one matters is told once
        self._tenths = 0
        self._begun = time.monotonic()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._clock = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        if self._live and not self._quiet:
            self._draw()
            self._clock.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._ended.set()
        if self._clock.is_alive():
            self._clock.join()
        if self._live and not self._quiet:
            self._write(_ERASE)

    def started(self, name: str) -> None:
        """An instance runs."""
        with self._lock:
            self._running[name] = None
            self._draw()

    def ended(self, result: InstanceResult) -> None:
        """An instance has ended."""
        with self._lock:
            self._running.pop(result.words["id"], None)
            self._counts[result.outcome] += 1
            failed = result.outcome == "failed"
            if failed:
                self._print(self._failure(result))
            done = self._counts.total()
            tenths = _TENTHS * done // self._total
            if not self._live and not self._quiet and (failed or tenths > self._tenths) and done < self._total:
                self._print([self._line()])
            self._tenths = tenths
            self._draw()

    def _failure(self, result: InstanceResult) -> Iterable[str]:
        if self._verbose or self._counts["failed"] <= _FULL_FAILURES:
            is_new = result.path not in self._explained
            self._explained.add(result.path)
            return failure_lines(result, self._paint, verbose=self._verbose, again=self._again, why=is_new)
        return [short_failure(result, self._paint, self._width)]

    def _line(self) -> str:
        done = self._counts.total()
        counts = ", ".join(f"{self._counts[one]} {one}" for one in OUTCOMES if self._counts[one] or one == "passed")
        elapsed = seconds_text(int(time.monotonic() - self._begun)) if self._live else ""
        now = next(reversed(self._running), "")
        parts = [f"{done} of {self._total}", counts, *filter(None, [elapsed, now if self._live else ""])]
        return clipped("  ".join(parts), self._width - 1)

    def _draw(self) -> None:
        if self._live and not self._quiet and not self._ended.is_set():
            self._write(f"{_ERASE}{self._line()}")

    def _print(self, lines: Iterable[str]) -> None:
        front = _ERASE if self._live and not self._quiet else ""
        self._write(front + "".join(f"{line}\n" for line in lines))

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

    def _tick(self) -> None:
        while not self._ended.wait(_TICK_SECONDS):
            with self._lock:
                self._draw()
