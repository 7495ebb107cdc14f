"""A listener of a hub that remembers what it was told."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numaproof.harness.node.plugins import PluginHub
from numaproof.harness.providers.devices import Device


class Listener:
    """What a hub reported, in its order: `("devices", resource, devices)`, `("gone", resource)`,
    `("registration", resource, refusal)`; and what it logged."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.lines: list[str] = []

    def devices(self, resource: str) -> tuple[Device, ...] | None:
        """The newest list of the resource, None if there was none yet."""
        lists = [event[2] for event in self.events if event[:2] == ("devices", resource)]
        return lists[-1] if lists else None

    def healthy(self, resource: str) -> set[str]:
        """The resource's healthy devices, as last heard."""
        return {device.id for device in self.devices(resource) or () if device.healthy}


@contextmanager
def heard_hub(root: Path, **settings: Any) -> Iterator[tuple[PluginHub, Listener]]:
    """A hub below `root` and its listener."""
    listener = Listener()
    # The kubelet dials for 10 s; here nothing but a test's own figure may depend on how slow the machine is.
    settings = {"dial_seconds": 60, "deadline_seconds": 60} | settings
    hub = PluginHub(
        root / "dp",
        root / "reg",
        on_devices=lambda resource, devices: listener.events.append(("devices", resource, devices)),
        on_gone=lambda resource: listener.events.append(("gone", resource)),
        on_registration=lambda resource, refusal: listener.events.append(("registration", resource, refusal)),
        log=listener.lines.append,
        **settings,
    )
    with hub:
        yield hub, listener
