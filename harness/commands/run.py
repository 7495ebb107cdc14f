"""`numaproof run`: scenarios against the reference node, on machines that do not exist."""

import argparse
import io
import json
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numaproof
from numaproof.errors import UserError
from numaproof.fake_sysfs import Machine, MachineError
from numaproof.fake_sysfs.argument import MACHINE
from numaproof.harness.arguments import Parser
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
from numaproof.harness.commands.terminal import wants_colour
from numaproof.harness.report.matrix import matrix_lines
from numaproof.harness.runtimes.trees import machine_of
from numaproof.harness.scenario.instances import Instance
from numaproof.harness.scenario.narrowing import check_themes, narrowed, policy_of, scope_of
from numaproof.harness.scenario.selection import Selection, select
from numaproof.harness.vocabulary import POLICIES, RUNTIMES, SCOPES

if TYPE_CHECKING:
    from numaproof.harness.report.out_folder import OutFolder
    from numaproof.harness.report.run_again import Again
    from numaproof.harness.report.run_report import RunReport
    from numaproof.harness.report.run_text import Paint

_WIDTH = 80  # of what is printed, where nobody says how wide a line is
EXAMPLES = (
    "numaproof run scenario.yaml",
    "numaproof run views --machine dgx-a100 --machine machine.yaml",
    "numaproof run --theme options --policy restricted --scope pod -x",
    "numaproof run --list -k 'dgx and not container'",
)


def add_arguments(parser: Parser) -> None:
    """Which scenarios, where, and what to write."""
    parser.description = f"{parser.description} Exit code 1: some failed."
    parser.add_argument("what", nargs="*", metavar="FILE|FOLDER|ID", help="scenarios (default: all that are shipped)")
    chosen = parser.add_argument_group("of these, only some instances")
    chosen.add_argument(
        "--policy",
        action="append",
        default=[],
        choices=POLICIES,
        metavar="POLICY",
        help=f"of a policy: {', '.join(POLICIES)} (repeatable)",
    )
    chosen.add_argument("--scope", action="append", default=[], choices=SCOPES, help="of a scope (repeatable)")
    chosen.add_argument("--theme", action="append", default=[], metavar="THEME", help="of a theme (repeatable)")
    chosen.add_argument(
        "-k", dest="expression", metavar="EXPR", help="whose id has these parts: 'dgx and not pod', as pytest has it"
    )
    chosen.add_argument("--list", action="store_true", help="list the instances, and end")
    parser.add_argument(
        "--runtime", choices=RUNTIMES, default="auto", help="where nodes and plugins run (default: auto)"
    )
    parser.add_argument(
        "--machine", action="append", default=[], metavar="M", help=f"on this machine instead (repeatable): {MACHINE}"
    )
    parser.add_argument("--require", choices=("all",), help="all: a scenario that does not apply is a failure")
    parser.add_argument("--workers", "-n", type=int, default=os.cpu_count() or 1, help="side by side (default: cores)")
    parser.add_argument("-x", dest="stop", action="store_true", help="stop at the first failure")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("out"),
        help="where index.html, summary.json, junit.xml and pictures of the machines go (default: out)",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="with --list, as JSON: `instances`, each with id, scenario, theme, file, machine, values (of the matrix)",
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the page of the run there, too")
    add_annotations_argument(parser)
    told = parser.add_mutually_exclusive_group()
    told.add_argument("-v", "--verbose", action="store_true", help="all of every failure, and the whole matrix")
    told.add_argument("-q", "--quiet", action="store_true", help="failures and the verdict alone")


def run(args: argparse.Namespace) -> int:
    """Run the scenarios; 0: all passed, 1: some failed, 2: bad input, 130: a Ctrl-C ended it."""
    if args.workers < 1:
        raise UserError(f"--workers {args.workers}: give at least 1")
    if args.json and not args.list:
        raise UserError(f"--json: goes with --list; what a run found is in {args.out / 'summary.json'}")
    # All of them are read before anything runs: a mistake is told at once, and in a line.
    selection = _narrowed(select(args.what, tuple(args.machine)), args)
    machines = _machines(selection.instances, args.machine)
    if args.list:
        _list(selection.instances, as_json=args.json)
        return 0
    return _run(selection, machines, parse_annotations(args.annotations, os.environ), args)


def _list(instances: Sequence[Instance], *, as_json: bool) -> None:
    if not as_json:
        print("\n".join(one.id for one in instances))
        return
    listed = [
        {
            "id": one.id,
            "scenario": one.scenario.id,
            "theme": one.scenario.theme,
            "file": str(one.scenario.path),
            "machine": one.machine,
            "values": dict(one.values),
        }
        for one in instances
    ]
    print(json.dumps({"instances": listed}, indent=2))


