"""Which scenarios a word of the command line means: a file, a folder, a theme, a scenario's id, or one instance's."""

from importlib.resources import files
from pathlib import Path

from numaproof.harness.errors import UserError
from numaproof.harness.scenario.instances import Instance, instances
from numaproof.harness.scenario.parse import parse_scenario

SUFFIXES = (".yaml", ".yml")


def shipped_scenarios() -> Path:
    """The folder of the scenarios that come with numaproof."""
    return Path(str(files("numaproof"))) / "suites" / "scenarios"


def found(what: str, shipped: Path) -> list[str]:
    """What a word stands for, as pytest takes it: a path's files, a theme's, a scenario's, or a single instance."""
    file, colons, _ = what.partition("::")
    if colons and _is_there(Path(file)):
        return [f"{_checked(Path(file))}::{what.partition('::')[2]}"]
    for path in (Path(what), shipped / what) if what else ():
        if _is_there(path) and path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and not file.is_dir())
            if not files:
                raise UserError(f"{what}: no scenario lies in this folder; they are files *.yaml")
            return [_checked(file) for file in files]
        if _is_there(path):
            return [_checked(path)]
    scenario, bracket, _ = what.partition("[")
    if _is_there(shipped / f"{scenario}.yaml"):
        return [f"{shipped / scenario}.yaml" + (f"::{what}" if bracket else "")]
    themes = ", ".join(sorted(place.name for place in shipped.iterdir() if place.is_dir()))
    known = f"themes: {themes}; ids: numaproof run --list"
    raise UserError(f"{what or repr(what)}: no file, folder or scenario of this name; {known}")


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that no file can have
        return False


def _checked(file: Path) -> str:
    """A file's name as pytest takes it, if it can be a scenario."""
    if file.suffix not in SUFFIXES:
        raise UserError(f"{file}: a scenario's name ends in {' or '.join(SUFFIXES)}; rename it")
    if not file.is_file():
        raise UserError(f"{file}: is no file that can be read twice; give a regular file")
    if "[" in str(file) or "::" in str(file):
        raise UserError(f"{file}: pytest takes `[` and `::` for parts of a test's name; rename the file or its folder")
    return str(file)


def chosen(word: str, machines: tuple[str, ...]) -> list[Instance]:
    """The instances that a word of `found` means."""
    file, _, wanted = word.partition("::")
    listed = [one for one in instances(parse_scenario(Path(file)), machines) if wanted in ("", one.id)]
    if not listed:
        raise UserError(f"{wanted}: the scenario has no such instance; ids: numaproof run --list {file}")
    return listed
