"""Topology hints as a kubelet's log spells them: Go's text of them, with or without names, and JSON.

In Go's text a mask is a binary number, `{10 true}` is NUMA node 1; in JSON it is a decimal one. The blanks are gone:
the pieces are told apart without them.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

from numaproof.harness.topology.bitmask import MAX_NODE, NodeMask
from numaproof.harness.topology.hints import TopologyHint

Said = tuple[TopologyHint, ...] | None  # None: it has no preference

# `{01 true}`, `{<nil> false}`, `{NUMANodeAffinity:01 Preferred:true}`; `{ true}` is left of `<nil>` where it was taken
# for a tag of HTML. What a later kubelet adds to a hint is passed over.
_GO = r"\{(?:NUMANodeAffinity:)?(?P<bits>[01]{1,64}|<nil>|)(?:Preferred:)?(?P<go>true|false)[^{}\"]{0,200}\}"
_JSON = (
    r'\{"NUMANodeAffinity":(?:(?P<number>\d{1,20})|null|"(?P<quoted>[01]{1,64})"),"Preferred":(?P<json>true|false)'
    r"(?:,[^{}]{0,200})?\}"
)
_HINT = re.compile(f"{_GO}|{_JSON}")
_NOTHING = re.compile(r"null|<nil>")
_OPENING = re.compile(r"map\[|\{")
_KEY = re.compile(r'"(?P<json>[^"\\]{1,320})":(?:(?P<null>null)|\[)|(?P<go>[^":\[\]{},]{1,320}):\[')


class LoggedHint(NamedTuple):
    """A hint and the place behind it."""

    hint: TopologyHint
    end: int


@dataclass(frozen=True, slots=True)
class LoggedHints:
    """What one provider said, by resource; resources of which something is missing are left out."""

    hints: dict[str, Said]
    unsure: frozenset[str]  # of these Go's text is `[]`, which is no preference or nowhere
    is_whole: bool


def read_hint(text: str, at: int) -> LoggedHint | None:
    """The hint that stands at a place; None: there is none, or not all of it."""
    found = _HINT.match(text, at)
    if found is None:
        return None
    if found["go"]:
        mask = int(found["bits"], 2) if found["bits"] not in ("", "<nil>") else None
        return LoggedHint(_hint(mask, found["go"]), found.end())
    if found["number"]:
        mask = int(found["number"])
        if mask >> (MAX_NODE + 1):
            return None
    else:
        mask = int(found["quoted"], 2) if found["quoted"] else None
    return LoggedHint(_hint(mask, found["json"]), found.end())


def _hint(mask: int | None, preferred: str) -> TopologyHint:
    return TopologyHint(None if mask is None else NodeMask(mask), preferred == "true")


def read_hints(text: str, at: int) -> LoggedHints:
    """The hints by resource that stand at a place."""
    hints: dict[str, Said] = {}
    unsure = set()
    if _NOTHING.match(text, at):
        return LoggedHints(hints, frozenset(), is_whole=True)
    opening = _OPENING.match(text, at)
    if opening is None:
        return LoggedHints(hints, frozenset(), is_whole=False)
    closing = "}" if opening[0] == "{" else "]"
    at = opening.end()
    is_whole = True
    while not text.startswith(closing, at):
        key = _KEY.match(text, at + text.startswith(",", at))
        if key is None:
            is_whole = False
            break
        name, at = key["json"] or key["go"], key.end()
        if key["null"]:
            hints[name] = None
            continue
        listed, at = _list(text, at)
        if listed is not None:
            hints[name] = listed
            if not listed and key["go"]:
                unsure.add(name)
            continue
        is_whole = False
        at = text.find("]", at) + 1
        if not at:
            break
    return LoggedHints(hints, frozenset(unsure), is_whole)


def _list(text: str, at: int) -> tuple[tuple[TopologyHint, ...] | None, int]:
    """The hints of a list up to its end, and the place behind them; None: something is missing."""
    found: list[TopologyHint] = []
    while not text.startswith("]", at):
        one = read_hint(text, at + text.startswith(",", at))
        if one is None:
            return None, at
        found.append(one.hint)
        at = one.end
    return tuple(found), at + 1
