"""Which scenarios the words of a command line mean: files, folders, themes, scenarios' ids, or single instances'."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numaproof
from numaproof.errors import UserError
from numaproof.harness.scenario.instances import Instance, instances
from numaproof.harness.scenario.parse import parse_scenario
from numaproof.near import did_you_mean, nearest

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Selection:
    """What words mean: as pytest takes it, and as instances; every file was parsed once."""

    names: tuple[str, ...]  # FILE or FILE::ID
    instances: tuple[Instance, ...]
    files: Mapping[Path, tuple[Instance, ...]]  # all instances of each file, whichever are meant


def shipped_scenarios() -> Path:
    """The folder of the scenarios that come with numaproof."""
    return Path(numaproof.__file__).parent / "suites" / "scenarios"


def shipped_themes() -> tuple[str, ...]:
    """The folders of the shipped scenarios, in order."""
    return tuple(sorted(folder.name for folder in shipped_scenarios().iterdir() if folder.is_dir()))


def shipped_ids() -> tuple[str, ...]:
    """The shipped scenarios as THEME/NAME, in order."""
    shipped = shipped_scenarios()
    return tuple(sorted(str(file.relative_to(shipped).with_suffix("")) for file in shipped.glob("*/*.yaml")))


def select(words: Sequence[str], machines: tuple[str, ...]) -> Selection:
    """The scenarios of all words, or else all that are shipped, on these machines, or else on those that they name."""
    shipped = shipped_scenarios()
    names = list(dict.fromkeys(name for word in words or [str(shipped)] for name in _resolve(word, shipped)))
    files: dict[Path, tuple[Instance, ...]] = {}
    found: list[Instance] = []
    for name in names:
        file, _, wanted = name.partition("::")
        path = Path(os.path.abspath(file))  # noqa: PTH100 (a link keeps its name)
        if path not in files:
            files[path] = tuple(instances(parse_scenario(path), machines))
        meant = [one for one in files[path] if wanted in ("", one.id)]
        if not meant:
            near = did_you_mean(wanted, [one.id for one in files[path]])
            raise UserError(f"{wanted}: the scenario has no such instance; ids: numaproof run --list {file}{near}")
        found += meant
    return Selection(tuple(names), tuple(found), files)


def _resolve(word: str, shipped: Path) -> list[str]:
    """What a word stands for, as pytest takes it: a path's files, a theme's, a scenario's, or a single instance."""
    file, colons, instance = word.partition("::")
    if colons and _is_there(Path(file)):
        return [f"{_check_file(Path(file))}::{instance}"]
    for path in (Path(word), shipped / word) if word else ():
        if _is_there(path) and path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and not file.is_dir())
            if not files:
                raise UserError(f"{word}: no scenario lies in this folder; they are files *.yaml")
            return [_check_file(file) for file in files]
        if _is_there(path):
            return [_check_file(path)]
    scenario, bracket, _ = word.partition("[")
    if _is_there(shipped / f"{scenario}.yaml"):
        return [f"{shipped / scenario}.yaml" + (f"::{word}" if bracket else "")]
    known = f"themes: {', '.join(shipped_themes())}; ids: numaproof run --list"
    meant = _meant(scenario)
    raise UserError(f"{word or repr(word)}: no file, folder or scenario of this name; {known}{meant}")


def _meant(word: str) -> str:
    """A theme or a scenario that somebody may have meant, who perhaps left out the scenario's theme."""
    themes, ids = shipped_themes(), shipped_ids()
    if "/" in word:
        return did_you_mean(word, ids)
    by_name = {theme: theme for theme in themes} | {one.partition("/")[2]: one for one in ids}
    near = nearest(word, by_name)
    return did_you_mean(by_name[near], [by_name[near]]) if near else ""


def _is_there(path: Path) -> bool:
    try:
        return path.exists() or path.is_symlink()
    except OSError:  # a name that no file can have
        return False


def _check_file(file: Path) -> str:
    """A file's name as pytest takes it, if it can be a scenario."""
    if file.suffix not in SUFFIXES:
        raise UserError(f"{file}: a scenario's name ends in {' or '.join(SUFFIXES)}; rename it")
    if file.is_symlink() and not file.exists():
        raise UserError(f"{file}: is a link to what is not there; mend or remove it")
    if not file.is_file():
        raise UserError(f"{file}: is not a file that can be read twice; give a regular file")
    if "[" in str(file) or "::" in str(file):
        raise UserError(
            f"{file}: `[` and `::` are for instances, as in FILE::ID[VALUES]; rename the file or its folder"
        )
    return str(file)