def _narrowed(selection: Selection, args: argparse.Namespace) -> Selection:
    """The instances that the options choose; a UserError if those are none."""
    check_themes(args.theme, selection)
    matches = _matcher(args.expression) if args.expression else None  # an empty one means all, as pytest has it

    def is_wanted(one: Instance) -> bool:
        return (
            (not args.policy or policy_of(one) in args.policy)
            and (not args.scope or scope_of(one) in args.scope)
            and (not args.theme or one.scenario.theme in args.theme)
            and (matches is None or matches(one.id))
        )

    if not (args.policy or args.scope or args.theme or matches):
        return selection
    found = narrowed(selection, is_wanted)
    if not found.instances:
        options = [f"--{key} {value}" for key in ("policy", "scope", "theme") for value in getattr(args, key)]
        options += [f"-k {shlex.quote(args.expression)}"] if matches else []
        count = len(selection.instances)
        of = f"none of {count} instances is" if count > 1 else "the only instance is not"
        raise UserError(f"{' '.join(options)}: {of} such; see them by: numaproof run --list")
    return found


def _matcher(expression: str) -> Callable[[str], bool]:
    """Whether an id is meant by an expression of names with `and`, `or`, `not` and parentheses, as pytest's -k is."""
    # pytest's own, which people know; it offers it to nobody by a public name.
    import _pytest.mark.expression as pytests  # noqa: PLC0415

    try:
        compiled = pytests.Expression.compile(expression)
    except (SyntaxError, getattr(pytests, "ParseError", SyntaxError)):
        told = "is not made of names with `and`, `or`, `not` between them"
        raise UserError(
            f"-k {shlex.quote(expression)}: {told}; write parts of ids: dgx and not (pod or none)"
        ) from None

    def matches(name: str) -> bool:
        def has(part: str, /, **words: object) -> bool:
            if words:
                raise UserError(f"-k {shlex.quote(expression)}: {part}(...): write parts of ids, without parentheses")
            return part.lower() in name.lower()

        return compiled.evaluate(has)

    return matches


def _run(
    selection: Selection, machines: Mapping[str, Machine], annotating: Annotating, args: argparse.Namespace
) -> int:
    # Not above: pytest and what the runtimes need take longer to import than a list of instances takes to print.
    from numaproof.harness.report.out_folder import OutFolder  # noqa: PLC0415
    from numaproof.harness.runtimes.scratch import remove_stale  # noqa: PLC0415
    from numaproof.harness.runtimes.select import select_runtime  # noqa: PLC0415

    if args.html is not None and (not args.html.parent.is_dir() or args.html.is_dir()):
        raise UserError(f"--html {args.html}: cannot be written there; give a file in a folder that is there")
    check_place(annotating)
    remove_stale()
    runtime = select_runtime(args.runtime)
    _reap(runtime)
    _make_image(runtime)
    with OutFolder(args.out) as out:
        code = _run_in(out, selection, machines, runtime, annotating, args)
    _reap(runtime)
    return code


def _run_in(
    out: "OutFolder",
    selection: Selection,
    machines: Mapping[str, Machine],
    runtime: str,
    annotating: Annotating,
    args: argparse.Namespace,
) -> int:
    from numaproof.harness.pytest_run import run_selection  # noqa: PLC0415
    from numaproof.harness.report.run_progress import Progress  # noqa: PLC0415
    from numaproof.harness.report.run_report import RunReport  # noqa: PLC0415
    from numaproof.harness.report.run_text import coloured, plain  # noqa: PLC0415

    options = [f"--numaproof-machine={machine}" for machine in args.machine]
    options += [f"--numaproof-runtime={runtime}"]
    options += [f"--numaproof-require={args.require}"] if args.require else []
    count = len(selection.instances)
    paint, width = coloured if wants_colour() else plain, _width()
    if not args.quiet:
        print(_headline(count, machines, runtime, args), flush=True)
    again = _again(args)
    started, begun = datetime.now(UTC), time.monotonic()
    with (
        _own_stream() as stream,
        Progress(
            count,
            stream,
            paint=paint,
            width=width,
            live=_is_live(),
            verbose=args.verbose,
            quiet=args.quiet,
            again=again,
        ) as progress,
    ):
        ended = run_selection(selection, options, args.workers, progress, stop_at_failure=args.stop)
    report = RunReport(
        ended.results,
        runtime,
        numaproof.__version__,
        started.astimezone(),
        time.monotonic() - begun,
        shlex.join(["numaproof", *sys.argv[1:]]),
        machines,
        did_not_run=count - len(ended.results),
        again=again,
    )
    for trouble in ended.troubles:
        print(f"numaproof: the run itself failed: {trouble}", file=sys.stderr)
    if ended.code == 2 and not ended.results:
        return 2
    _publish(out, report, args, lambda: _tell_end(report, ended.code, count, paint, width, annotating, args))
    return ended.code


