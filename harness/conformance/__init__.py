"""The conformance suite for device plugins, as a library: `check(command).failures()`, and its parts."""

from numaproof.harness.conformance.catalogue import CATALOGUE
from numaproof.harness.conformance.checks.check import Check, RequirementLevel
from numaproof.harness.conformance.finding import Facts
from numaproof.harness.conformance.result import CheckResult, Report
from numaproof.harness.conformance.run import (
    NotStartedError,
    Settings,
    check,
    check_command,
    check_directory,
    check_socket,
)
from numaproof.harness.conformance.stage import Flips, Pace
from numaproof.harness.conformance.subject import CommandSubject

__all__ = [
    "CATALOGUE",
    "Check",
    "CheckResult",
    "CommandSubject",
    "Facts",
    "Flips",
    "NotStartedError",
    "Pace",
    "Report",
    "RequirementLevel",
    "Settings",
    "check",
    "check_command",
    "check_directory",
    "check_socket",
]
