"""`numaproof check`: whether a device plugin does what the kubelet requires of it."""

import argparse
import json
import os
import random
import shlex
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from numaproof import fake_sysfs
from numaproof.errors import UserError
from numaproof.fake_sysfs.argument import MACHINE
from numaproof.harness.arguments import Parser
from numaproof.harness.commands.annotating import (
    Ending,
    add_annotations_argument,
    annotate,
    check_place,
    parse_annotations,
    repository,
)
from numaproof.harness.commands.check_about import about_of
from numaproof.harness.commands.check_progress import progress_shown
from numaproof.harness.commands.output_file import refuse_unwritable, remove_output, write_output
from numaproof.harness.commands.terminal import wants_colour
from numaproof.harness.conformance.check_file import OPTIONS_FILE, add_file_options
from numaproof.harness.conformance.checks.check import Check, RequirementLevel
from numaproof.harness.conformance.machine_facts import facts_of
from numaproof.harness.conformance.outcome import outcome
from numaproof.harness.conformance.progress import Progress
from numaproof.harness.conformance.result import Report
from numaproof.harness.conformance.run import (
    NotStartedError,
    Settings,
    check_command,
    check_directory,
    check_socket,
)
from numaproof.harness.conformance.selection import parse_features, read_known_failures, select
from numaproof.harness.conformance.stage import Flips, Pace
from numaproof.harness.conformance.subject import CommandSubject
from numaproof.harness.conformance.surroundings import (
    parse_bind,
    parse_device_node,
    parse_environment,
    refuse_unshown,
    runtime_for,
)
from numaproof.harness.report.conformance_annotations import not_started, of_checks
from numaproof.harness.report.conformance_html import html
from numaproof.harness.report.conformance_junit import junit
from numaproof.harness.report.conformance_terminal import show
from numaproof.harness.report.conformance_words import plain_text, remark, summary_line
from numaproof.harness.report.conformance_yaml import as_yaml
from numaproof.harness.report.source_path import shown
from numaproof.harness.runtimes.scratch import remove_stale, run_directory
from numaproof.harness.vocabulary import RUNTIMES

CONFORMANT, NOT_CONFORMANT, NOT_STARTED = 0, 1, 3
_LOG_WIDTH = 160  # where nobody says how wide a log is
Tell = Callable[[Progress], None]
EXAMPLES = (
    "numaproof check -- ./my-plugin",
    "numaproof check --machine dgx-a100 --html report.html -- ./my-plugin",
    "numaproof check --only 'dp/list/*' -v -- ./my-plugin",
    "numaproof check --dry-run --level must",
)


def add_arguments(parser: Parser) -> None:
    """Declare the arguments."""
    parser.description = f"{parser.description} Exit code 1: it is not conformant; 3: it could not be started."
    parser.add_argument("subject", nargs="*", metavar="-- CMD ARG", help="the plugin's command; it is started by us")
    where = parser.add_argument_group("the subject")
    where.add_argument("--image", help="the plugin is in this image (with docker)")
    where.add_argument("--dir", type=Path, help="the plugin runs already, and registers in this directory")
    where.add_argument("--socket", type=Path, help="the plugin runs already, and this is its socket")
    where.add_argument("--runtime", choices=RUNTIMES, help="where it runs (auto)")
    where.add_argument("--machine", metavar="M", help=f"the machine that it sees (default: this host's own): {MACHINE}")
    where.add_argument("--supervise", action="store_true", default=None, help="restart it when it exits")
    where.add_argument("--bind", action="append", metavar="SOURCE:TARGET[:ro]", help="show it a file or directory")
    where.add_argument("--env", action="append", metavar="NAME=VALUE", help="set a variable for it")
    where.add_argument("--device", action="append", metavar="SOURCE[:TARGET]", help="show it a device node")
    where.add_argument("--host-network", action="store_true", default=None, help="leave it in the host's network")
    where.add_argument("--unhealthy", metavar="CMD", help="a shell command that makes one of its devices unhealthy")
    where.add_argument("--healthy", metavar="CMD", help="a shell command that makes it healthy again")
    where.add_argument(
        "--plugin-version", metavar="TEXT", help="its version, for the reports (default: its image's label)"
    )
    where.add_argument("--remove-file", metavar="PATH", help="removing this file makes a device unhealthy")
    what = parser.add_argument_group("the checks")
    levels = [level.value for level in RequirementLevel]
    what.add_argument("--level", choices=levels, help="check up to this level (may: all)")
    what.add_argument("--strict", action="store_true", default=None, help="a violated SHOULD fails the run")
    what.add_argument("--only", action="append", metavar="ID", help="check this id or glob (dp/list/*) only")
    what.add_argument("--exclude", action="append", metavar="ID", help="do not check this id or glob")
    what.add_argument("--features", metavar="NAME,...", help="take these features as offered, whatever it says")
    what.add_argument("--known-failures", type=Path, metavar="FILE", help="ids that must still fail, one a line")
    what.add_argument("--dry-run", action="store_true", help="list the checks, and end")
    what.add_argument(
        "--json",
        action="store_true",
        help="with --dry-run, as JSON: `checks`, each with id, title, level, requirement, why, remedy, feature, since",
    )
    what.add_argument("--timeout", type=float, metavar="SECONDS", help="for what the plugin has to do (30)")
    what.add_argument("--start-timeout", type=float, metavar="SECONDS", help="from start to registration (60)")
    what.add_argument("--one-by-one", action="store_true", default=None, help="never run two instances of it at once")
    what.add_argument("--seed", type=int, help="for the random requests (default: any; the report says which)")
    what.add_argument("--repeat", type=int, metavar="N", help="run so often; each run must be good")
    out = parser.add_argument_group("reports")
    out.add_argument("-v", "--verbose", action="store_true", help="print what was seen by every check, passed ones too")
    out.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit's XML")
    out.add_argument("--yaml", type=Path, metavar="FILE", help="write YAML")
    out.add_argument(
        "--html", type=Path, metavar="FILE", help="write a page: one file, failures first, with the plugin's own output"
    )
    add_annotations_argument(out)
    parser.add_argument("--config", type=Path, help=f"a file of options (default: {OPTIONS_FILE}, if it is there)")


