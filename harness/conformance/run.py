"""A run of the suite: the sessions side by side, the exchange, the verdicts."""

import functools
import shlex
import threading
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from numaproof.harness.conformance.about import About
from numaproof.harness.conformance.catalogue import CATALOGUE
from numaproof.harness.conformance.checks.check import Check, Feature
from numaproof.harness.conformance.checks.listing import stays_open
from numaproof.harness.conformance.exchange import Exchange, Recorder, Registered
from numaproof.harness.conformance.finding import Facts
from numaproof.harness.conformance.happenings import Happening, Session
from numaproof.harness.conformance.progress import Follower, Progress
from numaproof.harness.conformance.result import Report
from numaproof.harness.conformance.sessions.calls import run_calls
from numaproof.harness.conformance.sessions.restart import run_restart
from numaproof.harness.conformance.sessions.start import run_early, run_refused
from numaproof.harness.conformance.stage import Flips, Pace, Stage, make_directories, open_stage
from numaproof.harness.conformance.subject import CommandSubject, SessionDirectories, Subject
from numaproof.harness.conformance.verdicts import Conditions, judge
from numaproof.harness.runtimes.scratch import run_directory
from numaproof.harness.runtimes.select import select_local_runtime

_PLAYS: Mapping[Session, Callable[[Stage], None]] = {
    Session.CALLS: run_calls,
    Session.RESTART: run_restart,
    Session.EARLY: run_early,
    Session.REFUSED: run_refused,
}
_NEEDS_START = "the suite did not start the subject, and cannot end or restart it"


class NotStartedError(Exception):
    """The subject never registered; the text says what it printed last."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a run is made."""

    checks: tuple[Check, ...] = CATALOGUE
    pace: Pace = field(default_factory=Pace)
    flips: Flips | None = None  # None: the subject's health cannot be changed
    features: frozenset[Feature] | None = None  # None: as its options say
    facts: Facts = field(default_factory=Facts)
    supervise: bool = False
    strict: bool = False
    side_by_side: bool = True
    seed: int = 0
    progress: Callable[[Progress], None] = lambda progress: None
    about: About = field(default_factory=About)  # what the report says of the subject


def check_command(subject: Subject, settings: Settings) -> Report:
    """Check a subject that the suite starts, as often as it needs to."""
    wanted = _sessions(settings.checks)
    with run_directory("check") as root:
        directories = {session: make_directories(root / session) for session in wanted}
        return _run(subject, directories, settings, {}, subject.meeting_place)


def check(command: Sequence[str], settings: Settings | None = None) -> Report:
    """Check a command, in a namespace of its own where that is to be had."""
    runtime = select_local_runtime("auto")
    settings = settings or Settings()
    if not settings.about.subject:
        words = tuple(map(shlex.quote, command))
        about = replace(settings.about, subject=" ".join(words), runtime=runtime.name, command=words)
        settings = replace(settings, about=about)
    return check_command(CommandSubject(tuple(command), runtime), settings)


def check_directory(directory: Path, settings: Settings) -> Report:
    """Check a subject that runs already and registers in this directory."""
    wanted = [session for session in (Session.RESTART, Session.CALLS) if session in _sessions(settings.checks)]
    absent: dict[Session, str] = {Session.EARLY: _NEEDS_START, Session.REFUSED: _NEEDS_START}
    with run_directory("check") as root:
        registry = root / "registry"
        registry.mkdir()
        directories: dict[Session, SessionDirectories] = dict.fromkeys(wanted, SessionDirectories(directory, registry))
        # One subject, one directory: the sessions come one after another, the one that may kill it last.
        return _run(None, directories, replace(settings, side_by_side=False), absent, f"{directory}/kubelet.sock")


