"""How far `numaproof check` is, on stderr: lines, and in a terminal also what goes on now, and for how long."""

import contextlib
import sys
from collections.abc import Callable, Iterator

from numaproof.harness.commands.live_line import is_live, live_line
from numaproof.harness.conformance.progress import Progress


@contextlib.contextmanager
def progress_shown() -> Iterator[Callable[[Progress], None]]:
    """What takes each step of a run; at the end nothing stands in the terminal but the lines."""
    if not is_live():
        yield _log
        return
    with live_line() as (keep, say):

        def tell(progress: Progress) -> None:
            keep(str(progress))
            say(_now(progress))

        yield tell


def _log(progress: Progress) -> None:
    """One write a line, because several sessions talk."""
    with contextlib.suppress(OSError):  # whose reader is gone
        sys.stderr.write(f"{progress}\n")
        sys.stderr.flush()


def _now(progress: Progress) -> str:
    if not progress.running:
        return "all sessions are over"
    noun = "session" if len(progress.running) == 1 else "sessions"
    return f"{noun} {', '.join(progress.running)}; {progress.judged} of {progress.checks} checks judged"
