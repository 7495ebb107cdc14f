"""What the kubelet's state files have in common: a JSON object with a checksum, and since v1.37 its content twice."""

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from numaproof.errors import UserError
from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.fake_sysfs.paste import shown
from numaproof.harness.intake.loose_json import Elision, elision_note, path_text, read_json
from numaproof.harness.node.state.checksum import text_checksum

_HIGHEST_ID = 9999  # of a CPU or NUMA node; Linux has at most 8192 CPUs
_DIGITS = re.compile(r"\s{0,9}[0-9]{1,9}\s{0,9}", re.ASCII)
_LONGEST_NAME = 317  # characters: a resource's domain, a slash and its name
_LONGEST_LIST = 4096  # characters of a list of CPUs


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A state file's content; readers add to its notes."""

    content: dict[str, Any]
    is_whole: bool  # nothing is elided or cut off
    notes: list[str]
    elided: tuple[Elision, ...]


def read_checkpoint(text: str, where: str, keys: Collection[str], what: str, foreign: str = "") -> Checkpoint:
    """The last object of a text that has one of the keys, if there is one without the `foreign` key, that of another
    file; a UserError if there is none.
    """
    read = read_json(text, where)
    found = [one for one in read.values if isinstance(one, dict) and not one.keys().isdisjoint(keys)]
    found = [one for one in found if foreign not in one] or found
    if not found:
        raise UserError(f"{where}: is not a {what}; give a JSON object with {', '.join(keys)}")
    notes = list(read.notes)
    if len(found) > 1:
        notes.append(f"{where}: {len(found)} such files stand one after the other; the last one is read")
    content, elided = found[-1], read.elided
    if (inner := _second_content(content, where, notes)) is not None:
        differ = [key for key in keys if content.get(key, inner.get(key)) != inner.get(key) and read.is_whole]
        notes += [f"{where}: {key}: differs from what `data` says; `data` counts" for key in differ]
        content = {**content, **inner}
        elided = ()
    for key, kind in (("podEntries", "pods as a whole"), ("baselines", "containers before a resize")):
        if content.get(key):
            notes.append(f"{where}: {key}: what belongs to {kind} is passed over")
    pods = {one.keys[1] for one in elided if one.keys[:1] == ("entries",) and len(one.keys) > 1}
    if pods:
        mark = next(one.mark for one in elided if one.keys[:1] == ("entries",) and len(one.keys) > 1)
        several = f"{len(pods)} pods are" if len(pods) > 1 else "1 pod are"
        notes.append(f'{where}: the entries of {several} elided ("{mark[:20]}")')
    notes += [elision_note(where, one) for one in elided if not (one.keys[:1] == ("entries",) and len(one.keys) > 1)]
    return Checkpoint(content, read.is_whole, notes, elided)


def _second_content(content: Mapping[str, Any], where: str, notes: list[str]) -> dict[str, Any] | None:
    """What `data` of kubelet v1.37 says; None: it is not there, or cannot be read."""
    text = content.get("data")
    if not isinstance(text, str):
        return None
    if content.get("dataChecksum") not in (None, text_checksum(text)):
        notes.append(f"{where}: data: the checksum does not fit: edited or damaged")
    try:
        inner = json.loads(text)
    except (ValueError, RecursionError):
        inner = None
    if not isinstance(inner, dict):
        notes.append(f"{where}: data: cannot be read, and is passed over")
        return None
    return inner


def check_sum(where: str, notes: list[str], stored: Any, compute: Callable[[], int]) -> None:
    """Note a checksum that is not that of the content."""
    try:
        fits = stored == compute()
    except (LookupError, TypeError, ValueError, AttributeError):
        return  # the content is not complete, which is noted where it is read
    if not fits and stored is not None:
        notes.append(f"{where}: the checksum does not fit: edited or damaged")


def table_at(content: Any, key: str, where: str, notes: list[str]) -> dict[str, Any]:
    """The object at a key; empty with a note if something else stands there."""
    value = content.get(key)
    if isinstance(value, dict):
        return value
    if value is not None:
        notes.append(f"{where}: {key}: {shown(value)} is not an object, and is passed over")
    return {}


def cpus_from(value: Any, keys: tuple[str, ...], where: str, notes: list[str]) -> frozenset[int] | None:
    """The CPUs of a list such as 0-3,8; None with a note if it is something else."""
    problem = f"{where}: {path_text(keys)}: {shown(value)} is not a list of CPUs, and is passed over"
    if not isinstance(value, str) or len(value) > _LONGEST_LIST:
        notes.append(problem)
        return None
    if not _is_reasonable(value):
        notes.append(problem)
        return None
    return frozenset(parse_cpulist(value))


def _is_reasonable(listed: str) -> bool:
    """Whether a text is a list of CPUs, and names no more of them than there can be, also not by naming some twice."""
    count = 0
    for part in listed.strip().split(",") if listed.strip() else ():
        ends = part.split("-")
        if len(ends) > 2 or not all(_DIGITS.fullmatch(one) for one in ends) or int(ends[-1]) > _HIGHEST_ID:
            return False
        count += int(ends[-1]) - int(ends[0]) + 1
        if int(ends[0]) > int(ends[-1]) or count > _HIGHEST_ID + 1:
            return False
    return True


def is_name(value: Any) -> TypeGuard[str]:
    """Whether a value of JSON can be a uid, or the name of a container or resource, that messages repeat."""
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME and value.isprintable()


def is_id(value: Any) -> bool:
    """Whether a value of JSON is a NUMA node's id."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _HIGHEST_ID


def is_amount(value: Any) -> bool:
    """Whether a value of JSON is a count or a number of bytes."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64
