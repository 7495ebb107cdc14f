"""The NodeResourceTopology object against a schema of our own, written from the public API's facts.

Source: github.com/k8stopologyawareschedwg/noderesourcetopology-api, pkg/apis/topology/v1alpha2/types.go (commit
1a8958c), group topology.node.k8s.io: names and types of the fields, what may be left out, and the values that
topologyPolicies has had. Names of zones are "node-<id>": pkg/apis/topology/v1alpha2/helper/numanode of the same
repository. Quantities are the API's own form: k8s.io/apimachinery/pkg/api/resource/quantity.go.
"""

import json
import re
from typing import Any

import pytest

from numaproof.harness.affinity.ledger import used
from numaproof.harness.affinity.node_topology import DeviceStock, NodeTopology, zone_statuses
from numaproof.harness.affinity.resource_topology import object_name, resource_topology
from numaproof.harness.pods.quantity import parse_quantity
from numaproof.harness.providers.devices import Device
from tests.harness.affinity.sites import DEDICATED, NUMA, holding, pod, zones

TEXT, NUMBER = object(), object()
QUANTITY = re.compile(r"[+-]?(\d+|\d+\.\d*|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?")
ATTRIBUTE = {"name": TEXT, "value": TEXT}
RESOURCE = {"name": TEXT, "capacity": QUANTITY, "allocatable": QUANTITY, "available": QUANTITY}
ZONE = {
    "name": TEXT,
    "type": TEXT,
    "parent?": TEXT,
    "costs?": [{"name": TEXT, "value": NUMBER}],
    "attributes?": [ATTRIBUTE],
    "resources?": [RESOURCE],
}
SCHEMA = {
    "apiVersion": TEXT,
    "kind": TEXT,
    "metadata": {"name": TEXT},
    "topologyPolicies": [TEXT],
    "attributes?": [ATTRIBUTE],
    "zones": [ZONE],
}
POLICIES = {
    ("single-numa-node", "container"): "SingleNUMANodeContainerLevel",
    ("single-numa-node", "pod"): "SingleNUMANodePodLevel",
    ("restricted", "container"): "RestrictedContainerLevel",
    ("restricted", "pod"): "RestrictedPodLevel",
    ("best-effort", "container"): "BestEffortContainerLevel",
    ("best-effort", "pod"): "BestEffortPodLevel",
    ("none", "container"): "None",
    ("none", "pod"): "None",
}
INT64 = 1 << 63


def faults(value: Any, schema: Any, where: str = "") -> list[str]:
    """What of a value is not as the schema says; every key is known, and those without a `?` are there."""
    if schema is TEXT:
        return [] if isinstance(value, str) else [f"{where}: {value!r} is no text"]
    if schema is NUMBER:
        whole = isinstance(value, int) and not isinstance(value, bool) and -INT64 <= value < INT64
        return [] if whole else [f"{where}: {value!r} is no int64"]
    if isinstance(schema, re.Pattern):
        return [] if isinstance(value, str) and schema.fullmatch(value) else [f"{where}: {value!r} is no quantity"]
    if isinstance(schema, list):
        if not isinstance(value, list):
            return [f"{where}: {value!r} is no list"]
        return [fault for i, one in enumerate(value) for fault in faults(one, schema[0], f"{where}[{i}]")]
    if not isinstance(value, dict):
        return [f"{where}: {value!r} is no object"]
    known = {key.rstrip("?"): one for key, one in schema.items()}
    found = [f"{where}.{key}: unknown" for key in value.keys() - known.keys()]
    found += [f"{where}.{key}: missing" for key in schema if not key.endswith("?") and key not in value]
    return found + [fault for key in value.keys() & known.keys() for fault in faults(value[key], known[key], key)]


def check_resource_topology(document: Any) -> None:
    """Fail if a document is not a NodeResourceTopology that others can read."""
    assert faults(document, SCHEMA) == []
    assert document["apiVersion"] == "topology.node.k8s.io/v1alpha2"
    assert document["kind"] == "NodeResourceTopology"
    # A name is a DNS subdomain: RFC 1123, 253 characters.
    label = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
    assert re.fullmatch(rf"{label}(\.{label})*", document["metadata"]["name"])
    assert len(document["metadata"]["name"]) <= 253
    names = [zone["name"] for zone in document["zones"]]
    assert len(set(names)) == len(names)
    for zone in document["zones"]:
        assert re.fullmatch(r"node-\d+", zone["name"])
        assert zone["type"] == "Node"
        assert {cost["name"] for cost in zone["costs"]} <= set(names)
        told = [resource["name"] for resource in zone["resources"]]
        assert len(set(told)) == len(told)
        for resource in zone["resources"]:
            amounts = [parse_quantity(resource[key]) for key in ("available", "allocatable", "capacity")]
            assert 0 <= amounts[0] <= amounts[1] <= amounts[2], resource


