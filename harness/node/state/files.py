"""Reading and writing state files: a write is durable and whole, and a file that cannot be trusted is refused."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numaproof.errors import UserError


def write(path: Path, text: str, *, durable: bool) -> None:
    """Replace the file by `text`, so that no reader, nor whoever comes after a kill, ever sees half of it.

    If it is to be durable, the new content also survives the machine's end once this has returned.
    """
    temporary = path.with_name(f".{path.name}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        content = memoryview(text.encode())
        while content:
            content = content[os.write(descriptor, content) :]
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    temporary.replace(path)
    if durable:
        sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Have the names in a directory survive a crash: without this a replaced file may come back after a power cut."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def compact(value: object) -> str:
    """JSON as Go writes it: no blanks."""
    return json.dumps(value, separators=(",", ":"))


def read(path: Path) -> dict[str, Any] | None:
    """The file's JSON object; None when there is no file."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); mend its permissions") from None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise corrupt(path, "is not JSON") from None
    if not isinstance(value, dict):
        raise corrupt(path, "holds no JSON object")
    return value


def corrupt(path: Path, what: str) -> UserError:
    """The refusal of a file that is damaged or not ours; it is never reset silently, as pods may hold what it says."""
    return UserError(f"{path}: {what}; restore it, or drain the node and delete this file")


def sha256(content: Mapping[str, Any]) -> str:
    """The checksum of what files of our own say; the kubelet's have the kubelet's."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode(errors="surrogatepass")).hexdigest()


def check_sum(path: Path, stored: object, computed: object) -> None:
    """Refuse the file when the checksum that it carries is not the one of its content."""
    if stored != computed:
        raise corrupt(path, f"checkpoint is corrupted (checksum {stored}, its content has {computed})")


def check_policy(path: Path, stored: object, configured: str) -> None:
    """Refuse a file that another policy wrote: what it holds has no meaning under this one."""
    if stored != configured:
        raise corrupt(path, f'configured policy "{configured}" differs from state checkpoint policy "{stored}"')
