"""`numaproof run`: scenarios against the reference node; a front for pytest."""

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from numaproof.errors import UserError
from numaproof.fake_sysfs import Machine, MachineError
from numaproof.harness.commands.annotating import (
    Annotating,
    Ending,
    add_annotations_argument,
    annotate,
    check_place,
    parse_annotations,
    repository,
)
from numaproof.harness.commands.output_file import write_output
from numaproof.harness.report.matrix import matrix_lines, summary
from numaproof.harness.report.scenario_annotations import of_scenarios
from numaproof.harness.report.scenario_junit import scenario_junit
from numaproof.harness.runtimes.trees import machine_of
from numaproof.harness.scenario.instances import Instance
from numaproof.harness.scenario.selection import Selection, select
from numaproof.harness.vocabulary import RUNTIMES

if TYPE_CHECKING:
    from numaproof.harness.pytest_run import Ended

_RESULTS = ("junit.xml", "summary.json")
_PICTURES = "machines"
_VERDICTS = {0: "passed", 1: "failed"}


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
    add_annotations_argument(parser)
    parser.add_argument("--list", action="store_true", help="list the instances, and end")


def run(args: argparse.Namespace) -> int:
    """Run the scenarios; 0: all passed, 1: some failed, 2: bad input."""
    if args.workers < 1:
        raise UserError(f"--workers {args.workers}: give at least 1")
    annotating = parse_annotations(args.annotations, os.environ)
    # All of them are read before anything runs: a mistake is told at once, and in a line.
    selection = select(args.what, tuple(args.machine))
    machines = _machines(selection.instances, args.machine)
    if args.list:
        print("\n".join(one.id for one in selection.instances))
        return 0
    return _run(selection, machines, args, annotating)


def _run(
    selection: Selection, machines: Mapping[str, Machine], args: argparse.Namespace, annotating: Annotating
) -> int:
    # Not above: pytest and what the runtimes need take longer to import than a list of instances takes to print.
    from numaproof.harness.pytest_run import run_selection  # noqa: PLC0415
    from numaproof.harness.runtimes.scratch import remove_stale  # noqa: PLC0415
    from numaproof.harness.runtimes.select import select_runtime  # noqa: PLC0415

    remove_stale()
    runtime = select_runtime(args.runtime)
    _reap(runtime)
    _make_room(args.out, machines)
    check_place(annotating)
    print(f"runtime: {runtime}; machines: {', '.join(machines)}", flush=True)
    options = [f"--numaproof-machine={machine}" for machine in args.machine]
    options += [f"--numaproof-runtime={runtime}"]
    options += [f"--numaproof-require={args.require}"] if args.require else []
    ended = run_selection(selection, options, args.workers)
    _reap(runtime)
    _write(ended, runtime, args.out)
    headline = f"numaproof run: {_VERDICTS.get(ended.code, 'ended early')}"
    annotate(annotating, Ending(headline, ended.code == 0, [*matrix_lines(ended.results)], of_scenarios(ended.results)))
    if ended.code in (0, 1):
        print(f"results: {', '.join(str(args.out / name) for name in (*_RESULTS, _PICTURES))}")
    return ended.code


def _write(ended: "Ended", runtime: str, out: Path) -> None:
    """The results, each file whole or not at all."""
    texts = (
        scenario_junit(ended.results, ended.seconds, repository(os.environ)),
        json.dumps(summary(ended.results, runtime), indent=1) + "\n",
    )
    for name, text in zip(_RESULTS, texts, strict=True):
        write_output(out / name, text)


def _machines(listed: Sequence[Instance], given: Sequence[str]) -> dict[str, Machine]:
    """The machines of all instances by name, which are machines indeed; and an id means one scenario."""
    paths: dict[str, Path] = {}
    machines: dict[str, Machine] = {}
    for one in listed:
        path = one.scenario.path
        other = paths.setdefault(one.id, path)
        if other != path and other.resolve() != path.resolve():
            raise UserError(f"{other} and {path} have the same id, {one.scenario.id}; rename one file or its folder")
        try:
            machines[one.machine] = machine_of(one.argument)
        except (MachineError, OSError) as error:
            where = "--machine" if one.machine in given else f"{path}: matrix.machine"
            raise UserError(f"{where}: {error}") from error
    return machines


def _make_room(out: Path, machines: Mapping[str, Machine]) -> None:
    """A directory for the results, without those of an earlier run, and with a picture of each machine.

    Refused before anything runs in vain.
    """
    from numaproof.harness.report.pictures import write_pictures  # noqa: PLC0415 (a drawing takes long to import)

    try:
        write_pictures(machines, out / _PICTURES)
        for name in _RESULTS:
            (out / name).write_text("")
            (out / name).unlink()
    except OSError as error:
        raise UserError(f"--out {out}: {error.strerror}; give a directory that can be made and written") from error


def _reap(runtime: str) -> None:
    """Remove the containers of runs, or of workers of this one, that had to be killed."""
    if runtime == "docker":
        from numaproof.harness.runtimes.docker import reap_abandoned  # noqa: PLC0415 (the SDK takes long to import)

        reap_abandoned()
