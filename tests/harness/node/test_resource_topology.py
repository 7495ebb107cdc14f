"""NodeResourceTopology and PodResources tell the same of a node, for the end state of every recorded sequence.

Where the two differ by their nature, it is said at the place. Both are compared by what they tell, not by how they came
to it; the recorded machine is the third witness.
"""

import json
import lzma
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.harness.affinity.resource_topology import resource_topology
from numaproof.harness.affinity.rules import Site
from numaproof.harness.affinity.zones import zones_of
from numaproof.harness.api import podresources_v1_pb2 as api
from numaproof.harness.decision.config import NodeConfig
from numaproof.harness.decision.managers import Managers, NodeDescription
from numaproof.harness.decision.reservations import Reservations
from numaproof.harness.node.encode.pod_resources import allocatable_message, pod_resources_message
from numaproof.harness.node.house_rules import HouseRules
from numaproof.harness.node.node import Node
from numaproof.harness.node.records import Phase, PodRecord, PodRecords
from numaproof.harness.node.snapshot import NodeSnapshot, PodView
from numaproof.harness.node.viewing import Views
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.quantity import milli_value, parse_quantity
from numaproof.harness.vectors.device_alloc import RecordingPort
from numaproof.harness.vectors.memory import memory_nodes
from numaproof.harness.vectors.node import differences, managers_of
from tests.harness.affinity.test_resource_topology import check_resource_topology
from tests.harness.node.binding import page
from tests.harness.node.running import pod, pod_resources, running_node
from tests.harness.node.test_vectors_over_sockets import VECTORS, is_usable, replay_over_sockets

PARTS = 4
Where = tuple[int, str]  # a NUMA node and a resource


@cache
def vectors() -> list[dict[str, Any]]:
    with lzma.open(VECTORS, "rt") as lines:
        return list(map(json.loads, lines))


@dataclass
class Told:
    """What PodResources tells of a node, and what it hides: the CPUs and devices of init containers that have ended.

    The managers keep those for the pod until it goes, as the kubelet's do, so nobody else can have them.
    """

    allocatable: api.AllocatableResourcesResponse
    pods: list[api.PodResources]
    hidden_cpus: set[int] = field(default_factory=set)
    hidden_devices: set[tuple[str, str]] = field(default_factory=set)

    def hide(self, views: Iterable[PodView]) -> None:
        """Note what the ended init containers of pods have."""
        for ended in (container for view in views for container in view.containers if container.ends):
            self.hidden_cpus |= ended.given.cpus
            for resource, held in ended.given.devices.items():
                self.hidden_devices |= {(resource, one.id) for one in held}

    def cpus(self) -> set[int]:
        listed = {cpu for one in self.pods for container in one.containers for cpu in container.cpu_ids}
        return listed | self.hidden_cpus

    def blocks(self) -> list[tuple[str, tuple[int, ...], int]]:
        return [
            (block.memory_type, tuple(node.ID for node in block.topology.nodes), block.size)
            for one in self.pods
            for container in one.containers
            for block in container.memory
        ]

    def devices(self) -> set[tuple[str, str]]:
        listed = {
            (held.resource_name, name)
            for one in self.pods
            for container in one.containers
            for held in container.devices
            for name in held.device_ids
        }
        return listed | self.hidden_devices


def zone_amounts(document: dict[str, Any], key: str) -> dict[Where, int]:
    """The amounts of a NodeResourceTopology; cpu in thousandths."""
    return {
        (int(zone["name"].removeprefix("node-")), one["name"]): (
            milli_value(parse_quantity(one[key])) if one["name"] == "cpu" else int(one[key])
        )
        for zone in document["zones"]
        for one in zone["resources"]
    }


def compare(case: dict[str, Any], document: dict[str, Any], told: Told) -> None:
    """Fail where the two do not tell the same."""
    check_resource_topology(document)
    assert [zone["name"] for zone in document["zones"]] == [
        f"node-{node['id']}" for node in sorted(case["machine"]["numa"], key=lambda node: node["id"])
    ]
    compare_cpus(case, document, told)
    compare_memory(case, document, told)
    compare_devices(case, document, told)


def compare_cpus(case: dict[str, Any], document: dict[str, Any], told: Told) -> None:
    allocatable, available = zone_amounts(document, "allocatable"), zone_amounts(document, "available")
    capacity = zone_amounts(document, "capacity")
    own = set(told.allocatable.cpu_ids)
    if case["kubelet"]["cpuManagerPolicy"] == "none":
        # No CPU can be given away alone, so PodResources tells of none; those of the host are pods' for all that.
        assert own == set()
        own = {row[0] for row in case["machine"]["cpus"]} - set(parse_cpulist(case["kubelet"]["reservedSystemCPUs"]))
    for node in case["machine"]["numa"]:
        cpus = {row[0] for row in case["machine"]["cpus"] if row[3] == node["id"]}
        here = node["id"], "cpu"
        assert capacity.get(here, 0) == 1000 * len(cpus)
        assert allocatable.get(here, 0) == 1000 * len(cpus & own)
        assert available.get(here, 0) == 1000 * len(cpus & own - told.cpus())


