"""Random nodes, the pods on them and a pod to explain, as files would say them: all follows from the seed."""

import copy
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from numaproof.fake_sysfs import Machine, parse_machine
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.decision.config import settings_of
from numaproof.harness.explain.replica import Replica
from numaproof.harness.intake.assembly import Assembled, assemble
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.providers.devices import Device
from numaproof.harness.vocabulary import KUBELET_POLICIES, SCOPES

GIB = 1 << 30
RESOURCES = ("example.com/gpu", "example.com/nic")
_EVICTION = 100 << 20


@dataclass(frozen=True, slots=True)
class State:
    """A node and its pods, in the words of Kubernetes."""

    machine: Machine
    kubelet: Mapping[str, Any]
    devices: Mapping[str, tuple[Device, ...]]
    running: tuple[Mapping[str, Any], ...]
    pod: Mapping[str, Any]

    def assembled(self) -> Assembled:
        """The node after its pods came."""
        settings = settings_of(self.kubelet, Where("kubelet"))
        return assemble(self.machine, settings, self.devices, [pod_from(one) for one in self.running])

    def empty(self) -> Replica:
        """The node before."""
        return replace(self, running=()).assembled().replica


def random_state(seed: int) -> State:
    """A node of 1 to 8 NUMA nodes that is half full, and a pod that may or may not fit."""
    dice = random.Random(seed)
    nodes = dice.choice((1, 2, 2, 2, 4, 4, 8))
    cores, threads = dice.randint(2, 6), dice.choice((1, 2))
    machine = parse_machine(f"pack:{nodes} [numa(memory=8GiB)] core:{cores} pu:{threads}")
    size = cores * threads
    count = dice.randint(0, 3 * nodes)
    devices = {
        resource: tuple(_device(dice, f"{resource[-3:]}{number}", nodes) for number in range(count))
        for resource in RESOURCES[: dice.randint(0, 2)]
    }
    asks = list(devices)
    running = tuple(_pod(dice, f"p{number}", size, asks) for number in range(dice.randint(0, 2 * nodes)))
    return State(machine, _kubelet(dice, machine, threads), devices, running, _pod(dice, "asked", size, asks))


def _device(dice: random.Random, name: str, nodes: int) -> Device:
    where = dice.choice(("one", "one", "one", "one", "two", "none"))
    numa = {"one": (dice.randrange(nodes),), "two": tuple(sorted(dice.sample(range(nodes), min(2, nodes))))}.get(where)
    return Device(name, numa, healthy=dice.random() < 0.95)


def _kubelet(dice: random.Random, machine: Machine, threads: int) -> dict[str, Any]:
    kept = dice.randrange(len(machine.node_ids))
    first = machine.cpus_of(kept)[:threads]
    found: dict[str, Any] = {
        "topologyManagerPolicy": dice.choice(KUBELET_POLICIES),
        "topologyManagerScope": dice.choice(SCOPES),
        "cpuManagerPolicy": dice.choice(("static", "static", "static", "none")),
        "reservedSystemCPUs": ",".join(map(str, first)),
    }
    if found["cpuManagerPolicy"] == "static" and dice.random() < 0.3:
        found["cpuManagerPolicyOptions"] = {"full-pcpus-only": "true"}
    if dice.random() < 0.5:
        found["memoryManagerPolicy"] = "Static"
        found["evictionHard"] = {"memory.available": str(_EVICTION)}
        found["kubeReserved"] = {"memory": str(GIB - _EVICTION)}
        found["reservedMemory"] = [{"numaNode": dice.randrange(len(machine.node_ids)), "limits": {"memory": "1Gi"}}]
    return found


def _pod(dice: random.Random, name: str, size: int, resources: list[str]) -> dict[str, Any]:
    """Mostly Guaranteed; what it asks for is up to a bit more than a NUMA node has."""
    kind = dice.choice(("whole", "whole", "whole", "whole", "part", "burstable"))
    containers = [_container(dice, f"c{number}", kind, size, resources) for number in range(dice.choice((1, 1, 1, 2)))]
    spec: dict[str, Any] = {"containers": containers}
    if dice.random() < 0.15:
        spec["initContainers"] = [_container(dice, "i0", kind, size, resources)]
    return {"kind": "Pod", "metadata": {"name": name}, "spec": spec}


def _container(dice: random.Random, name: str, kind: str, size: int, resources: list[str]) -> dict[str, Any]:
    cpus = dice.randint(1, max(2, size // 2)) if dice.random() < 0.7 else dice.randint(1, size + size // 2)
    limits: dict[str, Any] = {
        "cpu": f"{cpus * 1000 - 500}m" if kind == "part" else cpus,
        "memory": f"{dice.choice((64, 512, 1024, 3072, 6144, 9216))}Mi",
    }
    for resource in resources:
        if dice.random() < 0.5:
            limits[resource] = dice.randint(1, 3)
    requests = {**limits, "memory": "32Mi"} if kind == "burstable" else limits
    return {"name": name, "resources": {"limits": limits, "requests": dict(requests)}}


def changed(state: State, apply: Mapping[str, Any]) -> State:
    """The state after a change as an explanation has it for programs: this reads nothing but that."""
    kubelet, pod, running = copy.deepcopy((dict(state.kubelet), dict(state.pod), list(state.running)))
    for key, value in apply.get("config", {}).items():
        kubelet[key] = {**kubelet.get(key, {}), **value} if isinstance(value, dict) else value
    for container, amounts in apply.get("pod", {}).items():
        every = [*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]]
        resources = next(one for one in every if one["name"] == container)["resources"]
        for table in resources.values():
            table.update(amounts)
    gone = set(apply.get("remove", ()))
    assert set(apply) <= {"config", "pod", "remove"}
    running = [one for one in running if f"default/{one['metadata']['name']}" not in gone]
    return State(state.machine, kubelet, state.devices, tuple(running), pod)
