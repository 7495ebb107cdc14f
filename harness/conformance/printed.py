"""What the subject printed, line by line with its time: plain text, and bounded, whatever the subject prints."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from numaproof.harness.conformance.happenings import Session
from numaproof.harness.runtimes.program import OutputLine

_LONGEST_LINE = 1000  # characters
_MOST_LINES = 2000  # of a session
_MOST_CHARACTERS = 200_000  # of a session
_FIRST_SHARE = 4  # of what is kept, one part of so many is from the beginning
# Colours, movements of the cursor and titles of windows, as terminals take them: they are not what a program says.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])")


@dataclass(frozen=True, slots=True)
class Printed:
    """A line that the subject printed in a session."""

    session: Session
    time: float  # since the run began; where the runtime does not know, when the subject ended
    text: str


def plain(text: str) -> str:
    """A text without anything but what is shown: escapes of terminals are left out, other control characters told."""
    if text.isprintable():
        return text
    told = _ESCAPE.sub("", text).rstrip("\r").expandtabs()
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in told)


def printed(session: Session, lines: Iterable[OutputLine], start: float, end: float) -> list[Printed]:
    """The lines of one life of the subject, which ended at a time; a run that began at `start` counts from there."""
    return [
        Printed(session, end if line.time is None else max(line.time - start, 0.0), _cut(line.text)) for line in lines
    ]


def bounded(lines: Sequence[Printed]) -> list[Printed]:
    """The lines of a session; of too many the first and the last, with a line that says how many are left out."""
    if len(lines) <= _MOST_LINES and sum(len(line.text) + 1 for line in lines) <= _MOST_CHARACTERS:
        return list(lines)
    first = _fitting(lines, 1)
    last = _fitting(lines[len(first) :][::-1], _FIRST_SHARE - 1)[::-1]
    left_out = len(lines) - len(first) - len(last)
    if not left_out:
        return list(lines)
    return [*first, Printed(lines[0].session, last[0].time, f"... {left_out} lines left out ..."), *last]


def _fitting(lines: Sequence[Printed], share: int) -> list[Printed]:
    """As many of the first lines as fit into some parts of what may be kept."""
    room = _MOST_CHARACTERS * share // _FIRST_SHARE
    kept: list[Printed] = []
    for line in lines[: _MOST_LINES * share // _FIRST_SHARE]:
        room -= len(line.text) + 1
        if room < 0:
            break
        kept.append(line)
    return kept


def _cut(text: str) -> str:
    # Cut before it is looked at: an escape has no more than a few characters, and a line may have millions.
    told = plain(text[: 4 * _LONGEST_LINE])
    return told if len(told) <= _LONGEST_LINE and len(text) <= 4 * _LONGEST_LINE else f"{told[:_LONGEST_LINE]} ..."