def _again(args: argparse.Namespace) -> "Again":
    """What the command that runs an instance again has to repeat."""
    from numaproof.harness.report.run_again import Again  # noqa: PLC0415

    options = [] if args.runtime == "auto" else ["--runtime", args.runtime]
    options += ["--require", args.require] if args.require else []
    return Again(tuple(options), machines_given=bool(args.machine))


def _tell_end(
    report: "RunReport",
    code: int,
    count: int,
    paint: "Paint",
    width: int,
    annotating: Annotating,
    args: argparse.Namespace,
) -> None:
    from numaproof.harness.report.run_text import end_lines, plain, verdict  # noqa: PLC0415
    from numaproof.harness.report.scenario_annotations import of_scenarios  # noqa: PLC0415

    headline = f"numaproof run: {verdict(report, count, plain)}"
    annotate(annotating, Ending(headline, code == 0, [*matrix_lines(report.results)], of_scenarios(report.results)))
    for line in () if args.quiet else end_lines(report, paint, width, verbose=args.verbose):
        print(line)
    print(verdict(report, count, paint), flush=True)


def _publish(out: "OutFolder", report: "RunReport", args: argparse.Namespace, tell_end: Callable[[], None]) -> None:
    """Write all results and tell what they are; the last line that is printed is the page's path."""
    from numaproof.harness.report.run_page import run_page  # noqa: PLC0415 (templates take long to import)
    from numaproof.harness.report.run_text import shown_path  # noqa: PLC0415
    from numaproof.harness.report.scenario_junit import scenario_junit  # noqa: PLC0415

    page = run_page(report)
    junit = scenario_junit(report.results, report.seconds, repository(os.environ))
    try:
        out.publish(report.summary(), junit, page, report.machines)
    except OSError as error:
        tell_end()
        told = f"{error.strerror or error}; the results could not be written, give another folder"
        raise UserError(f"--out {args.out}: {told}") from error
    tell_end()
    if args.html is not None:
        write_output(args.html, page)
        print(shown_path(args.html))
    print(shown_path(out.page))


def _headline(count: int, machines: Mapping[str, Machine], runtime: str, args: argparse.Namespace) -> str:
    many = len(machines) > 1
    told = f"numaproof {numaproof.__version__}: {count} instance{'' if count == 1 else 's'} on "
    told += f"{len(machines)} machines" if many else next(iter(machines))
    told += f", runtime {runtime}, {min(args.workers, count)} at a time"
    return told + (f"\nmachines: {', '.join(machines)}" if many and args.verbose else "")


@contextmanager
def _own_stream() -> Iterator[TextIO]:
    """Our output, while pytest holds what others print."""
    try:
        number = os.dup(sys.stdout.fileno())
    except (OSError, io.UnsupportedOperation):  # it is not a file: somebody in this process reads it
        yield sys.stdout
        return
    with os.fdopen(number, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors) as stream:
        yield stream


def _is_live() -> bool:
    """Whether a line can be written anew where we print."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _width() -> int:
    return shutil.get_terminal_size((_WIDTH, 24)).columns if sys.stdout.isatty() else _WIDTH


def _machines(listed: Sequence[Instance], given: Sequence[str]) -> dict[str, Machine]:
    """The machines of all instances by name, which are machines indeed; and an id means one scenario."""
    paths: dict[str, Path] = {}
    machines: dict[str, Machine] = {}
    named_by: dict[str, Path] = {}
    for one in listed:
        path = one.scenario.path
        other = paths.setdefault(one.id, path)
        if other != path and other.resolve() != path.resolve():
            raise UserError(f"{other} and {path} have the same id, {one.scenario.id}; rename one file or its folder")
        try:
            found = machine_of(one.argument)
        except (MachineError, OSError) as error:
            where = "--machine" if one.machine in given else f"{path}: matrix.machine"
            raise UserError(f"{where}: {error}") from error
        namer = named_by.setdefault(one.machine, path)
        if machines.setdefault(one.machine, found) != found:
            told = f"{one.machine} is another machine here than in {namer}; call one of them otherwise"
            raise UserError(f"{path}: matrix.machine: {told}")
    return machines


def _make_image(runtime: str) -> None:
    """Build the image of containers here, where each step can be told: workers would do it in silence."""
    if runtime == "docker":
        from numaproof.harness.commands.live_line import steps_told  # noqa: PLC0415 (rich takes long to import)
        from numaproof.harness.runtimes.image.build import ensure_image  # noqa: PLC0415 (as the SDK does)

        with steps_told() as tell:
            ensure_image(tell)


def _reap(runtime: str) -> None:
    """Remove the containers of runs, or of workers of this one, that had to be killed."""
    if runtime == "docker":
        from numaproof.harness.runtimes.docker import reap_abandoned  # noqa: PLC0415 (the SDK takes long to import)

        reap_abandoned()
