"""The lines of klog, which a kubelet's log is made of, as people paste them.

As text, structured or not, or as JSON; behind what journald, a container runtime or an export put before them; wrapped
by a terminal or a mail; with their beginning or their end cut off.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from numaproof.fake_sysfs.paste import cleaned

_CURLED = str.maketrans("“”„‟", '""""')
# `Nov 17 10:57:41 host kubelet[123]: `, `2026-01-17T10:57:41.123Z stderr F `, `[ 1234.567] host kubelet[123]: `
_PREFIX = re.compile(
    r"^[ \t]{0,40}(?:[A-Z][a-z]{2}[ \t]{1,2}\d{1,2}[ \t]\d\d:\d\d:\d\d(?:\.\d{1,9})?"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.,:+Z-]{0,24}|\[[ \t]{0,12}\d{1,12}\.\d{1,9}\])[ \t]{1,3}"
    r"(?:(?:stdout|stderr)[ \t][FP][ \t]|[\w.-]{1,253}[ \t][\w.@-]{1,80}(?:\[\d{1,10}\])?:[ \t])?",
    re.MULTILINE,
)
# What lines of ours begin with if their header is cut off, or stands on the line before.
_MESSAGES = (
    *("TopologyHints", "ContainerTopologyHint", "PodTopologyHint", "Best TopologyHint", "Topology Affinity"),
    *("Topology Admit Handler", "Topology manager admission check", "Pod Admit Result", "Pod admission denied"),
    *("Creating topology manager with policy per scope", "Creating topology manager with none policy"),
    *("Hint Provider has no preference for NUMA affinity with resource", "Event occurred", "Kubelet version"),
    *("Hint Provider has no possible NUMA affinities for resource", "Static policy created with configuration"),
    "Reserved CPUs not available for exclusive assignment",
)
_START = re.compile(
    r"(?P<header>[IWEF]\d{4}\s{1,3}\d\d:\d\d:\d\d\.\d{1,9}"
    r"(?:\s{1,20}\d{1,10}\s{1,3}(?P<file>[\w.-]{1,80}):\d{1,7}\]\s{0,3})?)"
    r'|(?P<json>\\?"ts\\?"\s{0,4}:)'
    rf'|\\?"(?:{"|".join(_MESSAGES)})\\?"(?=\s{{1,3}}\w|\s{{0,3}}$)'.replace(" ", r"\s{1,3}")
    + r"|\[(?:topology|cpu|memory)manager\]\s",
    re.MULTILINE,
)
_EMPTY_LINE = re.compile(r"\n[ \t]*\n")
_MESSAGE = re.compile(r'"([^"]{1,120})"')
_JSON_MESSAGE = re.compile(r'"msg":"([^"]{1,120})"')
_CALLER = re.compile(r'"caller":"(?:[^"/]{1,80}/)?([\w.-]{1,80}):')
_HEAD = 600  # characters in which a message begins
_LONGEST_VALUE = 4000


@dataclass(frozen=True, slots=True)
class Entry:
    """What one call of klog wrote, without its header."""

    message: str  # its words, without blanks; empty: it has no structure
    file: str  # that called; empty: not told
    body: str  # the message and what follows, as it stands
    is_open: bool  # the text ends here, and not with a line

    def squeezed(self) -> str:
        """The body without blanks: wherever it was wrapped, these are the same."""
        return "".join(self.body.split())

    def told(self, name: str) -> str:
        """A text of several words that a field holds; empty: it is not there."""
        found = _field(name).search(self.body)
        return " ".join(found[1].replace('\\"', '"').split()) if found else ""


def entries(text: str, where: str) -> Iterator[Entry]:
    """What the lines of a text hold, in their order; whatever is not of klog is passed over."""
    plain = _PREFIX.sub("", cleaned(text, where).translate(_CURLED))
    starts = _START.finditer(plain)
    found = next(starts, None)
    while found is not None:
        following = next(starts, None)
        begin = found.end() if found["header"] else found.start()
        end = following.start() if following else len(plain)
        empty = _EMPTY_LINE.search(plain, begin, end)
        is_open = following is None and empty is None and not plain.endswith("\n")
        yield _entry(found, plain[begin : empty.start() if empty else end], is_open=is_open)
        found = following


def _entry(found: re.Match[str], body: str, *, is_open: bool) -> Entry:
    if body.startswith('\\"'):
        body = body.replace('\\"', '"')  # a line as a value of somebody else's JSON
    head = "".join(body[:_HEAD].split())
    if found["json"]:
        message, caller = _JSON_MESSAGE.search(head), _CALLER.search(head)
        return Entry(message[1] if message else "", caller[1] if caller else "", body, is_open)
    message = _MESSAGE.match(head)
    return Entry(message[1] if message else "", found["file"] or "", body, is_open)


def value_of(squeezed: str, name: str) -> str | None:
    """The text that a field holds, of a body without blanks; None: it is not there, or cut off."""
    found = _field(name).search(squeezed)
    return found[1] if found else None


@lru_cache
def _field(name: str) -> re.Pattern[str]:
    """`name="value"` of text, or `"name":"value"` of JSON."""
    return re.compile(rf'(?<![A-Za-z_/.-]){name}"?\s*[=:]\s*"((?:[^"\\]|\\.){{0,{_LONGEST_VALUE}}})"', re.DOTALL)
