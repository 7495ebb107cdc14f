"""Starting programs that see one machine: what a rig asks of whoever starts its programs, and the plain answer."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from numaproof.harness.runtimes.program import Bind, Program, Running, Runtime
from numaproof.harness.runtimes.trees import tree_to_mount


class Launcher(Protocol):
    """Starts programs that all see one machine: as /sys, or in a runtime that mounts nothing, by its path."""

    @property
    def sysfs_root(self) -> str:
        """Where its programs find their machine: "/", or the path of a tree."""

    @property
    def numaproof(self) -> tuple[str, ...]:
        """What stands in a command for `numaproof`, in front of its arguments."""

    def start(
        self, command: Sequence[str], *, binds: tuple[Bind, ...] = (), environment: Mapping[str, str] | None = None
    ) -> Running:
        """Start a command, with these binds and this environment on top of what all programs here have.

        Raises CannotStartError when that cannot be done here.
        """


class PlainLauncher:
    """Starts every command as a program of its own in a runtime: any command, a kubelet too."""

    def __init__(
        self,
        runtime: Runtime,
        tree: Path,
        *,
        isolated: bool,
        numaproof: tuple[str, ...],
        binds: tuple[Bind, ...] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._runtime = runtime
        self._machine = tree_to_mount(tree) if isolated else None
        self.sysfs_root = "/" if isolated else str(tree)
        self.numaproof = numaproof
        self._binds = binds
        self._environment = dict(environment or {})

    def start(
        self, command: Sequence[str], *, binds: tuple[Bind, ...] = (), environment: Mapping[str, str] | None = None
    ) -> Running:
        """Start a command, with these binds and this environment on top of what all programs here have."""
        program = Program(
            tuple(command),
            machine=self._machine,
            binds=(*self._binds, *binds),
            environment={**self._environment, **(environment or {})},
        )
        return self._runtime.start(program)