def check_socket(socket: Path, settings: Settings) -> Report:
    """Check a subject of which nothing but its socket is known."""
    reason = "the suite was given a socket: it neither starts the subject nor plays its kubelet"
    absent: dict[Session, str] = {Session.RESTART: reason, Session.EARLY: reason, Session.REFUSED: reason}
    with run_directory("check") as root:
        directories = {Session.CALLS: make_directories(root / Session.CALLS)}
        return _run(None, directories, replace(settings, side_by_side=False), absent, f"{socket}", socket)


def _want_watching(checks: Collection[Check]) -> bool:
    """Whether somebody wants to know that the streams stay open."""
    return stays_open in checks


def _sessions(checks: Collection[Check]) -> tuple[Session, ...]:
    """The sessions in which these checks are observed."""
    return tuple(session for session in Session if any(session in check.sessions for check in checks))


def _run(
    subject: Subject | None,
    directories: Mapping[Session, SessionDirectories],
    settings: Settings,
    absent: Mapping[Session, str],
    meeting_place: str,
    socket: Path | None = None,
) -> Report:
    recorder = Recorder()
    broken: dict[Session, str] = {}
    quiet = threading.Event()
    if Session.CALLS not in directories or not settings.side_by_side:
        quiet.set()
    conditions = Conditions(
        settings.facts, absent, broken, settings.features, settings.flips is not None, settings.strict
    )
    follower = Follower(settings.checks, recorder, conditions, settings.progress)
    began = datetime.now(UTC)
    play = functools.partial(_play, recorder, subject, settings, broken, socket, quiet, follower)
    threads = [
        threading.Thread(target=play, args=(session, own), name=f"session {session}")
        for session, own in directories.items()
    ]
    try:
        for thread in threads:
            thread.start()
            if not settings.side_by_side:
                thread.join()
        for thread in threads:
            thread.join()
    finally:
        # After a Ctrl-C nobody waits any more, and every session clears its own stage.
        recorder.stopped.set()
        for thread in threads:
            if thread.is_alive():
                thread.join()
    exchange = recorder.exchange()
    if threads and not exchange.of(Registered) and socket is None and not broken:
        raise NotStartedError(_last_words(exchange, meeting_place, settings.pace.start))
    results = tuple(judge(check, exchange, conditions) for check in settings.checks)
    return Report(results, exchange, recorder.now(), settings.seed, recorder.output(), began, settings.about)


def _play(
    recorder: Recorder,
    subject: Subject | None,
    settings: Settings,
    broken: dict[Session, str],
    socket: Path | None,
    quiet: threading.Event,
    follower: Follower,
    session: Session,
    directories: SessionDirectories,
) -> None:
    follower.begins(session)
    try:
        with open_stage(
            session,
            recorder,
            subject,
            directories,
            pace=settings.pace if _want_watching(settings.checks) else replace(settings.pace, watch=0),
            flips=settings.flips,
            features=settings.features,
            supervise=settings.supervise,
            seed=settings.seed,
            quiet=quiet,
            refusals=1 if session is Session.REFUSED else 0,
        ) as opened:
            if socket is not None:
                opened.kubelet.adopt_socket(socket)
            _PLAYS[session](opened)
    except Exception as error:  # whatever it is, it is the suite's own fault, and reported as such
        line = traceback.extract_tb(error.__traceback__)[-1]
        broken[session] = f"{type(error).__name__}: {error} ({Path(line.filename).name}:{line.lineno})"
    if session is Session.CALLS:
        quiet.set()
    if not recorder.stopped.is_set():  # nobody is told how far a run came that was ended
        follower.is_over(session)


def _last_words(exchange: Exchange, meeting_place: str, patience: float) -> str:
    ends = exchange.happenings(Happening.SUBJECT_EXITED)
    if ends:
        what = f"it exited with the code {ends[0].value}, and did not register at {meeting_place}"
    else:
        what = f"it did not register within {patience:g} s (--start-timeout) at {meeting_place}"
    last = next(iter((*ends, *exchange.happenings(Happening.NOT_REGISTERED))), None)
    return f"{what}; its last output:\n{(last and last.details) or '(none)'}"
