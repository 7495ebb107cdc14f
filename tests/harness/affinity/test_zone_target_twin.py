"""A machine beside a node that is known by the machine's own NodeResourceTopology: the same pods, one after another."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from numaproof.fake_sysfs import strict_yaml
from numaproof.harness.affinity.machine_kind import MachineKind
from numaproof.harness.affinity.needs import needs_of
from numaproof.harness.affinity.node_topology import NodeTopology
from numaproof.harness.affinity.resource_topology import resource_topology
from numaproof.harness.affinity.resource_topology_file import resource_topologies
from numaproof.harness.affinity.targets import MachineTarget, ZoneTarget
from numaproof.harness.pods.pod import Pod
from tests.harness.affinity.test_predicate_exact import SMALL, kinds, pods
from tests.harness.affinity.worlds import container, kind, pod


def exported(node: NodeTopology) -> NodeTopology:
    [read] = resource_topologies(strict_yaml.load_all(json.dumps(resource_topology(node)), "exported"))
    return read


def lefts(node: NodeTopology) -> list[dict[str, int]]:
    return [{name: amount for name, amount in zone.available.items() if zone.capacity[name]} for zone in node.zones]


def send_to_both(machine: MachineTarget, zones: ZoneTarget, one: Pod) -> None:
    needs = needs_of(one)
    by_machine, by_zones = machine.send(one, needs), zones.send(one, needs)
    told: Any = one, by_machine, by_zones
    assert by_zones.verdict.admitted == by_machine.verdict.admitted, told
    assert by_zones.zones == by_machine.zones, told
    assert lefts(zones.topology) == lefts(machine.topology), told
    assert zones.topology.left is not None
    assert machine.topology.left is not None
    assert zones.topology.left.items() <= machine.topology.left.items(), told


@settings(max_examples=400)
@given(st.data(), kinds(("single-numa-node",), memory=("Static",)))
def test_zones_decide_as_their_machine(data: st.DataObject, made: MachineKind) -> None:
    """Zones do not tell that memory is pinned by nobody, so it is pinned here."""
    machine = MachineTarget("node", made)
    zones = ZoneTarget(exported(machine.topology))
    for number in range(data.draw(st.integers(1, 6))):
        send_to_both(machine, zones, data.draw(pods(number, SMALL, 3, 4, with_init=False)))


@settings(max_examples=400)
@given(
    st.data(),
    st.sampled_from(["container", "pod"]),
    st.lists(st.integers(0, 2), min_size=2, max_size=2).filter(any),
)
def test_zones_know_what_init_containers_leave(data: st.DataObject, scope: str, gpus: list[int]) -> None:
    """As far as the CPU manager takes the same CPUs again, as it does for the same number of them."""
    made = kind(6, 6, gpus=tuple(gpus), topology_scope=scope, memory_policy="Static")
    machine = MachineTarget("node", made)
    zones = ZoneTarget(exported(machine.topology))
    for number in range(data.draw(st.integers(1, 4))):
        cpus = data.draw(st.sampled_from(SMALL))
        amounts = st.tuples(st.just(cpus), st.sampled_from(["1Gi", "2Gi", "4Gi"]), st.integers(0, 2))
        first, then = data.draw(amounts), data.draw(amounts)
        send_to_both(machine, zones, pod(f"p{number}", container("c", *then), init=(container("i", *first),)))
