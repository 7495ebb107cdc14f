"""Prove NUMA alignment without NUMA hardware: what docs/ teaches, importable from here; the rest may move.

Each name is loaded when it is asked for: whoever needs a machine does not wait for gRPC, and pytest, which imports this
package wherever it is installed, for nothing at all.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from numaproof.fake_sysfs import Machine as Machine
    from numaproof.fake_sysfs import MachineError as MachineError
    from numaproof.fake_sysfs import files as files
    from numaproof.fake_sysfs import parse_machine as parse_machine
    from numaproof.fake_sysfs import preset_names as preset_names
    from numaproof.fake_sysfs import read as read
    from numaproof.fake_sysfs import write as write
    from numaproof.harness.conformance import CATALOGUE as CATALOGUE
    from numaproof.harness.conformance import Report as Report
    from numaproof.harness.conformance import Settings as Settings
    from numaproof.harness.conformance import check as check
    from numaproof.harness.errors import UserError as UserError

# Name -> the module that has it. The imports above say the same to type checkers; a test compares them.
_HOMES = {
    # Machines
    "Machine": "fake_sysfs",
    "MachineError": "fake_sysfs",
    "files": "fake_sysfs",
    "parse_machine": "fake_sysfs",
    "preset_names": "fake_sysfs",
    "read": "fake_sysfs",
    "write": "fake_sysfs",
    # Conformance
    "CATALOGUE": "harness.conformance",
    "Report": "harness.conformance",
    "Settings": "harness.conformance",
    "check": "harness.conformance",
    # Bad input, of whichever part
    "UserError": "harness.errors",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value  # the next time nobody asks here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
