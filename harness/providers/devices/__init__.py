"""The device manager, a hint provider."""

from harness.providers.devices.inventory import Device
from harness.providers.devices.manager import Allocated, DeviceManager, Key
from harness.providers.devices.port import PreferredPort

__all__ = ["Allocated", "Device", "DeviceManager", "Key", "PreferredPort"]
