"""Fake device plugins: real gRPC servers whose devices, answers and faults are data."""

from numaproof.plugins_mock.devices import MockDevice
from numaproof.plugins_mock.errors import PluginError
from numaproof.plugins_mock.faults import FAULTS, Fault, parse_fault
from numaproof.plugins_mock.plugin import MockPlugin
from numaproof.plugins_mock.service import Call

__all__ = ["FAULTS", "Call", "Fault", "MockDevice", "MockPlugin", "PluginError", "parse_fault"]