def run(args: argparse.Namespace) -> int:
    """Check the subject; 0: conformant, 1: not, 3: it could not be started."""
    _refuse_lost_place()
    given = argparse.Namespace(**vars(args))
    options_file = add_file_options(args)
    annotating = parse_annotations(args.annotations, os.environ)
    checks = select(args.level or "may", args.only or (), args.exclude or ())
    if args.dry_run:
        _list(checks, as_json=args.json)
        return CONFORMANT
    if args.json:
        raise UserError("--json: goes with --dry-run; what a run found is written by --yaml FILE or --junit FILE")
    known = read_known_failures(args.known_failures) if args.known_failures else frozenset()
    if args.repeat is not None and args.repeat < 1:
        raise UserError(f"--repeat {args.repeat}: give at least 1")
    _refuse_bad_places(args)
    check_place(annotating)
    console = Console(
        width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else _LOG_WIDTH,
        no_color=not wants_colour(),
        highlight=False,
    )
    with ExitStack() as ending:
        start = _prepare(given, args, checks, ending)
        for number in range(args.repeat or 1):
            try:
                with progress_shown() as tell:
                    report = start(number, tell)
            except NotStartedError as error:
                print(f"numaproof: the subject could not be started: {plain_text(str(error))}", file=sys.stderr)
                told = Ending("numaproof check: not started", False, (), [not_started(str(error), options_file)])
                annotate(annotating, told, OPTIONS_FILE)
                _remove_earlier(args)
                return NOT_STARTED
            _write(args, report, known, options_file)
            is_good = outcome(report, known).conformant
            if not is_good or number + 1 == (args.repeat or 1):
                headline = f"numaproof check: {outcome(report, known).text}"
                violations = of_checks(report, known, options_file, args.known_failures)
                annotate(
                    annotating,
                    Ending(headline, is_good, [*filter(None, (summary_line(report), remark(report)))], violations),
                    OPTIONS_FILE,
                )
            show(report, console, known, places=_places(args), verbose=args.verbose)
            if not is_good:
                return NOT_CONFORMANT
    return CONFORMANT


def _list(checks: Sequence[Check], *, as_json: bool) -> None:
    if as_json:
        keys = ("id", "title", "level", "requirement", "why", "remedy", "feature", "since")
        print(json.dumps({"checks": [{key: getattr(check, key) for key in keys} for check in checks]}, indent=2))
        return
    for check in checks:
        print(f"{check.id:15} {check.level.value:7} {check.title}")


def _refuse_lost_place() -> None:
    """A subject starts where numaproof runs, and relative paths begin there."""
    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise UserError("the working directory is gone; go to one that is there") from error


def _refuse_bad_places(args: argparse.Namespace) -> None:
    """Whoever waited for a report is not told at the end that it has no place."""
    taken: dict[Path, str] = {}
    for option, path in (("--junit", args.junit), ("--yaml", args.yaml), ("--html", args.html)):
        if path is None:
            continue
        refuse_unwritable(path)
        place = path.resolve()
        if place in taken and (place.is_file() or not place.exists()):
            raise UserError(f"{option} {path}: {taken[place]} is written there; choose another place")
        taken[place] = option


