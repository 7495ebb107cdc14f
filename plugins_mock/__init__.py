"""Fake device plugins: real gRPC servers whose devices, answers and faults are data."""

from typing import TYPE_CHECKING, Any

from numaproof.plugins_mock.devices import MockDevice
from numaproof.plugins_mock.errors import PluginError
from numaproof.plugins_mock.faults import FAULTS, Fault, parse_fault

if TYPE_CHECKING:
    from numaproof.plugins_mock.costs import MockCost
    from numaproof.plugins_mock.plugin import MockPlugin
    from numaproof.plugins_mock.service import Call

__all__ = ["FAULTS", "Call", "Fault", "MockCost", "MockDevice", "MockPlugin", "PluginError", "parse_fault"]


def __getattr__(name: str) -> Any:
    """Servers on first use: whoever only reads faults does not wait for gRPC to be imported."""
    if name == "MockPlugin":
        from numaproof.plugins_mock.plugin import MockPlugin  # noqa: PLC0415

        return MockPlugin
    if name == "MockCost":
        from numaproof.plugins_mock.costs import MockCost  # noqa: PLC0415

        return MockCost
    if name == "Call":
        from numaproof.plugins_mock.service import Call  # noqa: PLC0415

        return Call
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
