"""`--annotations`: how `run` and `check` tell a CI system what failed, beside the code that it belongs to."""

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from numaproof.errors import UserError
from numaproof.harness.commands.output_file import write_output
from numaproof.harness.report.annotations import Annotation, code_quality, github_commands
from numaproof.harness.report.job_summary import job_summary
from numaproof.near import did_you_mean

_FORMS = "auto, none, github, github=FILE or gitlab=FILE"


@dataclass(frozen=True, slots=True)
class Annotating:
    """What becomes of annotations."""

    system: str  # "github", "gitlab" or "none"
    file: Path | None  # None: standard output


def add_annotations_argument(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Declare the option."""
    parser.add_argument(
        "--annotations",
        default="auto",
        metavar="WHAT",
        help=f"show failures beside the code: {_FORMS} (default: auto, which is github in a GitHub workflow)",
    )


def parse_annotations(text: str, environment: Mapping[str, str]) -> Annotating:
    """The value of the option, in an environment; a UserError if it is none."""
    system, _, file = text.partition("=")
    if text == "auto":
        return Annotating("github" if environment.get("GITHUB_ACTIONS") == "true" else "none", None)
    if text in ("none", "github"):
        return Annotating(text, None)
    if system not in ("github", "gitlab") or not file:
        known = ("auto", "none", "github", "gitlab")
        meant = did_you_mean(system, known) if system not in known else ""  # else it is the file that is wrong
        raise UserError(f"--annotations {text}: give {_FORMS}{meant}")
    return Annotating(system, Path(file))


def check_place(annotating: Annotating) -> None:
    """Refuse a file that cannot be written before anything runs in vain."""
    if annotating.file is not None and not annotating.file.absolute().parent.is_dir():
        raise UserError(f"--annotations {annotating.file}: its directory does not exist; make it first")


@dataclass(frozen=True, slots=True)
class Ending:
    """What there is to tell of a run that has ended."""

    headline: str
    good: bool
    facts: Sequence[str]  # lines, as in a terminal
    annotations: Sequence[Annotation]


def annotate(annotating: Annotating, ending: Ending, default_path: str = ".") -> None:
    """Tell what failed; `default_path` is for what belongs to no file, where the system wants one."""
    root = repository(os.environ)
    if annotating.system == "gitlab" and annotating.file is not None:
        write_output(annotating.file, code_quality(ending.annotations, root, default_path))
    elif annotating.system == "github":
        lines = github_commands(ending.annotations, root)
        if annotating.file is not None:
            write_output(annotating.file, "".join(f"{line}\n" for line in lines))
        elif lines:
            print("\n".join(lines), flush=True)
        if place := os.environ.get("GITHUB_STEP_SUMMARY"):
            text = job_summary(ending.headline, ending.good, ending.facts, ending.annotations, root)
            _append(Path(place), text)


def _append(path: Path, text: str) -> None:
    """A step's summary may have been begun by others."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UserError(
            f"GITHUB_STEP_SUMMARY {path}: cannot be written ({error.strerror}); --annotations none goes without"
        ) from error


def repository(environment: Mapping[str, str]) -> Path:
    """The folder that a CI system checked the repository out to, if we are in it; else where we run."""
    here = Path.cwd()
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        place = environment.get(name)
        if place and here.is_relative_to(Path(place).resolve()):
            return Path(place)
    return here