def topology(policy: str = "restricted", scope: str = "pod", name: str = "n1", **devices: DeviceStock) -> NodeTopology:
    here = zones()
    held = [
        holding(pod("a"), [1, 2]),
        holding(pod("b", {"cpu": "1500m"}, tolerations=[NUMA], numaNodeID="1")),
        holding(pod("c", tolerations=[DEDICATED], cpuAffinity="9-10"), [9, 10]),
    ]
    stocks = {f"example.com/{kind}": stock for kind, stock in devices.items()}
    return NodeTopology(name, policy, scope, zone_statuses(here, used(here, held, {}), stocks))


def test_the_object_is_as_the_api_has_it() -> None:
    document = resource_topology(topology())
    check_resource_topology(document)
    assert json.loads(json.dumps(document)) == document
    first, second = document["zones"]
    assert (first["name"], second["name"]) == ("node-0", "node-1")
    # 8 CPUs each; CPU 0 is kept, pod a has 2, pod b was promised 1.5, pod c has 2.
    assert first["resources"][0] == {"name": "cpu", "capacity": "8", "allocatable": "7", "available": "5"}
    assert second["resources"][0] == {"name": "cpu", "capacity": "8", "allocatable": "8", "available": "4500m"}
    amount = str(64 << 30)
    assert first["resources"][1] == {"name": "memory", "capacity": amount, "allocatable": amount, "available": amount}
    assert document["attributes"] == [
        {"name": "topologyManagerPolicy", "value": "restricted"},
        {"name": "topologyManagerScope", "value": "pod"},
    ]


def test_costs_are_the_machines_distances() -> None:
    first, second = resource_topology(topology())["zones"]
    # What the kernel tells of two nodes without a SLIT: 10 to itself, 20 to the other.
    assert first["costs"] == [{"name": "node-0", "value": 10}, {"name": "node-1", "value": 20}]
    assert second["costs"] == [{"name": "node-0", "value": 20}, {"name": "node-1", "value": 10}]


@pytest.mark.parametrize(("policy", "scope"), POLICIES)
def test_policies_have_the_names_of_the_api(policy: str, scope: str) -> None:
    document = resource_topology(topology(policy, scope))
    assert document["topologyPolicies"] == [POLICIES[policy, scope]]
    assert {one["name"]: one["value"] for one in document["attributes"]} == {
        "topologyManagerPolicy": policy,
        "topologyManagerScope": scope,
    }


@pytest.mark.parametrize("policy", ["cost", "strict"])
def test_policies_that_the_api_does_not_know_are_told_by_attribute_alone(policy: str) -> None:
    document = resource_topology(topology(policy))
    check_resource_topology(document)
    assert document["topologyPolicies"] == ["None"]
    assert document["attributes"][0]["value"] == policy


def test_devices_count_where_they_are() -> None:
    listed = (
        Device("d0", (0,), healthy=True),
        Device("d1", (0,), healthy=True),
        Device("d2", (0,), healthy=False),
        Device("d3", (0,), healthy=False),  # fell ill in a pod's hands
        Device("both", (0, 1), healthy=True),
        Device("nowhere", None, healthy=True),
    )
    stock = DeviceStock(listed, frozenset({"d0", "d1", "both", "nowhere"}), frozenset({"d1", "d3"}))
    document = resource_topology(topology(gpu=stock, nic=DeviceStock((Device("n", None, healthy=True),))))
    check_resource_topology(document)
    told = [{one["name"]: one for one in zone["resources"]} for zone in document["zones"]]
    gpu = "example.com/gpu"
    assert told[0][gpu] == {"name": gpu, "capacity": "5", "allocatable": "4", "available": "2"}
    assert told[1][gpu] == {"name": gpu, "capacity": "1", "allocatable": "1", "available": "1"}
    assert "example.com/nic" not in told[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n1", "n1"),
        ("Xeon 2S (test)", "xeon-2s-test"),
        ("pack:2 [numa] core:4", "pack-2-numa-core-4"),
        ("--", "node"),
        ("", "node"),
        ("\u00fc", "node"),
        ("node.example.com", "node.example.com"),
    ],
)
def test_any_text_becomes_a_name(text: str, expected: str) -> None:
    assert object_name(text) == expected


@pytest.mark.parametrize("text", ["a..b", "a.-b", "x" * 252 + " y", "x" * 300, "a._b", ".a"])
def test_names_are_names_whatever_the_text(text: str) -> None:
    check_resource_topology(resource_topology(topology(name=text)))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda document: document.pop("zones"),
        lambda document: document.update(spec={}),
        lambda document: document["zones"][0].update(name=0),
        lambda document: document["zones"][0]["costs"][0].update(value="10"),
        lambda document: document["zones"][0]["resources"][0].update(capacity=8),
        lambda document: document["zones"][0]["resources"][0].pop("available"),
        lambda document: document["attributes"][0].update(value=1),
        lambda document: document.update(topologyPolicies="None"),
    ],
)
def test_the_schema_sees_what_is_wrong(spoil: Any) -> None:
    document = resource_topology(topology())
    spoil(document)
    assert faults(document, SCHEMA)
