"""Whose each CPU, device and piece of memory of a scene is."""

from collections.abc import Hashable, Iterable
from typing import TypeVar

from numaproof.fake_sysfs.machine import Cpu
from numaproof.harness.drawing.marks import FREE, OFFLINE, RESERVED, Mark, letters, owner
from numaproof.harness.drawing.scene import Scene
from numaproof.harness.drawing.words import clean

LONGEST_LABEL = 60

_Thing = TypeVar("_Thing", bound=Hashable)


class Holders:
    """A scene's holdings, turned round: from what is held to who holds it."""

    def __init__(self, scene: Scene) -> None:
        self._reserved = scene.reserved_cpus
        self.labels = [clean(holding.label, LONGEST_LABEL) or "?" for holding in scene.holdings]
        self._cpus = _turned(holding.cpus for holding in scene.holdings)
        self._devices = _turned(holding.devices for holding in scene.holdings)

    def cpu(self, cpu: Cpu) -> Mark:
        """An offline CPU is nobody's, whatever was promised; what a pod holds is its own, also if it was reserved."""
        if not cpu.online:
            return OFFLINE
        free = RESERVED if cpu.id in self._reserved else FREE
        return owner(self._cpus.get(cpu.id, ())) or free

    def device(self, device_id: str) -> Mark:
        return owner(self._devices.get(device_id, ())) or FREE

    def cpu_names(self, cpu: Cpu) -> str:
        """Whose a CPU is, in words; also who still claims one that is offline."""
        mark = self.cpu(cpu)
        words: list[str] = [] if mark.kind in {"pod", "several", "free"} else [mark.kind]
        words += self._named(self._cpus.get(cpu.id, ()))
        return ", ".join(words) or "free"

    def device_names(self, device_id: str) -> str:
        return ", ".join(self._named(self._devices.get(device_id, ()))) or "free"

    def name(self, mark: Mark) -> str:
        """Whose a thing with this mark is, in words."""
        if mark.kind == "pod":
            return f"{letters(mark.pod)} {self.labels[mark.pod]}"
        return "several pods" if mark.kind == "several" else mark.kind

    def _named(self, pods: Iterable[int]) -> list[str]:
        return [f"{letters(pod)} {self.labels[pod]}" for pod in pods]


def _turned(held: Iterable[frozenset[_Thing]]) -> dict[_Thing, list[int]]:
    found: dict[_Thing, list[int]] = {}
    for pod, things in enumerate(held):
        for thing in things:
            found.setdefault(thing, []).append(pod)
    return found
