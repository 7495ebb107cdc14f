"""The device manager, a hint provider."""

from numaproof.harness.providers.devices.inventory import Device
from numaproof.harness.providers.devices.manager import Allocated, DeviceManager
from numaproof.harness.providers.devices.port import PreferredPort

__all__ = ["Allocated", "Device", "DeviceManager", "PreferredPort"]
