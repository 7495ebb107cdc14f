"""What goes on now, on stderr: in a terminal a line that changes, and is gone at the end."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

Tell = Callable[[str], None]


def is_live() -> bool:
    """Whether a line can be written anew there."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def live_line() -> Iterator[tuple[Tell, Tell]]:
    """What prints a line that stays, and what says what goes on, with how long it takes; only where a terminal is."""
    console = Console(stderr=True, highlight=False, markup=False)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    # What others print meanwhile stands above the line, where it goes to the same terminal.
    with Progress(*columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty()) as shown:
        task = shown.add_task("", total=None)
        yield (
            lambda line: shown.console.print(line, soft_wrap=True),
            lambda now: shown.update(task, description=now),
        )


@contextmanager
def steps_told() -> Iterator[Tell]:
    """What takes each step of something that takes long: a line each, and in a terminal for how long it goes on."""
    if not is_live():
        yield lambda step: print(step, file=sys.stderr, flush=True)
        return
    with live_line() as (keep, say):

        def tell(step: str) -> None:
            keep(step)
            say("working")

        yield tell
