"""What a runtime is given and what it gives back: a program, its surroundings, and its life."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self, runtime_checkable


class CannotStartError(Exception):
    """A program could not be started; the text says why and shows the last that it printed."""


@dataclass(frozen=True, slots=True)
class Bind:
    """A file or directory of the host that the program sees at another path."""

    source: Path
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class DeviceNode:
    """A device node of the host that the program sees under a path of its own."""

    source: str
    target: str
    permissions: str = "rwm"


@dataclass(frozen=True, slots=True)
class Program:
    """A command and what it shall see; a runtime makes it so, or says that it cannot."""

    command: tuple[str, ...]
    machine: Path | None = None  # a tree that holds sys/ and proc/; None: the host's own machine
    binds: tuple[Bind, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)  # on top of the runtime's own
    directory: str | None = None  # None: the runtime's choice
    devices: tuple[DeviceNode, ...] = ()
    cpus: tuple[int, ...] = ()  # the host's CPUs that it may run on; empty: all
    memory_nodes: tuple[int, ...] = ()  # the host's NUMA nodes that its memory may come from; empty: all


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that came to its end."""

    code: int  # 128 + n: ended by signal n
    output: str


@dataclass(frozen=True, slots=True)
class OutputLine:
    """A line that a program printed, on either stream."""

    time: float | None  # by time.monotonic(), when it began to arrive; None: the runtime does not know
    text: str


class Running(Protocol):
    """A program that was started; leaving its `with` ends it and everything that it started."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *reason: object) -> None: ...

    def poll(self) -> int | None:
        """Its exit code, 128 + n after signal n; None: it still runs."""

    def terminate(self) -> None:
        """Ask it to end (SIGTERM); nothing happens when it has ended already."""

    def wait(self, timeout: float) -> int:
        """Its exit code, once it has ended; raises WaitTimeoutError when that takes longer."""

    def output(self) -> str:
        """What it has printed so far, both streams; of a flood the first and the last part."""

    def lines(self) -> list[OutputLine]:
        """The same, line by line, each with its time."""

    def execute(self, command: Sequence[str], timeout: float = 60) -> Finished:
        """Run a command where the program runs, and wait for its end."""


@runtime_checkable
class ShowsMachines(Protocol):
    """A running program that can be shown another machine than the one that it was started with."""

    def show(self, machine: Path | None) -> None:
        """Show it and all that it starts another machine from now on; None: the host's own.

        Raises CannotStartError when the machine cannot be shown.
        """


class Runtime(Protocol):
    """Starts programs; `name` is what the user calls it."""

    name: str

    def start(self, program: Program) -> Running:
        """Start a program; raises CannotStartError when its surroundings cannot be made."""
