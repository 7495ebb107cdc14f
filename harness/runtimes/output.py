"""What a program prints, drained all the time, so that neither a full pipe nor a flood stops anybody."""

import os
import threading
from collections import deque
from typing import IO

_KEPT = 128 * 1024  # bytes at the beginning, and again at the end
_END_SECONDS = 30


class OutputReader:
    """Reads a stream to its end; of a flood it keeps the beginning and the end."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._first = bytearray()
        self._last: deque[bytes] = deque()
        self._last_size = 0
        self._left_out = 0
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()

    def text(self, complete: bool) -> str:
        """What was read so far; `complete` (the program has ended) waits for the rest of it."""
        if complete:
            self._reader.join(_END_SECONDS)
        with self._lock:
            first, last, left_out = bytes(self._first), b"".join(self._last), self._left_out
        gap = f"\n[{left_out} bytes left out]\n".encode() if left_out else b""
        return (first + gap + last).decode(errors="replace")

    def close(self) -> None:
        """Release the stream, once its writers are gone."""
        self._reader.join(_END_SECONDS)
        if not self._reader.is_alive():
            self._stream.close()

    def _drain(self) -> None:
        while chunk := os.read(self._stream.fileno(), 65536):
            with self._lock:
                room = _KEPT - len(self._first)
                self._first += chunk[:room]
                if rest := chunk[max(room, 0) :]:
                    self._last.append(rest)
                    self._last_size += len(rest)
                while self._last_size - len(self._last[0]) >= _KEPT if self._last else False:
                    gone = len(self._last.popleft())
                    self._last_size -= gone
                    self._left_out += gone
