"""Which checks of the catalogue a run makes, and which of them are known to fail."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from numaproof.errors import UserError
from numaproof.harness.conformance.catalogue import BY_ID, CATALOGUE
from numaproof.harness.conformance.checks.check import Check, Feature, RequirementLevel
from numaproof.near import did_you_mean

_ORDER = list(RequirementLevel)  # the weightiest first
_LISTED = "numaproof check --dry-run lists them"


def select(level: str, only: Sequence[str], exclude: Sequence[str]) -> tuple[Check, ...]:
    """The checks up to a level, among those that `only` names and without those that `exclude` names."""
    refuse_unknown("--only", only)
    refuse_unknown("--exclude", exclude)
    levels = _ORDER[: _ORDER.index(RequirementLevel(level)) + 1]
    selected = tuple(
        check
        for check in CATALOGUE
        if check.level in levels
        and (not only or any(_matches(check, pattern) for pattern in only))
        and not any(_matches(check, pattern) for pattern in exclude)
    )
    if not selected:
        raise UserError("no check is left by --level, --only and --exclude; leave one of them out")
    return selected


def refuse_unknown(option: str, patterns: Sequence[str]) -> None:
    """Refuse ids and globs that no check has."""
    for pattern in patterns:
        if not any(_matches(check, pattern) for check in CATALOGUE):
            raise UserError(f"{option} {pattern}: no check has this id; {_LISTED}{_meant(pattern)}")


def _meant(pattern: str) -> str:
    """The check, or all of its area, that somebody may have meant, with `dp/` or without it."""
    if "," in pattern:
        return "; give each id by itself"
    areas = {f"dp/{check.area}/*" for check in CATALOGUE}
    whole = f"{pattern.rstrip('/')}/*"
    if f"dp/{whole.removeprefix('dp/')}" in areas:
        return f"; did you mean {whole}?"
    known = [*BY_ID, *areas]
    return did_you_mean(pattern, known if pattern.startswith("dp/") else [one.removeprefix("dp/") for one in known])


def _matches(check: Check, pattern: str) -> bool:
    """An id, a glob (`dp/list/*`), or either without `dp/`."""
    return fnmatchcase(check.id, pattern) or fnmatchcase(check.id.removeprefix("dp/"), pattern)


def read_known_failures(path: Path) -> frozenset[str]:
    """The ids of a file, one a line; `#` begins a comment."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()  # some editors begin a file with a mark
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        told = "give a file with the id of a check in each line"
        raise UserError(f"--known-failures {path}: cannot be read ({why}); {told}") from error
    ids = [line.partition("#")[0].strip() for line in lines]
    for number, check_id in enumerate(ids, 1):
        if check_id and check_id not in BY_ID:
            raise UserError(f"{path}: line {number}: {check_id!r} is not a check; {_LISTED}{_meant(check_id)}")
    return frozenset(check_id for check_id in ids if check_id)


def parse_features(text: str | None) -> frozenset[Feature] | None:
    """A list of features, as `preferred,prestart`; None: the subject says itself."""
    if text is None:
        return None
    words = frozenset(word.strip() for word in text.split(",") if word.strip())
    if unknown := sorted(words - set(Feature)):
        told = f"{unknown[0]!r} is not a feature; known: {', '.join(Feature)}"
        raise UserError(f"--features {text}: {told}{did_you_mean(unknown[0], Feature)}")
    return frozenset(Feature(word) for word in words)
