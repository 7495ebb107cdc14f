"""What comes from a browser or a program, as JSON: texts, and what shall be changed in them; all of it has limits."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs.paste import shown
from numaproof.harness.intake.pasted import FIELDS, PastedError, Texts
from numaproof.harness.vocabulary import SEMANTICS

LARGEST_BODY = 1 << 20  # bytes
# Field -> the most characters: lstopo's XML of a large machine has 300,000, `kubectl get pods -o yaml` as many.
LONGEST = {"machine": 600_000, "config": 200_000, "plugins": 400_000, "running": 900_000, "pod": 200_000}
_MOST_CHANGES = 200  # amounts, settings and names in one change
_DEEPEST = 8
_NARROWEST, _WIDEST, _USUAL = 320, 2000, 1000  # px of a drawing


@dataclass(frozen=True, slots=True)
class Request:
    """Texts, a change of them, and how wide a drawing is wanted."""

    texts: Texts
    change: Mapping[str, Any] = field(default_factory=dict)
    width: int = _USUAL


def texts_from(given: Any) -> Texts:
    """The texts of a JSON object; a PastedError names the fields that are wrong, a UserError what else is."""
    if not isinstance(given, dict):
        raise UserError('the body: is not an object; send {"machine": ..., "pod": ...}')
    if unknown := sorted(set(given) - {*FIELDS, "semantics"}):
        raise UserError(f"{shown(unknown[0])}: unknown field; known are {', '.join(FIELDS)}, semantics")
    faults = {}
    for name, longest in LONGEST.items():
        text = given.get(name, "")
        if not isinstance(text, str):
            faults[name] = f"{name}: is not a text; quote it"
        elif len(text) > longest:
            faults[name] = f"{name}: has {len(text)} characters; {longest} are the most: give the part that matters"
        elif not _is_unicode(text):
            faults[name] = f"{name}: has half a character in it (a lone surrogate); paste it again"
    if faults:
        raise PastedError(faults)
    if given.get("semantics", "current") not in SEMANTICS:
        raise UserError(f"semantics: {shown(given['semantics'])} is unknown; write {' or '.join(SEMANTICS)}")
    return Texts(**given)


def request_from(given: Any) -> Request:
    """What the playground asks."""
    if not isinstance(given, dict) or not set(given) <= {"texts", "change", "width"}:
        raise UserError("the body: is not what the playground sends; reload the page")
    width = given.get("width", _USUAL)
    if not isinstance(width, int) or isinstance(width, bool):
        raise UserError("width: is not a number of pixels; reload the page")
    change = given.get("change") or {}
    if not isinstance(change, dict) or _size(change, _DEEPEST) > _MOST_CHANGES:
        raise UserError("change: is not a change, or a very large one; edit the text instead")
    return Request(texts_from(given.get("texts")), change, min(max(width, _NARROWEST), _WIDEST))


def parsed(body: bytes) -> Any:
    """The JSON of a body; a UserError if it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        told = "is nested too deeply" if isinstance(error, RecursionError) else "is not JSON"
        raise UserError(f"the body: {told}; send an object of texts") from None


def schema() -> dict[str, Any]:
    """The fields of a question, as a JSON Schema."""
    said = {
        "machine": "a preset's name, a machine file, an hwloc string, the text of numactl -H or lscpu, a few words",
        "config": "a kubelet's configuration or flags; empty: assumed",
        "plugins": "devices by resource, or the text of nvidia-smi topo -m; empty: the machine's own",
        "running": "manifests of the pods that came before, in their order",
        "pod": "the manifest of the pod in question, or what makes it",
    }
    fields: dict[str, Any] = {
        name: {"type": "string", "maxLength": LONGEST[name], "description": said[name]} for name in FIELDS
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "POST /api/explain",
        "type": "object",
        "required": ["machine", "pod"],
        "additionalProperties": False,
        "properties": fields | {"semantics": {"enum": list(SEMANTICS), "default": "current"}},
    }


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _size(value: Any, depth: int) -> int:
    """How many values there are in a value; more than any limit where it is too deep."""
    if isinstance(value, dict | list):
        if not depth:
            return _MOST_CHANGES + 1
        return 1 + sum(_size(one, depth - 1) for one in (value.values() if isinstance(value, dict) else value))
    return 1
