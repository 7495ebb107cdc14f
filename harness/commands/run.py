"""`numaproof run`: scenarios against the reference node; a front for pytest."""

import argparse
import importlib.util
import os
from pathlib import Path

import pytest

from harness.errors import UserError
from harness.pytest_plugin import RUNTIMES, SUFFIXES
from harness.runtimes.places import remove_stale
from harness.scenario.bench import chosen_runtime
from harness.scenario.instances import Instance, instances
from harness.scenario.parse import parse_scenario
from harness.scenario.sharing import ByMachine, shares
from harness.scenario.trees import machine_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which scenarios, where, and what to write."""
    parser.add_argument("what", nargs="*", metavar="FILE|FOLDER|ID", help="scenarios (default: all that are shipped)")
    parser.add_argument(
        "--runtime", choices=RUNTIMES, default="auto", help="where nodes and plugins run (default: auto)"
    )
    parser.add_argument("--machine", action="append", default=[], help="run on this machine instead (may be repeated)")
    parser.add_argument("--require", choices=("all",), help="all: a scenario that does not apply is a failure")
    parser.add_argument("--workers", "-n", type=int, default=os.cpu_count() or 1, help="side by side (default: cores)")
    parser.add_argument(
        "--out", type=Path, default=Path("out"), help="where junit.xml and summary.json go (default: out)"
    )
    parser.add_argument("--list", action="store_true", help="list the instances, and end")


def run(args: argparse.Namespace) -> int:
    """Run the scenarios; 0: all passed, 1: some failed, 2: bad input."""
    if args.workers < 1:
        raise UserError(f"--workers {args.workers}: give at least 1")
    shipped = shipped_scenarios()
    wanted = list(dict.fromkeys(word for what in args.what or [str(shipped)] for word in found(what, shipped)))
    # All of them are read before anything runs: a mistake is told at once, and in a line.
    listed = [one for word in wanted for one in chosen(word, tuple(args.machine))]
    for argument in {one.argument for one in listed} if args.machine else ():
        machine_of(argument)
    if args.list:
        print("\n".join(one.id for one in listed))
        return 0
    remove_stale()
    runtime = chosen_runtime(args.runtime)
    _reap(runtime)
    print(f"runtime: {runtime}", flush=True)
    try:
        args.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--out {args.out}: {error.strerror}; give a directory that can be made") from error
    options = ["-p", "no:cacheprovider", "--import-mode=importlib", "-q", "--tb=short"]
    # We are imported already, which pytest would warn of: nothing of ours needs its rewritten assertions.
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning", "-c", os.devnull, f"--rootdir={shipped}"]
    options += [f"--numaproof-machine={machine}" for machine in args.machine]
    options += [f"--numaproof-runtime={runtime}", f"--junitxml={args.out / 'junit.xml'}"]
    options += [f"--numaproof-summary={args.out / 'summary.json'}"]
    options += [f"--numaproof-require={args.require}"] if args.require else []
    options += ["-n", str(args.workers)] if args.workers > 1 else []
    ended = pytest.main([*options, *wanted], plugins=[ByMachine(shares(listed, args.workers))])
    _reap(runtime)
    if ended == pytest.ExitCode.INTERRUPTED:
        return 130  # as any program that a Ctrl-C ended
    return int(ended) if ended in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) else 2


def _reap(runtime: str) -> None:
    """Remove the containers of runs, or of workers of this one, that had to be killed."""
    if runtime == "docker":
        from harness.runtimes.docker import reap_abandoned  # noqa: PLC0415 (the SDK takes long to import)

        reap_abandoned()


def shipped_scenarios() -> Path:
    """The folder of the scenarios that come with numaproof."""
    suites = importlib.util.find_spec("suites")
    if suites is None or not suites.submodule_search_locations:
        raise UserError("the package `suites` is not installed; install numaproof whole")
    return Path(suites.submodule_search_locations[0]) / "scenarios"


def found(what: str, shipped: Path) -> list[str]:
    """What a word stands for, as pytest takes it: a path's files, a theme's, a scenario's, or a single instance."""
    scenario, bracket, _ = what.partition("[")
    for path in (Path(what), shipped / what):
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES)
            if not files:
                raise UserError(f"{what}: no scenario lies in this folder; they are files *.yaml")
            return [str(file) for file in files]
        if path.exists():
            return [str(path)]
    if (shipped / f"{scenario}.yaml").is_file():
        return [f"{shipped / scenario}.yaml" + (f"::{what}" if bracket else "")]
    themes = ", ".join(sorted(place.name for place in shipped.iterdir() if place.is_dir()))
    raise UserError(f"{what}: no file, folder or scenario of this name; themes: {themes}; ids: numaproof run --list")


def chosen(word: str, machines: tuple[str, ...]) -> list[Instance]:
    """The instances that a word of `found` means."""
    file, _, wanted = word.partition("::")
    listed = [one for one in instances(parse_scenario(Path(file)), machines) if wanted in ("", one.id)]
    if not listed:
        scenario = wanted.partition("[")[0]
        raise UserError(f"{wanted}: the scenario has no such instance; ids: numaproof run --list {scenario}")
    return listed
