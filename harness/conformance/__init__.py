"""The conformance suite for device plugins, as a library: `check(command).failures()`, and its parts."""

from harness.conformance.catalogue import CATALOGUE, Check, Level
from harness.conformance.outcome import Facts
from harness.conformance.run import (
    NotStartedError,
    Report,
    Settings,
    check,
    check_command,
    check_directory,
    check_socket,
)
from harness.conformance.stage import Flips, Pace
from harness.conformance.subject import CommandSubject
from harness.conformance.verdicts import Result

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