def _remove_earlier(args: argparse.Namespace) -> None:
    """No report of an earlier run is taken for one of this run, which has none."""
    for _kind, path in _places(args):
        remove_output(path)


def _places(args: argparse.Namespace) -> list[tuple[str, Path]]:
    """The reports that are written, by what they are."""
    return [(kind, path) for kind, path in (("junit", args.junit), ("yaml", args.yaml), ("page", args.html)) if path]


def _prepare(
    given: argparse.Namespace, args: argparse.Namespace, checks: tuple[Check, ...], ending: ExitStack
) -> Callable[[int, Tell], Report]:
    """What makes the run of a number, with everything that the runs share; each has a seed of its own."""
    named = [name for name in ("subject", "image", "dir", "socket") if getattr(args, name)]
    if named not in (["subject"], ["image"], ["subject", "image"], ["dir"], ["socket"]):
        raise UserError("name one subject: -- CMD ARG..., --image IMAGE, --dir DIR or --socket PATH")
    tree = None
    if args.machine and args.machine != "host":
        machine = fake_sysfs.parse_machine(args.machine)
        tree = ending.enter_context(run_directory("machine")) / "tree"
        fake_sysfs.write(fake_sysfs.files(machine), tree)
    settings = Settings(
        checks=checks,
        pace=_pace(args),
        flips=_flips(args),
        features=parse_features(args.features),
        facts=facts_of(args.machine or "host"),
        supervise=bool(args.supervise),
        strict=bool(args.strict),
        side_by_side=not args.one_by_one and not args.host_network,
        seed=random.SystemRandom().randrange(1_000_000) if args.seed is None else args.seed,
        about=about_of(given, args, runtime="", image="", version=""),
    )

    def numbered(number: int, tell: Tell) -> Settings:
        return replace(settings, seed=settings.seed + number, progress=tell)

    if args.dir:
        if not args.dir.is_dir():
            raise UserError(f"--dir {args.dir}: no such directory; give the one in which the plugin registers")
        return lambda number, tell: check_directory(args.dir, numbered(number, tell))
    if args.socket:
        if not args.socket.is_socket():
            raise UserError(f"--socket {args.socket}: no socket is there; is the plugin running?")
        return lambda number, tell: check_socket(args.socket, numbered(number, tell))
    remove_stale()
    runtime, image = runtime_for(args.runtime or "auto", args.image, ending)
    binds, devices = (" ".join(words or ()) for words in (args.bind, args.device))
    refuse_unshown(runtime, {"--machine": args.machine if tree else "", "--bind": binds, "--device": devices})
    subject = CommandSubject(
        command=tuple(args.subject) or image.command,
        runtime=runtime,
        machine=tree,
        binds=tuple(parse_bind(text) for text in args.bind or ()),
        environment=dict(parse_environment(text) for text in args.env or ()),
        devices=tuple(parse_device_node(text) for text in args.device or ()),
        own_network=not args.host_network,
    )
    about = about_of(given, args, runtime=runtime.name, image=image.reference, version=image.version)
    settings = replace(settings, about=about)
    return lambda number, tell: check_command(subject, numbered(number, tell))


def _pace(args: argparse.Namespace) -> Pace:
    usual = Pace()
    for name in ("timeout", "start_timeout"):
        value = getattr(args, name)
        if value is not None and value <= 0:
            raise UserError(f"--{name.replace('_', '-')} {value:g}: give a number of seconds above 0")
    return Pace(start=args.start_timeout or usual.start, timeout=args.timeout or usual.timeout)


def _flips(args: argparse.Namespace) -> Flips | None:
    if args.remove_file:
        file, away = shlex.quote(args.remove_file), shlex.quote(f"{args.remove_file}.numaproof")
        return Flips(f"mv {file} {away}", f"mv {away} {file}")
    if bool(args.unhealthy) != bool(args.healthy):
        raise UserError("--unhealthy and --healthy: give both, or neither")
    return Flips(args.unhealthy, args.healthy) if args.unhealthy else None


def _write(args: argparse.Namespace, report: Report, known: Collection[str], options_file: Path | None) -> None:
    file = shown(options_file, repository(os.environ)) if options_file is not None else ""
    if args.junit is not None:
        write_output(args.junit, junit(report, known, file))
    if args.yaml is not None:
        write_output(args.yaml, as_yaml(report, known))
    if args.html is not None:
        write_output(args.html, html(report, known))
