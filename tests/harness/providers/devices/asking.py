"""Pods, devices and plugins for the tests of the device manager."""

from collections.abc import Callable, Collection, Mapping
from fractions import Fraction

from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.providers.devices import Device, DeviceManager
from numaproof.harness.topology.bitmask import NodeMask, mask_of
from numaproof.harness.topology.hints import HintFamily, TopologyHint

GPU = "example.com/gpu"
NOWHERE = TopologyHint(None, False)


def asks(name: str, gpus: int, *, restartable: bool = False) -> Container:
    devices = {GPU: Fraction(gpus)}
    return Container(name, devices, devices, restartable)


def pod_of(*containers: Container, init: tuple[Container, ...] = (), uid: str = "p") -> Pod:
    return Pod(uid, uid, init, containers)


def gpus(*numa: tuple[int, ...] | None, ill: Collection[int] = ()) -> list[Device]:
    """Devices g0, g1, ... on these nodes."""
    return [Device(f"g{index}", nodes, index not in ill) for index, nodes in enumerate(numa)]


def on(*nodes: int) -> TopologyHint:
    return TopologyHint(mask_of(nodes), True)


def flags(hints: object) -> dict[NodeMask, bool]:
    """Whether each hinted mask is preferred."""
    listed = list(hints.hints()) if isinstance(hints, HintFamily) else hints
    assert isinstance(listed, list)
    return {hint.affinity: hint.preferred for hint in listed}


def held(manager: DeviceManager, name: str = "c", uid: str = "p") -> set[str]:
    return set(manager.assignments.get((uid, name), {}).get(GPU, ()))


class Plugin:
    """A plugin in the place of the port: answers by the functions given, and notes every call."""

    def __init__(
        self,
        singular: Callable[[list[str], list[str], int], list[str]] | None = None,
        plural: Callable[[list[str], list[str], int], list[list[str]]] | None = None,
    ) -> None:
        self._singular = singular
        self._plural = plural
        self.calls: list[Mapping[str, object]] = []

    def offers(self, resource: str) -> bool:
        return self._singular is not None

    def preferred(self, resource: str, available: list[str], must_include: list[str], size: int) -> list[str]:
        assert self._singular is not None
        self._note("singular", available, must_include, size)
        return self._singular(available, must_include, size)

    def offers_plural(self, resource: str) -> bool:
        return self._plural is not None

    def preferred_sets(
        self, resource: str, available: list[str], must_include: list[str], size: int
    ) -> list[list[str]]:
        assert self._plural is not None
        self._note("plural", available, must_include, size)
        return self._plural(available, must_include, size)

    def _note(self, call: str, available: list[str], must_include: list[str], size: int) -> None:
        self.calls.append({"call": call, "available": available, "must_include": must_include, "size": size})
