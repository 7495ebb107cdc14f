"""Records as JSON, by which a worker sends them to whoever writes the reports."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from numaproof.harness.scenario.record import (
    DecisionRecord,
    DeviceRecord,
    HeldRecord,
    HintRecord,
    InstanceRecord,
    StepRecord,
    WishRecord,
)


def record_text(record: InstanceRecord) -> str:
    """A record as JSON; `record_from` makes an equal one of it."""
    return json.dumps(record, default=_fields, separators=(",", ":"))


def record_from(text: str) -> InstanceRecord:
    """The record of a text that `record_text` has made."""
    found = json.loads(text)
    return InstanceRecord(
        **found
        | {
            "steps": tuple(map(_step, found["steps"])),
            "reserved_memory": _by_node(found["reserved_memory"]),
            "log": tuple(found["log"]),
            "devices": tuple(map(_device, found["devices"])),
        }
    )


def _fields(value: Any) -> dict[str, Any]:
    assert is_dataclass(value), value
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _step(found: Mapping[str, Any]) -> StepRecord:
    plain = {name: tuple(found[name]) for name in ("expected", "why", "differences")}
    return StepRecord(
        **dict(found)
        | plain
        | {
            "decisions": tuple(map(_decision, found["decisions"])),
            "held": tuple(map(_held, found["held"])),
            "devices": tuple(map(_device, found["devices"])),
        }
    )


def _decision(found: Mapping[str, Any]) -> DecisionRecord:
    merged = found["merged"]
    wishes = tuple(WishRecord(**one | {"hints": tuple(map(_hint, one["hints"]))}) for one in found["wishes"])
    return DecisionRecord(
        found["container"],
        wishes,
        None if merged is None else _hint(merged),
        found["admitted"],
        tuple(found["lines"]),
    )


def _hint(found: Mapping[str, Any]) -> HintRecord:
    return HintRecord(_maybe(found["nodes"]), found["preferred"])


def _device(found: Mapping[str, Any]) -> DeviceRecord:
    return DeviceRecord(**dict(found) | {"numa": tuple(found["numa"])})


def _held(found: Mapping[str, Any]) -> HeldRecord:
    return HeldRecord(found["pod"], found["cpus"], _by_node(found["memory"]), tuple(found["devices"]))


def _by_node(found: Mapping[str, int]) -> dict[int, int]:
    """JSON knows keys that are texts only."""
    return {int(node): amount for node, amount in found.items()}


def _maybe(found: Iterable[int] | None) -> tuple[int, ...] | None:
    return None if found is None else tuple(found)