def compare_memory(case: dict[str, Any], document: dict[str, Any], told: Told) -> None:
    if case["kubelet"]["memoryManagerPolicy"] == "None":
        # Nobody's memory is of one place: PodResources tells nothing, and all that is there is told as available.
        assert not told.allocatable.memory
        assert told.blocks() == []
        allocatable = zone_amounts(document, "allocatable")
        assert {key: amount for key, amount in zone_amounts(document, "available").items() if is_memory(key)} == {
            key: amount for key, amount in allocatable.items() if is_memory(key)
        }
        return
    expected: dict[Where, int] = {}
    capacity, allocatable = zone_amounts(document, "capacity"), zone_amounts(document, "allocatable")
    for block in told.allocatable.memory:
        (node,) = block.topology.nodes
        expected[node.ID, block.memory_type] = block.size
    endless = {key for key, amount in expected.items() if amount > capacity.get(key, 0)}
    for key in endless:
        expected[key] = 0  # more is reserved than there is, which the kubelet takes for endless memory; nothing is left
    kinds = {kind for _node, kind in capacity if is_memory((0, kind))}
    for key in ((node["id"], kind) for node in case["machine"]["numa"] for kind in kinds):
        assert allocatable.get(key, 0) == expected.get(key, 0)
    available = zone_amounts(document, "available")
    taken: dict[str, dict[tuple[int, ...], int]] = defaultdict(lambda: defaultdict(int))
    for kind, nodes, size in told.blocks():
        taken[kind][nodes] += size
    for kind in kinds:
        groups = groups_of(taken[kind], [node["id"] for node in case["machine"]["numa"]])
        for group in groups:
            if any((node, kind) in endless for node in group):
                continue  # what pods have of endless memory is nowhere
            held = sum(size for nodes, size in taken[kind].items() if set(nodes) <= set(group))
            room = sum(expected.get((node, kind), 0) for node in group)
            assert sum(available.get((node, kind), 0) for node in group) == room - held, (kind, group)


def is_memory(key: Where) -> bool:
    return key[1] == "memory" or key[1].startswith("hugepages-")


def groups_of(taken: dict[tuple[int, ...], int], nodes: list[int]) -> list[tuple[int, ...]]:
    """The nodes that hold blocks together; each of the others by itself."""
    groups: list[set[int]] = [{node} for node in nodes]
    for block in taken:
        joined = [one for one in groups if one & set(block)]
        groups = [one for one in groups if not one & set(block)] + [set().union(*joined)]
    return [tuple(sorted(one)) for one in groups]


def compare_devices(case: dict[str, Any], document: dict[str, Any], told: Told) -> None:
    capacity, allocatable = zone_amounts(document, "capacity"), zone_amounts(document, "allocatable")
    available = zone_amounts(document, "available")
    healthy: dict[Where, set[str]] = defaultdict(set)
    for one in told.allocatable.devices:
        for node in one.topology.nodes:  # devices without a place are no node's, and a zone tells nothing of them
            healthy[node.ID, one.resource_name].update(one.device_ids)
    resources = {plugin["resource"] for plugin in case["plugins"]}
    assert {name for _node, name in capacity if "/" in name} <= resources
    for plugin in case["plugins"]:
        for node in case["machine"]["numa"]:
            key = node["id"], plugin["resource"]
            here = {one["id"] for one in plugin["devices"] if node["id"] in (one["numa"] or ())}
            held = {name for resource, name in told.devices() if resource == plugin["resource"]} & here
            assert capacity.get(key, 0) == len(here)
            assert healthy[key] <= here
            # One that fell ill in a pod's hands is that pod's still, though PodResources no longer tells of it.
            assert allocatable.get(key, 0) == len(healthy[key] | held)
            assert available.get(key, 0) == len(healthy[key] - held)


def end_state(case: dict[str, Any]) -> NodeSnapshot:
    """What a node would show after the last event, with managers that have played them all."""
    port = RecordingPort({plugin["resource"]: plugin["preferred"] for plugin in case["plugins"] if plugin["preferred"]})
    managers = managers_of(case, port)
    present: dict[str, dict[str, Any]] = {}
    refused = set()
    for event in case["events"]:
        if "remove" in event:
            one = present.pop(event["remove"], None)
            managers.remove(pod_from(one).uid if one else "")
            continue
        if managers.admit(pod_from(event["admit"])).verdict.admitted:
            present[event["admit"]["metadata"]["name"]] = event["admit"]
        else:
            refused.add(pod_from(event["admit"]).uid)
    # A whole node does at once what the record leaves to the next event: a refused pod has nothing, and the memory of
    # an init container is free when it has ended.
    kept = {pod_from(one).uid for one in present.values()}
    for uid in refused - kept:
        managers.remove(uid)
    records = PodRecords()
    for manifest in present.values():
        here = pod_from(manifest)
        for container in filter(here.ends, here.all_containers()):
            managers.memory.release_init(here.uid, container.name)
        given = {one.name: managers.assignment(here.uid, one.name) for one in here.all_containers()}
        records.add(PodRecord(here, manifest, Phase.ADMITTED, given))
    return snapshot_of(case, managers, records)


