"""`numaproof run`: scenarios against the reference node; a front for pytest."""

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from numaproof.fake_sysfs import Machine, MachineError
from numaproof.harness.errors import UserError
from numaproof.harness.report.pictures import write_pictures
from numaproof.harness.runtimes.scratch import remove_stale
from numaproof.harness.runtimes.select import select_runtime
from numaproof.harness.runtimes.trees import machine_of
from numaproof.harness.scenario.instances import Instance
from numaproof.harness.scenario.selection import chosen, found, shipped_scenarios
from numaproof.harness.scenario.sharing import ByMachine, shares
from numaproof.harness.vocabulary import RUNTIMES

_RESULTS = ("junit.xml", "summary.json")
_PICTURES = "machines"
# What people tell the pytest of their own tests: no business of ours, and able to break a run.
_FOR_OTHERS = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")


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
        "--out", type=Path, default=Path("out"), help="where junit.xml, summary.json and pictures go (default: out)"
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
    machines = _machines(listed, args.machine)
    if args.list:
        print("\n".join(one.id for one in listed))
        return 0
    remove_stale()
    runtime = select_runtime(args.runtime)
    _reap(runtime)
    _make_room(args.out, machines)
    print(f"runtime: {runtime}; machines: {', '.join(machines)}", flush=True)
    workers = min(args.workers, len(listed))
    options = [*_sealed(wanted, shipped), "-q", "--tb=short"]
    options += [f"--numaproof-machine={machine}" for machine in args.machine]
    options += [f"--numaproof-runtime={runtime}", f"--junitxml={args.out / _RESULTS[0]}"]
    options += [f"--numaproof-summary={args.out / _RESULTS[1]}"]
    options += [f"--numaproof-require={args.require}"] if args.require else []
    options += ["-n", str(workers)] if workers > 1 else []
    try:
        ended = pytest.main([*options, *wanted], plugins=[ByMachine(shares(listed, workers))])
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UserError(f"--out {args.out}: {error.strerror or error}; the results could not be written") from error
    _reap(runtime)
    if ended not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return 130 if ended == pytest.ExitCode.INTERRUPTED else 2  # 130: as any program that a Ctrl-C ended
    print(f"results: {', '.join(str(args.out / name) for name in (*_RESULTS, _PICTURES))}")
    return int(ended)


def _machines(listed: Sequence[Instance], given: Sequence[str]) -> dict[str, Machine]:
    """The machines of all instances by name, which are machines indeed; and an id means one scenario."""
    places: dict[str, Path] = {}
    machines = {}
    for one in listed:
        path = one.scenario.path
        other = places.setdefault(one.id, path)
        if other != path and other.resolve() != path.resolve():
            raise UserError(f"{other} and {path} have the same id, {one.scenario.id}; rename one file or its folder")
        try:
            machines[one.machine] = machine_of(one.argument)
        except (MachineError, OSError) as error:
            place = "--machine" if one.machine in given else f"{path}: matrix.machine"
            raise UserError(f"{place}: {error}") from error
    return machines


def _make_room(out: Path, machines: Mapping[str, Machine]) -> None:
    """A directory for the results, without those of an earlier run, and with a picture of each machine.

    Refused before anything runs in vain.
    """
    try:
        write_pictures(machines, out / _PICTURES)
        for name in _RESULTS:
            (out / name).write_text("")
            (out / name).unlink()
    except OSError as error:
        raise UserError(f"--out {out}: {error.strerror}; give a directory that can be made and written") from error


def _sealed(wanted: Sequence[str], shipped: Path) -> list[str]:
    """Options of a pytest that takes nothing from where it runs: no settings, conftest.py, cache or other plugins."""
    for name in _FOR_OTHERS:
        os.environ.pop(name, None)
    files = [os.path.abspath(word.partition("::")[0]) for word in wanted]  # noqa: PTH100 (a link keeps its name)
    ours = all(Path(file).is_relative_to(shipped) for file in files)
    # Tests are named by their place below this folder.
    root = str(shipped) if ours else os.path.commonpath([Path.cwd(), *files])
    options = ["--disable-plugin-autoload", "-p", "xdist", "-p", "numaproof.pytest_plugin", "-p", "no:cacheprovider"]
    options += ["--noconftest", "-c", os.devnull, f"--rootdir={root}", f"--confcutdir={root}"]
    # We are imported already, which pytest would warn of: nothing of ours needs its rewritten assertions.
    return [*options, "--import-mode=importlib", "-W", "ignore::pytest.PytestAssertRewriteWarning"]


def _reap(runtime: str) -> None:
    """Remove the containers of runs, or of workers of this one, that had to be killed."""
    if runtime == "docker":
        from numaproof.harness.runtimes.docker import reap_abandoned  # noqa: PLC0415 (the SDK takes long to import)

        reap_abandoned()
