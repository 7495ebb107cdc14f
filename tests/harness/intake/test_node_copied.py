"""A node that decides, and its copies: its root as a directory, a tar and a text, and PodResources while it runs.

Who holds what has to be what the node gave, and a pod that is explained on a copy has to get the node's own verdict.
"""

import shutil
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from numaproof.fake_sysfs import parse_machine
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.decision.config import settings_of
from numaproof.harness.explain.explanation import explain
from numaproof.harness.intake.assembly import Assembled, assemble
from numaproof.harness.intake.kubelet_root import read_kubelet_root
from numaproof.harness.intake.live_state import with_live
from numaproof.harness.intake.pod_resources import read_pod_resources
from numaproof.harness.intake.state import KubeletState
from numaproof.harness.node.node import Node
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.providers.devices import Device
from numaproof.plugins_mock import MockPlugin
from tests.harness.node.running import GPU, NIC, STATIC, TWO_NODES, devices, listed_plugins, pod, running_node
from tests.places import short_directory

FILES = ("cpu_manager_state", "memory_manager_state", "device-plugins/kubelet_internal_checkpoint")
KUBELETS: Mapping[str, Mapping[str, Any]] = {
    "CPUs": {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0", "topologyManagerPolicy": "single-numa-node"},
    "memory": {**STATIC, "topologyManagerPolicy": "single-numa-node"},
    "pod scope": {**STATIC, "topologyManagerPolicy": "restricted", "topologyManagerScope": "pod"},
    "shared CPUs": {**STATIC, "cpuManagerPolicy": "none", "topologyManagerPolicy": "restricted"},
}
# 7 and 8 CPUs are free at first (CPU 0 is reserved), 63 and 64 GiB, 2 GPUs and 1 NIC on each NUMA node.
HERE = [
    pod("a", {"cpu": 4, "memory": "40Gi", GPU: 1}),
    pod("b", {"cpu": 3, "memory": "30Gi", NIC: 1}, {"cpu": 1, "memory": "1Gi"}),
    pod("c", {"cpu": "1500m", "memory": "1Gi", GPU: 1}),
    pod("d", {"cpu": 1, "memory": "1Gi"}),
]
# Of its init container's CPUs one is used on, and one stays with the pod; PodResources does not tell of it.
WITH_INIT = pod("e", {"cpu": 1, "memory": "1Gi"}, init=[{"cpu": 2, "memory": "2Gi"}])
# What is asked of the node then: what fits somewhere, what fits nowhere, and what only some policies refuse.
ASKED = [
    pod("one", {"cpu": 1, "memory": "1Gi"}),
    pod("three", {"cpu": 3, "memory": "1Gi"}),
    pod("gpu", {"cpu": 2, "memory": "1Gi", GPU: 1}),
    pod("both", {"cpu": 2, "memory": "1Gi", GPU: 1, NIC: 1}),
    pod("large", {"cpu": 1, "memory": "50Gi"}),
    pod("larger", {"cpu": 1, "memory": "25Gi"}),
    pod("wide", {"cpu": 6, "memory": "4Gi"}),
    pod("two", {"cpu": 2, "memory": "1Gi"}, {"cpu": 3, "memory": "1Gi"}),
    pod("all", {"cpu": 20, "memory": "4Gi"}),
    pod("many", {"cpu": 1, "memory": "1Gi", GPU: 3}),
]
Held = dict[tuple[str, str], tuple[frozenset[int], tuple[Any, ...], tuple[Any, ...]]]


@contextmanager
def busy_node(kubelet: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> Iterator[Node]:
    """A node with plugins and pods, all of which it admitted."""
    with ExitStack() as stack:
        node = stack.enter_context(running_node(kubelet))
        gpus = MockPlugin(GPU, devices("gpu", 4), directory=node.device_plugins)
        nics = MockPlugin(NIC, devices("nic", 2), directory=node.device_plugins)
        stack.enter_context(listed_plugins(node, gpus, nics))
        for manifest in pods:
            assert node.admit(manifest).admitted, manifest
        yield node


def held(name: str, container: str, given: Assignment) -> Held:
    """What a container holds; those that hold nothing are not told of."""
    found = tuple(
        (one, tuple(device.id for device in sorted(ids, key=lambda d: d.id))) for one, ids in given.devices.items()
    )
    entry = (given.cpus, tuple(sorted(map(repr, given.memory))), tuple(sorted(found)))
    return {(name, container): entry} if any(entry) else {}


def held_by_node(node: Node) -> Held:
    every: Held = {}
    for view in node.assignments():
        for container in view.containers:
            # What an init container leaves may be somebody else's by now, and no copy tells of it alike.
            if not container.ends:
                every |= held(view.pod.name, container.name, container.given)
    return every


def held_by_copy(node: Assembled) -> Held:
    every: Held = {}
    for resident in node.replica.residents:
        for name, given in resident.given.items():
            if not name.startswith("i"):
                every |= held(resident.pod.name, name, given)
    return every


def copied(node: Node, place: Path) -> Path:
    """The state files, as an operator copies them."""
    for name in FILES:
        (place / name).parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(node.root / name, place / name)
    return place


def as_directory(node: Node, place: Path) -> KubeletState:
    return read_kubelet_root(str(copied(node, place / "copy"))).state


def as_it_runs(node: Node, _place: Path) -> KubeletState:
    return read_kubelet_root(str(node.root)).state


def as_tar(node: Node, place: Path) -> KubeletState:
    with tarfile.open(place / "node.tar.gz", "w:gz") as archive:
        archive.add(copied(node, place / "copy"), "var/lib/kubelet")
    return read_kubelet_root(str(place / "node.tar.gz")).state


def as_text(node: Node, place: Path) -> KubeletState:
    # cat FILE; cat FILE: a state file does not end its last line.
    (place / "pasted.txt").write_text("".join((node.root / name).read_text() for name in FILES))
    return read_kubelet_root(str(place / "pasted.txt")).state


def as_live(node: Node, _place: Path) -> KubeletState:
    return read_pod_resources(str(node.pod_resources_socket))


def as_both(node: Node, place: Path) -> KubeletState:
    return with_live(as_tar(node, place), as_live(node, place))


SOURCES: Mapping[str, Callable[[Node, Path], KubeletState]] = {
    "directory": as_directory,
    "root": as_it_runs,
    "tar": as_tar,
    "text": as_text,
    "live": as_live,
    "live and files": as_both,
}


@pytest.mark.parametrize("kubelet", KUBELETS)
@pytest.mark.parametrize("init", [False, True])
def test_a_copy_holds_and_decides_what_the_node_does(kubelet: str, init: bool) -> None:
    pods = [*HERE, WITH_INIT] if init else HERE
    settings = settings_of(KUBELETS[kubelet], Where("kubelet"))
    machine = parse_machine(TWO_NODES)
    offered = {
        GPU: tuple(Device(f"gpu{i:02}", (i % 2,)) for i in range(4)),
        NIC: tuple(Device(f"nic{i:02}", (i % 2,)) for i in range(2)),
    }
    running = [pod_from(one) for one in pods]
    with short_directory() as place, busy_node(KUBELETS[kubelet], pods) as node:
        copies = {}
        for source, read in SOURCES.items():
            if init and source == "live":
                continue
            state = read(node, place)
            plugins = None if source.startswith("live") else offered  # PodResources tells of devices by itself
            copies[source] = assemble(machine, settings, plugins, running, state=state)
            assert held_by_copy(copies[source]) == held_by_node(node), source
        for manifest in ASKED:
            verdict = node.admit(manifest)
            for source, copy in copies.items():
                told = explain(copy.replica, pod_from(manifest), copy.history).trace.verdict
                assert (told.admitted, told.reason, told.message) == (
                    verdict.admitted,
                    verdict.reason,
                    verdict.message,
                ), (source, manifest["metadata"]["name"])
            if verdict.admitted:
                node.remove(manifest["metadata"]["uid"])
