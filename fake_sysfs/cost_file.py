"""Costs between instances of resources in a file of the cost-based selection proposal, read strictly.

example.com/foo/id0-1:
  - 10:
    - cpu/cpu0-20
    - example.com/bar/card0-3
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs.forms import Form, list_of, mapping_of
from numaproof.fake_sysfs.instance_names import parse_names
from numaproof.fake_sysfs.overlaps import repeated_pair
from numaproof.fake_sysfs.strict_yaml import Document, Where
from numaproof.near import nearest

MOST_INSTANCES = 65_536  # of all resources of a file together
MOST_NAMED = 1 << 20  # instances that the different spellings of a file stand for, some of them again and again

_NUMBER = re.compile(r"[0-9]{1,40}(\.[0-9]{1,40})?")
_SYSTEM_IDS = {"cpu": "cpu", "memory": "node"}  # what the ids of system devices begin with; a number follows
_SYSTEM_NUMBER = r"(?:0|[1-9][0-9]{0,8})"
_SYSTEM_NAMES = "".join(
    f"(?!{resource}/(?!{prefix}{_SYSTEM_NUMBER}(?:-[0-9]+)?$))" for resource, prefix in _SYSTEM_IDS.items()
)
_NAME = Form(
    {
        "type": "string",
        "pattern": rf"^{_SYSTEM_NAMES}\S+/[^\s/]+$",
        "description": "An instance, or a range of them: RESOURCE/ID, such as cpu/cpu0-3.",
        "examples": ["cpu/cpu0-3", "memory/node0", "example.com/gpu/gpu1"],
    }
)
_TARGETS = list_of(_NAME, least=1)
_ROW = mapping_of(
    _TARGETS,
    propertyNames={"pattern": f"^{_NUMBER.pattern}$"},
    minProperties=1,
    maxProperties=1,
    description="A cost, and the instances that it leads to.",
)
_ROWS = list_of(_ROW, least=1)
COSTS = mapping_of(
    _ROWS,
    propertyNames=_NAME.words,
    minProperties=1,
    description="Costs between instances of resources: from each instance that is a key to those below it.",
)
_PCI_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_OUTER = {"type", "minItems", "minProperties", "maxProperties"}
_WITHOUT_COLON = re.compile(r"(?P<cost>[0-9.]+)\s+-\s.*", re.DOTALL)


class CostFileError(UserError):
    """A file of costs cannot be used; the text is one line: file and line, what is wrong, the remedy."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """So much from each of some instances of a resource to each of some instances of another, or of the same."""

    resource: str
    ids: tuple[str, ...]
    to_resource: str
    to_ids: tuple[str, ...]
    cost: Fraction
    where: str  # file and line


def read_costs(document: Document) -> tuple[FileEntry, ...]:
    """The entries of a file, in its order; no pair is in two of them in the same direction."""
    if not _is_begun(COSTS, document.value):
        raise CostFileError(
            f"{_at(document.where)}: holds no costs; write an instance, and below it a list such as - 10: [cpu/cpu0-3]"
        )
    names = _Names()
    entries = tuple(_entries(document, names))
    names.check_targets()
    try:
        pair = repeated_pair(entries)
    except ValueError as error:
        raise CostFileError(f"{document.where.file}: {error}; name instances that are alike in one range") from None
    if pair is not None:
        first, second = (entries[index] for index in pair)
        raise CostFileError(
            f"{second.where}: gives a cost from {first.resource} to {first.to_resource} that {first.where} gives, too; "
            "keep one of them"
        )
    return entries


def _at(where: Where) -> str:
    line = where.line
    return where.file if line is None else f"{where.file}:{line}"


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return f'"{text}"' if len(text) <= 60 else f'"{text[:57]}..."'


class _Names:
    """The instances that a file names; equal spellings share their ids."""

    def __init__(self) -> None:
        self._read: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._known: dict[str, set[str]] = {}
        self._sources: dict[str, set[str]] = {}
        self._targets: dict[str, str] = {}  # by spelling: where it stands first
        self._instances = 0
        self._named = 0

    def source(self, text: str, where: str) -> tuple[str, tuple[str, ...]]:
        resource, ids = self._parsed(text, where)
        self._sources.setdefault(resource, set()).update(ids)
        return resource, ids

    def target(self, text: str, where: str) -> tuple[str, tuple[str, ...]]:
        self._targets.setdefault(text, where)
        return self._parsed(text, where)

    def _parsed(self, text: str, where: str) -> tuple[str, tuple[str, ...]]:
        if text in self._read:
            return self._read[text]
        try:
            resource, ids = parse_names(text)
        except UserError as error:
            raise CostFileError(f"{where}: {error}") from None
        prefix = _SYSTEM_IDS.get(resource)
        if prefix is not None and not re.fullmatch(rf"{prefix}{_SYSTEM_NUMBER}", ids[0]):
            raise CostFileError(
                f"{where}: {_short(text)} names no instance of {resource}; write {resource}/{prefix}0 or "
                f"{resource}/{prefix}0-3"
            )
        known = self._known.setdefault(resource, set())
        before = len(known)
        known.update(ids)
        self._instances += len(known) - before
        self._named += len(ids)
        if self._instances > MOST_INSTANCES:
            raise CostFileError(f"{where}: more than {MOST_INSTANCES} instances in one file; give a part of it")
        if self._named > MOST_NAMED:
            raise CostFileError(
                f"{where}: its ranges name more than {MOST_NAMED} instances; use the same ranges again and again"
            )
        self._read[text] = resource, ids
        return resource, ids

    def check_targets(self) -> None:
        """Refuse a target that is not called as the keys of its resource are."""
        shapes = {resource: {_shape(one) for one in ids} for resource, ids in self._sources.items()}
        for text, where in self._targets.items():
            resource, ids = self._read[text]
            for one in ids if resource in self._sources else ():
                if _shape(one) not in shapes[resource]:
                    near = nearest(one, sorted(self._sources[resource]), 0)
                    raise CostFileError(
                        f'{where}: "{resource}/{one}" is unknown: no key names it, nor is it called as those of '
                        f"{resource} are; did you mean {resource}/{near}?"
                    )


def _shape(name: str) -> str:
    """What names of one series have in common: gpu0 and gpu17, not gpu-0; and all PCI addresses."""
    return "PCI" if _PCI_ADDRESS.fullmatch(name) else re.sub(r"[0-9]+", "0", name)


def _entries(document: Document, names: _Names) -> Iterator[FileEntry]:
    for key, rows in document.value.items():
        where = document.where.at(key)
        resource, ids = names.source(key, _at(where))
        for place, row in _items(rows, where, _ROWS, f"{key} has no list of costs"):
            if not _is_begun(_ROW, row):
                raise CostFileError(f"{_at(place)}: {_wrong_row(row)}")
            [(text, targets)] = row.items()
            cost = _cost(text, place.at(text))
            wrong = f"the cost {text} of {key} has no list of instances"
            for spot, target in _items(targets, place.at(text), _TARGETS, wrong):
                at = _at(spot)
                if not isinstance(target, str):
                    raise CostFileError(f"{at}: {_short(target)} names no instance; write one such as cpu/cpu0-3")
                to_resource, to_ids = names.target(target, at)
                if (resource, ids) == (to_resource, to_ids) and len(ids) == 1:
                    raise CostFileError(f"{at}: {key} has a cost to itself; name other instances, or drop it")
                yield FileEntry(resource, ids, to_resource, to_ids, cost, at)


def _is_begun(form: Form, value: Any) -> bool:
    """Whether a value is of a form as far as it can be told without a look at what it holds."""
    return Form({word: form.words[word] for word in form.words if word in _OUTER}).fits(value)


def _items(value: Any, where: Where, form: Form, otherwise: str) -> Iterator[tuple[Where, Any]]:
    if not _is_begun(form, value):
        raise CostFileError(f"{_at(where)}: {otherwise}; write one below it, as in - 10: [cpu/cpu0-3], or drop it")
    for number, item in enumerate(value):
        yield where.at(number), item


def _cost(text: str, where: Where) -> Fraction:
    if not _NUMBER.fullmatch(text):
        raise CostFileError(f"{_at(where)}: {_short(text)} is no cost; write a number from 0 on, such as 10 or 2.5")
    return Fraction(text)


def _wrong_row(row: Any) -> str:
    if isinstance(row, str) and (found := _WITHOUT_COLON.fullmatch(row)):
        return f"{_short(row)} is a cost without a colon; write {found['cost']}: and a list below it"
    if isinstance(row, dict):
        return f"{len(row)} costs in one entry of the list; write each as an entry of its own, - 10: [...]"
    return f"{_short(row)} is not a cost with a list of instances; write 10: and a list below it"
