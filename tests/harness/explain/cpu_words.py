"""Words for cases that users reported: pods, machines and flags as they write them, and what has to be explained."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from numaproof.fake_sysfs import Machine, parse_machine
from numaproof.fake_sysfs.texts.read_text import read_text
from numaproof.harness.explain.explanation import Explanation, explain
from numaproof.harness.intake.assembly import assemble
from numaproof.harness.intake.configuration import read_configuration
from numaproof.harness.intake.cpu_state import read_cpu_state
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.providers.devices import Device

GPU, NIC = "example.com/gpu", "example.com/nic"
AFFINITY, UNEXPECTED, SMT = "TopologyAffinityError", "UnexpectedAdmissionError", "SMTAlignmentError"

Manifest = Mapping[str, Any]


def container(name: str, cpu: object = None, memory: str | None = "1Gi", **more: Any) -> dict[str, Any]:
    """Limits of a container, and so its requests but for `requests`; `more`: limits of `devices`, and other keys."""
    limits = {"cpu": cpu, "memory": memory, **more.pop("devices", {})}
    limits = {key: str(value) for key, value in limits.items() if value is not None}
    resources = {"limits": limits, "requests": more.pop("requests", {})}
    return {"name": name, "image": "x", "resources": resources, **more}


def pod(name: str, *containers: Manifest, init: tuple[Manifest, ...] = ()) -> Manifest:
    spec = {"containers": list(containers), "initContainers": list(init)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def whole_pod(name: str, *containers: Manifest, cpu: int) -> Manifest:
    """A pod that has resources as a whole."""
    found = pod(name, *containers)
    return {**found, "spec": {**found["spec"], "resources": {"limits": {"cpu": str(cpu), "memory": "4Gi"}}}}


def lscpu(sockets: int, cores: int, threads: int, *nodes: str) -> str:
    """What lscpu says; `cores`: of a socket."""
    count = sockets * cores * threads
    lines = [f"CPU(s): {count}", f"On-line CPU(s) list: 0-{count - 1}"]
    lines += [f"Thread(s) per core: {threads}", f"Core(s) per socket: {cores}", f"Socket(s): {sockets}"]
    lines += [f"NUMA node(s): {len(nodes)}"]
    return "\n".join((*lines, *(f"NUMA node{node} CPU(s): {cpus}" for node, cpus in enumerate(nodes)), ""))


def flags(topology: str = "", reserved: str = "", *, cpu: str = "static", more: str = "") -> str:
    topology = f" --topology-manager-policy={topology}" if topology else ""
    reserved = f" --reserved-cpus={reserved}" if reserved else ""
    return f"kubelet --cpu-manager-policy={cpu}{topology}{reserved} {more}\n"


TWO = lscpu(2, 16, 2, "0-15,32-47", "16-31,48-63")  # 32 CPUs of each node, CPU 32 is the other thread of CPU 0's core
TWO_SINGLE = lscpu(2, 16, 1, "0-15", "16-31")
FOUR_CORES = lscpu(1, 4, 2, "0-7")
EIGHT = lscpu(2, 32, 2, *(f"{first}-{first + 7},{first + 64}-{first + 71}" for first in range(0, 64, 8)))
FOUR = lscpu(2, 64, 2, *(f"{first}-{first + 31},{first + 128}-{first + 159}" for first in range(0, 128, 32)))
ODD_EVEN = lscpu(2, 20, 2, *(",".join(map(str, range(start, 80, 2))) for start in (0, 1)))
WIDE = lscpu(2, 32, 2, "0-31,64-95", "32-63,96-127")
THREE = "available: 3 nodes (0-2)\n" + "".join(
    f"node {node} cpus: {' '.join(map(str, range(6 * node, 6 * node + 6)))}\nnode {node} size: 4096 MB\n"
    for node in range(3)
)
WHOLE_CORES = "--cpu-manager-policy-options=full-pcpus-only=true"
ALPHA = "--feature-gates=CPUManagerPolicyAlphaOptions=true"
DISTRIBUTED = "--cpu-manager-policy-options=distribute-cpus-across-numa=true"


@dataclass(frozen=True, slots=True)
class Case:
    """What somebody reported, and what an explanation of it has to say."""

    source: str
    story: str
    pod: Manifest
    machine: str
    config: str
    running: tuple[Manifest, ...] = ()
    devices: Mapping[str, Mapping[int, int]] = field(default_factory=dict)  # how many of a resource on a NUMA node
    state: str = ""  # cpu_manager_state
    isolated: tuple[int, ...] = ()
    refused: str = ""  # the reason; empty: it is admitted
    blame: tuple[str, ...] = ()  # what, cause, resource, container; empty: nothing is to blame
    wanted: int | None = None
    free: Mapping[int, int] | None = None
    by_node: Mapping[str, Mapping[int, int]] = field(default_factory=dict)  # container -> CPUs given by NUMA node
    says: tuple[str, ...] = ()  # amounts and names that the reasons have to have
    never: tuple[str, ...] = ("no part",)  # what they must not say
    known: tuple[tuple[str, str], ...] = ()  # number of an issue, the kubelet that does otherwise
    helps: tuple[str, ...] = ()  # kinds of remedies that there have to be: a resource, a key of the configuration
    hopeless: bool = False  # nothing is offered
    assumed: str = ""


def small(name: str, cpu: int) -> Manifest:
    return pod(name, container("c", cpu, "200Mi"))


def machine_of(told: str, folder: Path) -> Machine:
    """The machine that a tool tells of or, where no tool tells enough, one of a machine file."""
    if told.startswith(("packages:", "preset:")):
        file = folder / "machine.yaml"
        file.write_text(told)
        return parse_machine(str(file))
    machine = read_text(told, "machine", "reported")
    assert machine is not None
    return machine


def explained(case: Case, folder: Path) -> tuple[Explanation, tuple[str, ...]]:
    """The explanation of a case, and what was assumed for it."""
    machine = machine_of(case.machine, folder)
    machine = replace(machine, isolated=case.isolated)
    settings, notes = read_configuration(case.config, "flags")
    devices = {
        resource: tuple(
            Device(f"{node}-{number}", (node,)) for node, count in by_node.items() for number in range(count)
        )
        for resource, by_node in case.devices.items()
    }
    state = read_cpu_state(case.state, "cpu_manager_state") if case.state else None
    node = assemble(machine, settings, devices, [pod_from(one) for one in case.running], state=state)
    return explain(node.replica, pod_from(case.pod), node.history), (*notes, *node.obstacles, *node.assumptions)


def cpus_by_node(explanation: Explanation, name: str) -> dict[int, int]:
    """How many CPUs a container is given of each NUMA node."""
    node_of = explanation.replica.managers.cpu.topology.node_of
    return dict(Counter(node_of[cpu] for cpu in explanation.trace.given[name].cpus))


def kinds(explanation: Explanation) -> set[str]:
    """What the remedies change: resources of the pod, keys of the configuration, `remove`."""
    found: set[str] = set()
    for remedy in explanation.remedies:
        for key, changed in remedy.change.apply.items():
            if key == "pod":
                found.update(name for amounts in changed.values() for name in amounts)
            else:
                found.update(changed if key == "config" else (key,))
    return found
