"""Fake device plugins: real gRPC servers whose devices, answers and faults are data."""

from plugins_mock.devices import MockDevice
from plugins_mock.errors import PluginError
from plugins_mock.faults import FAULTS, Fault, parse_fault
from plugins_mock.plugin import MockPlugin
from plugins_mock.service import Call

__all__ = ["FAULTS", "Call", "Fault", "MockDevice", "MockPlugin", "PluginError", "parse_fault"]
