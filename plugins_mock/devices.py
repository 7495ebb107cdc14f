"""The devices that a fake plugin offers, and the list that its streams follow."""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from numaproof.plugins_mock.errors import PluginError


@dataclass(frozen=True, slots=True)
class MockDevice:
    """One device as its plugin lists it."""

    id: str
    numa: tuple[int, ...] | None = None  # None: the list has no topology of it; empty: one without nodes
    healthy: bool = True


class Inventory:
    """The current devices; every change has a revision, so that a stream sends each list once and misses none."""

    def __init__(self, devices: Iterable[MockDevice]) -> None:
        self._changed = threading.Condition()
        self._devices = {device.id: device for device in devices}
        self._revision = 0

    def current(self) -> tuple[MockDevice, ...]:
        """All devices, as the next list will show them."""
        with self._changed:
            return tuple(self._devices.values())

    def set_health(self, device_id: str, healthy: bool) -> None:
        """Change one device's health; streams are told only when it really changes."""
        with self._changed:
            if device_id not in self._devices:
                known = ", ".join(list(self._devices)[:8]) or "none"
                raise PluginError(f"device {device_id!r}: not in the list; name one of: {known}")
            changed = replace(self._devices[device_id], healthy=healthy)
            if changed != self._devices[device_id]:
                self._devices[device_id] = changed
                self._revision += 1
                self._changed.notify_all()

    def replace(self, devices: Iterable[MockDevice]) -> None:
        """Offer other devices from now on."""
        with self._changed:
            self._devices = {device.id: device for device in devices}
            self._revision += 1
            self._changed.notify_all()

    def wake(self) -> None:
        """Have every waiting stream ask again whether it has ended."""
        with self._changed:
            self._changed.notify_all()

    def wait_beyond(self, revision: int, ended: Callable[[], bool]) -> tuple[int, tuple[MockDevice, ...]] | None:
        """The next (revision, devices) after `revision`; None once `ended` says so."""
        with self._changed:
            self._changed.wait_for(lambda: ended() or self._revision > revision)
            return None if ended() else (self._revision, tuple(self._devices.values()))