def snapshot_of(case: dict[str, Any], managers: Managers, records: PodRecords) -> NodeSnapshot:
    machine, kubelet = case["machine"], case["kubelet"]
    nodes = tuple(node["id"] for node in machine["numa"])
    described = NodeDescription(
        [tuple(row) for row in machine["cpus"]],
        tuple(memory_nodes(machine["numa"])),
        nodes,
        dict(zip(nodes, machine["distances"], strict=True)) if machine["distances"] else {},
    )
    kept = {
        row["numaNode"]: {name: int(parse_quantity(text)) for name, text in row["limits"].items()}
        for row in kubelet["reservedMemory"]
    }
    totals: dict[str, Fraction] = {}
    reservations = Reservations(frozenset(parse_cpulist(kubelet["reservedSystemCPUs"])), totals, totals, kept)
    rules = HouseRules(Site("", zones_of(described, reservations)), managers, records)
    config = NodeConfig(kubelet["topologyManagerPolicy"], kubelet["topologyManagerScope"])
    return Views("recorded", config, managers, records, rules, reservations).snapshot({})


@pytest.mark.parametrize("part", range(PARTS))
def test_both_tell_the_same_of_every_recorded_end_state(part: int) -> None:
    for number, case in enumerate(vectors()):
        if number % PARTS != part:
            continue
        snapshot = end_state(case)
        told = Told(allocatable_message(snapshot), [pod_resources_message(view) for view in snapshot.pods])
        told.hide(snapshot.pods)
        try:
            compare(case, resource_topology(snapshot.topology), told)
        except AssertionError as error:
            raise AssertionError(f"sequence {number}") from error


def test_the_recorded_end_states_have_something_to_tell() -> None:
    states = [end_state(case) for case in vectors()[::7]]
    assert sum(bool(one.pods) for one in states) >= 50
    given = [container.given for one in states for view in one.pods for container in view.containers]
    assert sum(bool(one.cpus) for one in given) >= 50
    assert sum(any(len(block.nodes) > 1 for block in one.memory) for one in given) >= 5
    assert sum(bool(one.devices) for one in given) >= 50


def test_of_memory_that_is_not_there_nothing_is_available() -> None:
    # More is reserved on node 0 than it has, which the kubelet takes for endless memory, and gives away.
    config = {
        "memoryManagerPolicy": "Static",
        "evictionHard": {"memory.available": "0"},
        "systemReserved": {"memory": "65Gi"},
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "65Gi"}}],
    }
    with running_node(config) as node:
        assert node.admit(pod("a", {"cpu": 1, "memory": "1Gi"})).admitted
        assert [block.nodes for one in node.assignments()[0].containers for block in one.given.memory] == [(0,)]
        document = page(node, "/noderesourcetopology")
        check_resource_topology(document)
        assert zone_amounts(document, "available")[0, "memory"] == 0


def test_a_policy_that_is_switched_off_is_not_told() -> None:
    config = {"topologyManagerPolicy": "single-numa-node", "featureGates": {"TopologyManager": False}}
    with running_node(config) as node:
        document = page(node, "/noderesourcetopology")
    assert document["topologyPolicies"] == ["None"]
    assert document["attributes"][0] == {"name": "topologyManagerPolicy", "value": "none"}


SAMPLED = 25


def sampled() -> list[dict[str, Any]]:
    """Every 25th sequence that a whole node decides about as recorded, or the next one that it does."""
    usable = [number for number, case in enumerate(vectors()) if is_usable(case)]
    wanted = range(0, len(vectors()), SAMPLED)
    return [vectors()[min((one for one in usable if one >= start), default=usable[-1])] for start in wanted]


def test_both_tell_the_same_over_sockets() -> None:
    cases = sampled()
    assert len(cases) >= 25
    for number, case in enumerate(cases):
        seen: list[int] = []

        def look(node: Node, case: dict[str, Any] = case, seen: list[int] = seen) -> None:
            with pod_resources(node) as stub:
                allocatable = stub.GetAllocatableResources(api.AllocatableResourcesRequest(), timeout=120)
                listed = stub.List(api.ListPodResourcesRequest(), timeout=120)
            told = Told(allocatable, list(listed.pod_resources))
            told.hide(node.assignments())
            compare(case, page(node, "/noderesourcetopology"), told)
            seen.append(len(told.pods))

        assert differences(case, replay_over_sockets(case, look)) == [], f"sequence {number} of the sample"
        assert seen
