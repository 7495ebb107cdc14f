"""A rig of the tests' own, and a way to drive a story on it."""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from numaproof import fake_sysfs
from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import Block
from numaproof.harness.scenario.drive import drive
from numaproof.harness.scenario.instances import Instance
from numaproof.harness.scenario.outcome import Confined, Outcome
from numaproof.harness.scenario.parse import parse_scenario
from numaproof.harness.scenario.record import DeviceRecord
from numaproof.harness.scenario.recording import Recording
from numaproof.harness.scenario.sizes import sizes_of

MACHINE = fake_sysfs.parse_machine("pack:2 [numa] core:4 pu:1")  # CPUs 0-3 on node 0, 4-7 on node 1
GPU = "example.com/gpu"
Held = dict[str, dict[str, Assignment]]


def given_of(
    cpus: Collection[int] = (),
    memory: Collection[Block] = (),
    devices: Mapping[str, Mapping[str, tuple[int, ...] | None]] | None = None,
) -> Assignment:
    """What a container was given, in short: devices by resource and id, with their NUMA nodes."""
    listed = {
        resource: tuple(Device(*one) for one in sorted(held.items())) for resource, held in (devices or {}).items()
    }
    return Assignment(cpus=frozenset(cpus), memory=tuple(memory), devices=listed)


class FakeRig:
    """A node that gives every pod the next CPU and the next GPU, does what it is told, and remembers it.

    Pods with tolerations wait until they are bound to CPUs, which are then theirs.
    """

    offers = frozenset({"explain", "affinity"})

    def __init__(self) -> None:
        self.held: Held = {}
        self.done: list[tuple[Any, ...]] = []
        self.allocations = 0
        self.seen_wrong: list[str] = []
        self.answer: Callable[[Assignment], Assignment] = lambda given: given  # what it makes of what it gives
        self.disturb: Callable[[Held], None] = lambda held: None  # what goes wrong at the next step
        self.mistell: Callable[[Held], None] = lambda told: None  # what goes wrong in what PodResources lists
        self.forgets = ""  # the pod that PodResources does not get
        self.explained: list[str] = []  # why it does what it does
        self.waiting: Held = {}  # who waits, and what it holds
        self.refusal: Outcome | None = None  # what it says to whatever it is asked to change; None: it does it
        self.evicts: tuple[str, ...] = ()  # who goes at the next taint
        self.asked: list[str] = []  # what was asked only because a step expects something of it

    def admit(self, manifest: Mapping[str, Any]) -> Outcome:
        self.done.append(("admit", manifest["metadata"]["name"]))
        if len(self.held) == 3:
            return Outcome(False, "TopologyAffinityError", "no locality")
        if "tolerations" in manifest["spec"]:
            self.waiting[manifest["metadata"]["name"]] = {"app": Assignment()}
            self.disturb(self.waiting)
            return Outcome(False, "Pending", "spec.cpuAffinity is missing")
        self.allocations += 1
        given = self.answer(given_of({self.allocations}, (), {GPU: {f"gpu-{self.allocations}": (0,)}}))
        containers = {"app": given}
        self.held[manifest["metadata"]["name"]] = dict(containers)
        self.disturb(self.held)
        return Outcome(True, containers=containers)

    def bind(self, name: str, numa_node_id: str | None, cpu_affinity: str | None, *, permitted: bool = True) -> Outcome:
        self.done.append(("bind", name, numa_node_id, cpu_affinity, permitted))
        if self.refusal is not None:
            return self.refusal
        if cpu_affinity is None:
            return Outcome(False, "Pending", "spec.cpuAffinity is missing")
        cpus = frozenset(parse_cpulist(cpu_affinity))
        del self.waiting[name]
        self.held[name] = {"app": self.answer(given_of(cpus))}
        return Outcome(True, containers=dict(self.held[name]), confined=Confined(cpus, frozenset({0})))

    def taint(self, add: Sequence[str], remove: Sequence[str]) -> Outcome:
        self.done.append(("taint", tuple(add), tuple(remove)))
        for name in self.evicts:
            self.held.pop(name, None)
            self.waiting.pop(name, None)
        return self.refusal or Outcome(True, evicted=self.evicts)

    def set_quota(self, dedicated_cpu: str | None) -> Outcome:
        self.done.append(("quota", dedicated_cpu))
        return self.refusal or Outcome(True)

    def pending(self) -> Mapping[str, Mapping[str, Assignment]]:
        return self.waiting

    def remove(self, name: str) -> None:
        self.done.append(("remove", name))
        self.held.pop(name, None)
        self.waiting.pop(name, None)

    @property
    def node(self) -> "FakeRig":
        return self

    @property
    def plugins(self) -> "FakeFleet":
        return FakeFleet(self)

    @property
    def surroundings(self) -> "FakeRig":
        return self

    def restart(self) -> None:
        self.done.append(("restart", "node"))
        self.disturb(self.held)

    def lose_device_checkpoint(self) -> None:
        self.done.append(("lose",))

    def offline(self, cpu: int) -> None:
        self.done.append(("offline", cpu))

    def explain(self, manifest: Mapping[str, Any]) -> list[str]:
        return [f"{manifest['metadata']['name']}: {text}" for text in self.explained]

    def look(self) -> list[str]:
        return self.seen_wrong

    def start(self, name: str) -> list[str]:
        return [f"{name}: {text}" for text in self.seen_wrong]

    def assignments(self) -> Mapping[str, Mapping[str, Assignment]]:
        return self.held

    def pod_resources(self) -> Mapping[str, Mapping[str, Assignment]]:
        told = {pod: dict(containers) for pod, containers in self.held.items()}
        self.mistell(told)
        return told

    def pod_resources_of(self, name: str) -> Mapping[str, Assignment] | None:
        return None if name == self.forgets else self.pod_resources().get(name)

    def allocatable(self) -> Assignment:
        self.asked.append("allocatable")
        return given_of(range(1, 8), (Block((0, 1), "memory", 3 << 30),), {GPU: {"gpu-1": (0,)}})

    def log(self) -> str:
        return "".join(f"did {' '.join(map(str, one))}\n" for one in self.done)

    def metrics(self) -> Mapping[str, float]:
        self.asked.append("metrics")
        return {"admissions": float(self.allocations), 'held{a="1",b="2"}': len(self.held)}


