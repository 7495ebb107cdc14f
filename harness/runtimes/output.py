"""What a program prints, drained all the time, so that neither a full pipe nor a flood stops anybody."""

import os
import re
import threading
import time
from collections import deque
from typing import IO

from numaproof.harness.runtimes.program import OutputLine

_KEPT = 128 * 1024  # bytes at the beginning, and again at the end
_END_SECONDS = 30
_SAME_MOMENT_SECONDS = 0.005  # what comes so soon after another is kept with it
_PIECE = re.compile(rb"[^\n]*\n|[^\n]+")


class OutputReader:
    """Reads a stream to its end; of a flood it keeps the beginning and the end, each part with its time."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._first: list[tuple[float, bytearray]] = []
        self._first_size = 0
        self._last: deque[tuple[float, bytes]] = deque()
        self._last_size = 0
        self._left_out = 0
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()

    def text(self, complete: bool) -> str:
        """What was read so far; `complete` (the program has ended) waits for the rest of it."""
        return b"".join(part for _, part in self._parts(complete)).decode(errors="replace")

    def lines(self, complete: bool) -> list[OutputLine]:
        """The same, line by line, each with the time at which it began to arrive."""
        begun: list[tuple[float, bytearray]] = []
        is_open = False  # the last line goes on in the next part
        for moment, part in self._parts(complete):
            for piece in _PIECE.findall(part):
                if not is_open:
                    begun.append((moment, bytearray()))
                begun[-1][1].extend(piece.removesuffix(b"\n"))
                is_open = not piece.endswith(b"\n")
        return [OutputLine(moment, line.decode(errors="replace")) for moment, line in begun]

    def close(self) -> None:
        """Release the stream, once its writers are gone."""
        self._reader.join(_END_SECONDS)
        if not self._reader.is_alive():
            self._stream.close()

    def _parts(self, complete: bool) -> list[tuple[float, bytes]]:
        if complete:
            self._reader.join(_END_SECONDS)
        with self._lock:
            first = [(moment, bytes(part)) for moment, part in self._first]
            last, left_out = list(self._last), self._left_out
        gap = [(last[0][0], f"\n[{left_out} bytes left out]\n".encode())] if left_out else []
        return [*first, *gap, *last]

    def _drain(self) -> None:
        while chunk := os.read(self._stream.fileno(), 65536):
            now = time.monotonic()
            with self._lock:
                room = _KEPT - self._first_size
                if room > 0:
                    self._keep_first(now, chunk[:room])
                if rest := chunk[room:]:
                    self._last.append((now, rest))
                    self._last_size += len(rest)
                while self._last and self._last_size - len(self._last[0][1]) >= _KEPT:
                    gone = len(self._last.popleft()[1])
                    self._last_size -= gone
                    self._left_out += gone

    def _keep_first(self, now: float, chunk: bytes) -> None:
        if self._first and now - self._first[-1][0] < _SAME_MOMENT_SECONDS:
            self._first[-1][1].extend(chunk)
        else:
            self._first.append((now, bytearray(chunk)))
        self._first_size += len(chunk)
