"""NodeResourceTopology objects as kubectl prints them: read, and refused in one line where they are broken."""

import copy
import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from numaproof.errors import UserError
from numaproof.fake_sysfs.strict_yaml import load_all
from numaproof.harness.affinity.node_topology import NodeTopology, ZoneStatus
from numaproof.harness.affinity.resource_topology import resource_topology
from numaproof.harness.affinity.resource_topology_file import is_resource_topology, resource_topologies

# As an exporter writes it, and `kubectl get -o yaml` prints it.
PRINTED = """
apiVersion: v1
items:
- apiVersion: topology.node.k8s.io/v1alpha2
  attributes:
  - name: topologyManagerPolicy
    value: restricted
  - name: topologyManagerScope
    value: pod
  - name: nodeTopologyPodsFingerprint
    value: pfp0v001fedcba9876543210
  kind: NodeResourceTopology
  metadata:
    creationTimestamp: "2025-03-01T10:00:00Z"
    generation: 12
    managedFields:
    - fieldsV1: {"f:zones": {}}
    name: worker-1
  topologyPolicies:
  - SingleNUMANodeContainerLevel
  zones:
  - costs:
    - name: node-0
      value: 10
    - name: node-1
      value: 21
    name: node-0
    resources:
    - allocatable: "15500m"
      available: "7500m"
      capacity: "16"
      name: cpu
    - allocatable: "2"
      available: "1"
      capacity: "2"
      name: example.com/nic
    type: Node
  - name: node-1
    resources:
    - allocatable: 64Gi
      available: 32Gi
      capacity: 64Gi
      name: memory
    type: Node
  - name: package-0
    type: Package
kind: List
metadata:
  resourceVersion: ""
"""


def read(text: str) -> list[NodeTopology]:
    return resource_topologies(load_all(text, "nodes.yaml"))


def test_what_kubectl_prints_is_read() -> None:
    [node] = read(PRINTED)
    assert (node.name, node.policy, node.scope) == ("worker-1", "restricted", "pod")
    assert node.zones == (
        ZoneStatus(
            0,
            frozenset(),
            {"cpu": 16000, "example.com/nic": 2},
            {"cpu": 15500, "example.com/nic": 2},
            {"cpu": 7500, "example.com/nic": 1},
            {0: 10, 1: 21},
        ),
        ZoneStatus(1, frozenset(), {"memory": 64 << 30}, {"memory": 64 << 30}, {"memory": 32 << 30}, {}),
    )


def item() -> dict[str, Any]:
    """The one object of what kubectl prints."""
    content: dict[str, Any] = yaml.safe_load(PRINTED)["items"][0]
    return content


def test_one_object_several_documents_and_both_kinds_of_list() -> None:
    one = yaml.safe_dump(item())
    other = one.replace("worker-1", "worker-2")
    listed = yaml.safe_dump({"kind": "NodeResourceTopologyList", "apiVersion": "v1", "items": [item()]})
    assert [node.name for node in read(one)] == ["worker-1"]
    assert [node.name for node in read(f"{one}---\n{other}---\n")] == ["worker-1", "worker-2"]
    assert [node.name for node in read(listed)] == ["worker-1"]
    assert is_resource_topology(item())
    assert not is_resource_topology({"name": "xeon"})
    assert not is_resource_topology(["kind"])


@pytest.mark.parametrize(
    ("word", "policy", "scope"),
    [
        ("SingleNUMANodeContainerLevel", "single-numa-node", "container"),
        ("SingleNUMANodePodLevel", "single-numa-node", "pod"),
        ("RestrictedPodLevel", "restricted", "pod"),
        ("BestEffort", "best-effort", "container"),
        ("None", "none", "container"),
    ],
)
def test_without_attributes_the_older_word_counts(word: str, policy: str, scope: str) -> None:
    content = {**item(), "apiVersion": "topology.node.k8s.io/v1alpha1", "topologyPolicies": [word]}
    del content["attributes"]
    [node] = read(yaml.safe_dump(content))
    assert (node.policy, node.scope) == (policy, scope)


def test_a_node_that_tells_no_policy_has_none() -> None:
    content = item()
    del content["attributes"], content["topologyPolicies"]
    [node] = read(yaml.safe_dump(content))
    assert (node.policy, node.scope) == ("none", "container")