class FakeFleet:
    """The plugins of a FakeRig, which remembers what was done to them."""

    def __init__(self, rig: FakeRig) -> None:
        self._rig = rig

    def restart(self, resource: str) -> None:
        self._rig.done.append(("restart", resource))

    def stop(self, resource: str) -> None:
        self._rig.done.append(("stop", resource))

    def set_health(self, resource: str, ids: Collection[str], healthy: bool) -> None:
        self._rig.done.append(("health", resource, tuple(ids), healthy))

    def devices(self) -> tuple[DeviceRecord, ...]:
        return (DeviceRecord(GPU, "gpu-1", (0,)),)

    def calls(self) -> Mapping[str, Mapping[str, int]]:
        return {GPU: {"Allocate": self._rig.allocations, "ListAndWatch": 1}}


def admit(name: str, **expect: Any) -> dict[str, Any]:
    containers = [{"name": "app", "requests": {"cpu": 1, GPU: 1}}]
    return {"admit": {"name": name, "containers": containers}, "expect": expect or {"admitted": True}}


def driven(
    tmp_path: Path,
    rig: FakeRig,
    *steps: dict[str, Any],
    policy: str = "none",
    recording: Recording | None = None,
    **words: Any,
) -> list[str]:
    file = tmp_path / "theme/file.yaml"
    file.parent.mkdir(exist_ok=True)
    told: dict[str, Any] = {"name": "n", "why": "w", "source": "s"}
    told |= {"matrix": {"policy": ["none", "restricted"], "machine": ["m"]}}
    told |= {"plugins": [{"resource": GPU, "per_numa": 2}], "steps": list(steps), **words}
    file.write_text(json.dumps(told))  # YAML, too, and without anchors
    instance = Instance(parse_scenario(file), "m", {"policy": policy})
    found = drive(instance, MACHINE, sizes_of(MACHINE, False), rig, recording or Recording())
    return [re.sub(rf"^{re.escape(str(file))}:\d+: ", "", text) for text in found]
