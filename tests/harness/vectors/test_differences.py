"""A replay notices what differs, and only that: every recorded value that is changed is reported."""

import copy
import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from numaproof.harness.vectors import merge, node

RECORDED = Path(__file__).parents[2] / "vectors"


def recorded(kind: str) -> Iterator[dict[str, Any]]:
    with lzma.open(RECORDED / f"{kind}.jsonl.xz", "rt") as lines:
        yield from map(json.loads, lines)


def test_a_changed_merge_is_reported() -> None:
    case = next(case for case in recorded("merge") if case["hint"]["mask"] == [0])
    answer = merge.replay(case)
    assert merge.differences(case, answer) == []
    changed = {**case, "hint": {"mask": [1], "preferred": case["hint"]["preferred"]}}
    assert len(merge.differences(changed, answer)) == 1
    assert len(merge.differences({**case, "admit": not case["admit"]}, answer)) == 1


def rich_case() -> dict[str, Any]:
    """A sequence with CPUs, memory, devices of known ids and preferred calls in its first admission."""
    for case in recorded("node"):
        result = case["events"][0]["result"]
        held = (result["containers"] or {}).get("c0")
        if not held or not held["cpus"] or not held["memory"] or not result["preferred_calls"]:
            continue
        if all(device["ids"] for device in held["devices"].values()):
            return case
    raise AssertionError("no such recorded sequence")


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("admitted",), False),
        (("reason",), "OutOfcpu"),
        (("message",), "no"),
        (("containers", "c0", "affinity", "preferred"), None),
        (("containers", "c0", "cpus"), None),
        (("containers", "c0", "memory"), []),
        (("containers", "c0", "devices"), {}),
        (("containers", "c9"), {"cpus": [1]}),
        (("preferred_calls",), []),
        (("preferred_calls", 0, "size"), 99),
    ],
)
def test_a_changed_admission_is_reported(path: tuple[Any, ...], wrong: Any) -> None:
    case = rich_case()
    answer = node.replay(case)
    assert node.differences(case, answer) == []
    changed = copy.deepcopy(case)
    value = changed["events"][0]["result"]
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = wrong
    found = node.differences(changed, answer)
    assert len(found) == 1
    assert found[0].startswith("events[0] p0: ")


def test_what_was_random_is_not_compared() -> None:
    case = rich_case()
    changed = copy.deepcopy(case)
    for held in changed["events"][0]["result"]["containers"].values():
        for device in held["devices"].values():
            device["ids"] = None
    for call in changed["events"][0]["result"]["preferred_calls"]:
        call["available"] = call["must_include"] = None
    assert node.differences(changed, node.replay(case)) == []
