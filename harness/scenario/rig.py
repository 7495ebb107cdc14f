"""What the driver needs of a node under test and its plugins; every kind of rig gives the same."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.scenario.outcome import Outcome
from numaproof.harness.scenario.record import Calls, DeviceRecord


class RigFailedError(Exception):
    """A node, a plugin or where they run did not come up; the text shows what was printed."""


@dataclass(frozen=True, slots=True)
class FakeDevice:
    """A device of a fake plugin."""

    id: str
    numa: tuple[int, ...] | None  # None: no topology; empty: one without nodes
    healthy: bool = True
    links: tuple[tuple[str, int], ...] = ()  # to other devices, how many each; a pair stands at one of the two


@dataclass(frozen=True, slots=True)
class FakePlugin:
    """A fake plugin, sized to a machine: what PluginSpec says, worked out."""

    resource: str
    kind: str  # as `numaproof plugin` has it: generic, or gpu, nic and rdma, which find their devices in sysfs
    devices: tuple[FakeDevice, ...]
    preferred: str
    plural: bool
    pre_start: bool
    list: str
    faults: tuple[str, ...]
    costs: Mapping[str, Any] | str | None = None  # it tells these, as a cost file has them; "pci": those of sysfs


class NodeUnderTest(Protocol):
    """A node that pods are given to: the reference node, or a kubelet."""

    @property
    def offers(self) -> frozenset[str]:
        """What it can beyond a kubelet's own interfaces: "explain"; "affinity": it knows the NUMA proposal's API."""

    def admit(self, manifest: Mapping[str, Any]) -> Outcome:
        """Give a pod to the node; the reason for one that makes no sense is "Invalid"."""

    def explain(self, manifest: Mapping[str, Any]) -> list[str]:
        """What the node decided about a pod that it was just given, and why, in lines; only if it offers "explain"."""

    def bind(self, name: str, numa_node_id: str | None, cpu_affinity: str | None, *, permitted: bool = True) -> Outcome:
        """Give a pod that waits its NUMA node or its CPUs, with or without the permission; None: not told.

        The reason is "Conflict" for one that has started, "NotFound" for one that is not there, "Forbidden" without the
        permission, "Invalid" for what makes no sense. Like all that follows only if it offers "affinity".
        """

    def taint(self, add: Sequence[str], remove: Sequence[str]) -> Outcome:
        """Change the node's taints: KEY=VALUE:EFFECT; to remove, KEY or KEY:EFFECT. It tells who is evicted."""

    def set_quota(self, dedicated_cpu: str | None) -> Outcome:
        """Limit the dedicated CPUs of all pods together; None: any number."""

    def pending(self) -> Mapping[str, Mapping[str, Assignment]]:
        """Pod name -> container name -> what it holds, of all pods that wait to be bound."""

    def remove(self, name: str) -> None:
        """Take a pod away; one that was not admitted holds nothing, and nothing happens."""

    def restart(self) -> None:
        """End the node hard and start it again; its plugins register again."""

    def lose_device_checkpoint(self) -> None:
        """End the node hard, take its device checkpoint away, and start it again."""

    def assignments(self) -> Mapping[str, Mapping[str, Assignment]]:
        """Pod name -> container name -> what it was given, of all pods that the node holds."""

    def metrics(self) -> Mapping[str, float]:
        """The node's metrics: sample, as `samples.sample_name` spells it -> value."""

    def pod_resources(self) -> Mapping[str, Mapping[str, Assignment]]:
        """What PodResources lists: pod name -> container name -> what it was given."""

    def pod_resources_of(self, name: str) -> Mapping[str, Assignment] | None:
        """What PodResources gets of one pod; None: it knows no such pod."""

    def allocatable(self) -> Assignment:
        """What PodResources calls allocatable."""

    def log(self) -> str:
        """All that it has printed since it started first."""


class PluginFleet(Protocol):
    """The plugins of a node."""

    def restart(self, resource: str) -> None:
        """End a plugin, if it runs, and start it again; it registers again."""

    def stop(self, resource: str) -> None:
        """End a plugin, and wait until the node knows; `restart` brings it back."""

    def set_health(self, resource: str, ids: Collection[str], healthy: bool) -> None:
        """Change devices' health, and wait until the node knows."""

    def devices(self) -> tuple[DeviceRecord, ...]:
        """All devices as they stand; those of a plugin that does not run are not healthy."""

    def calls(self) -> Calls:
        """Resource -> call -> how often each plugin was called so far."""


class Surroundings(Protocol):
    """The machine that node and plugins are on."""

    def offline(self, cpu: int) -> None:
        """Take a CPU offline and restart the node."""

    def look(self) -> list[str]:
        """How the views of the real tools and of the node differ from the machine."""

    def start(self, name: str) -> list[str]:
        """Start a pod's containers for real; the answer is how what they see differs from what was decided."""


class Rig(Protocol):
    """A node and its plugins, up and registered."""

    @property
    def node(self) -> NodeUnderTest:
        """The node under test."""

    @property
    def plugins(self) -> PluginFleet:
        """Its plugins."""

    @property
    def surroundings(self) -> Surroundings:
        """Where both are."""
