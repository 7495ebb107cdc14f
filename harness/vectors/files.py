"""Files of recorded decisions: one JSON object a line, plain or compressed."""

import gzip
import json
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from numaproof.errors import UserError

_OPENERS: dict[str, Any] = {".xz": lzma.open, ".gz": gzip.open}


def read_cases(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each line's number and object; a UserError names file and line of what is not one."""
    opener = _OPENERS.get(path.suffix, open)
    number = 0
    try:
        with opener(path, "rt", encoding="utf-8") as stream:
            for number, line in _numbered(stream):
                yield number, _case(line, f"{path}:{number}")
    except (OSError, EOFError, zlib.error, lzma.LZMAError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UserError(
            f"{path}:{number + 1}: cannot be read: {reason} (give a .jsonl, .jsonl.xz or .jsonl.gz file)"
        ) from None


def _numbered(stream: IO[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(stream, start=1):
        if line.strip():
            yield number, line


def _case(line: str, where: str) -> dict[str, Any]:
    try:
        case = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: is not JSON: {error} (one object a line)") from None
    if not isinstance(case, dict):
        raise UserError(f"{where}: is not a JSON object but {type(case).__name__} (one object a line)")
    return case
