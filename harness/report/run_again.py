"""The command that runs an instance once more: what was given to the run that it is of, as far as it decides."""

import shlex
from dataclasses import dataclass

from numaproof.harness.report.matrix import InstanceResult


@dataclass(frozen=True, slots=True)
class Again:
    """How an instance of a run can be run again."""

    options: tuple[str, ...] = ()  # as they were given: without them it may end otherwise
    machines_given: bool = False  # by the command line, so that the file itself has no such instance

    def command(self, result: InstanceResult) -> str:
        """As a shell takes it."""
        machine = ("--machine", result.words["machine"]) if self.machines_given else ()
        instance = f"{result.path}::{result.words['id']}"
        return shlex.join(["numaproof", "run", *self.options, *machine, instance])
