"""Texts that a page holds compressed, many in a chunk; its script inflates a chunk when one of its texts is shown."""

import base64
import json
import zlib

_CHUNK = 250_000  # characters: inflated in a few milliseconds, and large enough for texts that are alike


class Packing:
    """Collects texts, and keeps equal ones once."""

    def __init__(self) -> None:
        self.chunks: list[str] = []  # base64 of zlib's compression of a JSON list of texts; whole after `close`
        self._places: dict[str, str] = {}
        self._open: list[str] = []
        self._size = 0

    def add(self, text: str) -> str:
        """Where the text is: `CHUNK.PLACE`."""
        if text not in self._places:
            if self._size > _CHUNK:
                self.close()
            self._places[text] = f"{len(self.chunks)}.{len(self._open)}"
            self._open.append(text)
            self._size += len(text)
        return self._places[text]

    def close(self) -> None:
        """Compress what was collected since the last chunk."""
        if self._open:
            # Lone surrogates, as file names have them, are escapes in JSON, as whatever is not ASCII.
            packed = zlib.compress(json.dumps(self._open).encode(), 9)
            self.chunks.append(base64.b64encode(packed).decode())
        self._open, self._size = [], 0
