"""The conformance suite for device plugins, as a library: `check(command).failures()`, and its parts."""

from numaproof.harness.conformance.catalogue import CATALOGUE, Check, Level
from numaproof.harness.conformance.outcome import Facts
from numaproof.harness.conformance.run import (
    NotStartedError,
    Report,
    Settings,
    check,
    check_command,
    check_directory,
    check_socket,
)
from numaproof.harness.conformance.stage import Flips, Pace
from numaproof.harness.conformance.subject import CommandSubject
from numaproof.harness.conformance.verdicts import Result

__all__ = [
    "CATALOGUE",
    "Check",
    "CommandSubject",
    "Facts",
    "Flips",
    "Level",
    "NotStartedError",
    "Pace",
    "Report",
    "Result",
    "Settings",
    "check",
    "check_command",
    "check_directory",
    "check_socket",
]
