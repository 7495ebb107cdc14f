"""How far `numaproof check` is, on stderr: lines, and in a terminal also what goes on now, and for how long."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from numaproof.harness.conformance.progress import Progress


@contextlib.contextmanager
def progress_shown() -> Iterator[Callable[[Progress], None]]:
    """What takes each step of a run; at the end nothing stands in the terminal but the lines."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield _log
        return
    console = Console(stderr=True, highlight=False, markup=False)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def tell(progress: Progress) -> None:
            bar.console.print(str(progress), soft_wrap=True)
            bar.update(task, description=_now(progress))

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
