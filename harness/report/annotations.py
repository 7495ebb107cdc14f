"""What failed, as the annotations that CI systems show beside the code: GitHub's commands, GitLab's Code Quality."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from numaproof.harness.report.source_path import shown, within

MOST_SHOWN = 10  # of a step's errors, and as many of its warnings; what comes after them GitHub drops without a word
_MOST_NAMED = 5  # ids in a text


class Severity(StrEnum):
    """How much an annotation weighs, in GitHub's words."""

    ERROR = "error"
    WARNING = "warning"


# In GitLab's words.
_QUALITY = {Severity.ERROR: "major", Severity.WARNING: "minor"}


@dataclass(frozen=True, slots=True)
class Annotation:
    """One thing to see beside the code."""

    severity: Severity
    rule: str  # what it is about, the same in every run: "lifecycle/restart steps[2]", "dp/list/3"
    title: str
    text: str
    path: Path | None = None  # None: it belongs to no file
    line: int | None = None


def named(ids: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    more = f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
    return ", ".join(ids[:_MOST_NAMED]) + more


def github_commands(annotations: Sequence[Annotation], root: Path) -> list[str]:
    """The lines that GitHub's runner takes from a step's output; of more than it shows, the last says how many."""
    lines = []
    for severity in Severity:
        those = [one for one in annotations if one.severity is severity]
        kept = those if len(those) <= MOST_SHOWN else those[: MOST_SHOWN - 1]
        lines += [_github_command(one, root) for one in kept]
        if rest := those[len(kept) :]:
            text = f"{len(rest)} more, for which there is no room here: {named([one.title for one in rest])}"
            lines.append(_github_command(Annotation(severity, "", "numaproof", text), root))
    return lines


def _github_command(annotation: Annotation, root: Path) -> str:
    words = {}
    # A file that is not the repository's, as a scenario of ours, has no place where GitHub could show it.
    if annotation.path is not None and (file := within(annotation.path, root)) is not None:
        words["file"] = file
        if annotation.line is not None:
            words["line"] = str(annotation.line)
    words["title"] = annotation.title
    told = ",".join(f"{key}={_in_property(value)}" for key, value in words.items())
    return f"::{annotation.severity} {told}::{_in_data(annotation.text)}"


def printable(text: str) -> str:
    """A text without what no reader sees, and with one kind of line break: what a program printed may hold anything."""
    lines = "\n".join(text.splitlines())
    return "".join(one if one in "\n\t" or one.isprintable() else "?" for one in lines)


def _in_data(text: str) -> str:
    """A text as the runner decodes it."""
    return printable(text).replace("%", "%25").replace("\n", "%0A")


def _in_property(text: str) -> str:
    return _in_data(text).replace(":", "%3A").replace(",", "%2C")


def code_quality(annotations: Sequence[Annotation], root: Path, default_path: str) -> str:
    """GitLab's Code Quality report; what belongs to no file is told at `default_path`, as GitLab wants one."""
    return json.dumps([_issue(one, root, default_path) for one in annotations], indent=1) + "\n"


def _issue(annotation: Annotation, root: Path, default_path: str) -> dict[str, object]:
    path = shown(annotation.path, root) if annotation.path is not None else default_path
    # Neither the line nor the text: GitLab tells by it what is new in a branch, and both change with other things.
    identity = f"numaproof\0{path}\0{annotation.rule}"
    return {
        "description": f"{annotation.title}: {annotation.text}",
        "check_name": f"numaproof {annotation.rule}",
        "fingerprint": hashlib.sha256(identity.encode(errors="replace")).hexdigest(),
        "severity": _QUALITY[annotation.severity],
        "location": {"path": path, "lines": {"begin": annotation.line or 1}},
    }