BROKEN: list[tuple[list[str | int], Any, str]] = [
    (["kind"], "Pod", "kind: 'Pod' is not a NodeResourceTopology"),
    (["apiVersion"], "v1", "apiVersion: 'v1' is not topology.node.k8s.io/v1alpha1 or"),
    (["metadata"], None, "metadata: None is not a mapping"),
    (["metadata", "name"], 7, "metadata.name: 7 is not a name"),
    (["zones"], {}, "zones: {} is not a list"),
    (["zones"], [], "zones: has no zone of type Node"),
    (["zones", 0], "x", "zones[0]: 'x' is not a mapping"),
    (["zones", 0, "type"], None, "zones[0].type: None is not a name"),
    (["zones", 0, "name"], "left", "zones[0].name: 'left' names no NUMA node"),
    (["zones", 0, "name"], "node-64", "zones[0].name: 'node-64' names no NUMA node"),
    (["zones", 1, "name"], "node-0", "zones[1].name: a zone 0 is there already"),
    (["zones", 0, "resources"], {"cpu": 1}, "zones[0].resources: {'cpu': 1} is not a list"),
    (["zones", 0, "resources", 0], 1, "zones[0].resources[0]: 1 is not a mapping"),
    (["zones", 0, "resources", 0, "name"], "", "zones[0].resources[0].name: '' is not a name"),
    (["zones", 0, "resources", 1, "name"], "cpu", "zones[0].resources[1].name: cpu is there already"),
    (["zones", 0, "resources", 0, "capacity"], "much", 'zones[0].resources[0].capacity: "much" is not a quantity'),
    (["zones", 0, "resources", 0, "capacity"], None, "zones[0].resources[0].capacity: None is not a quantity"),
    (["zones", 0, "resources", 0, "allocatable"], True, "zones[0].resources[0].allocatable: True is not a quantity"),
    (["zones", 0, "resources", 0, "available"], "-1", "zones[0].resources[0].available: -1 is negative"),
    (["zones", 0, "resources", 0, "available"], "1e400", "zones[0].resources[0].available: 1e400 is more than a"),
    (
        ["zones", 0, "resources", 0, "capacity"],
        str(2**63),
        "zones[0].resources[0].capacity: 9223372036854775808 is mo",
    ),
    (["zones", 0, "costs"], 10, "zones[0].costs: 10 is not a list"),
    (["zones", 0, "costs", 0, "value"], "near", "zones[0].costs[0].value: 'near' is not a cost"),
    (["attributes"], "policy", "attributes: 'policy' is not a list"),
    (["attributes", 0, "value"], "tight", "attributes[0].value: 'tight' is unknown"),
    (["attributes", 1, "value"], None, "attributes[1].value: None is unknown"),
    (["topologyPolicies", 0], "Tight", "topologyPolicies[0]: 'Tight' is unknown"),
]


@pytest.mark.parametrize(("path", "value", "message"), BROKEN, ids=[message[:40] for *_, message in BROKEN])
def test_what_is_broken_is_named_with_its_place(path: list[str | int], value: Any, message: str) -> None:
    content: Any = copy.deepcopy(item())
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(UserError) as caught:
        read(yaml.safe_dump(content))
    text = str(caught.value)
    assert text.startswith("nodes.yaml:")
    assert message in text
    assert "\n" not in text


def test_a_missing_capacity_is_told_too() -> None:
    content = item()
    del content["zones"][0]["resources"][0]["capacity"]
    with pytest.raises(UserError, match=r"zones\[0\]\.resources\[0\]\.capacity: None is not a quantity"):
        read(yaml.safe_dump(content))


NAMES = st.sampled_from(["cpu", "memory", "hugepages-2Mi", "example.com/gpu"])


@st.composite
def zones(draw: st.DrawFn, number: int) -> ZoneStatus:
    names = draw(st.sets(NAMES))
    capacity = {name: draw(st.integers(1, 1 << 50)) for name in names}
    allocatable = {name: draw(st.integers(0, amount)) for name, amount in capacity.items()}
    available = {name: draw(st.integers(0, amount)) for name, amount in allocatable.items()}
    costs = draw(st.dictionaries(st.integers(0, 63), st.integers(0, 255), max_size=3))
    return ZoneStatus(number, frozenset(), capacity, allocatable, available, costs)


@st.composite
def nodes(draw: st.DrawFn) -> NodeTopology:
    ids = sorted(draw(st.sets(st.integers(0, 63), min_size=1, max_size=4)))
    return NodeTopology(
        draw(st.from_regex(r"[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,5})?", fullmatch=True)),
        draw(st.sampled_from(["none", "best-effort", "restricted", "single-numa-node"])),
        draw(st.sampled_from(["container", "pod"])),
        tuple(draw(zones(number)) for number in ids),
    )


@given(st.lists(nodes(), min_size=1, max_size=3))
def test_what_we_write_is_read_as_it_was(written: list[NodeTopology]) -> None:
    text = yaml.safe_dump_all(resource_topology(node) for node in written)
    assert read(text) == written


@pytest.mark.parametrize("key", ["resources", "costs"])
@pytest.mark.parametrize("wrong", [0, "", {}, False])
def test_what_is_nothing_and_no_list_is_refused(key: str, wrong: Any) -> None:
    content = item()
    content["zones"][0][key] = wrong
    with pytest.raises(UserError, match=rf"zones\[0\]\.{key}: {re.escape(repr(wrong))} is not a list"):
        read(yaml.safe_dump(content))


@pytest.mark.parametrize("key", ["resources", "costs"])
def test_zones_may_tell_nothing(key: str) -> None:
    for change in ({key: None}, {}):
        content = item()
        content["zones"][0].pop(key)
        content["zones"][0].update(change)
        [one] = read(yaml.safe_dump(content))
        assert (one.zones[0].capacity if key == "resources" else one.zones[0].costs) == {}
