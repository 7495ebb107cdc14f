"""A node's topology as a NodeResourceTopology, the form that today's schedulers read.

Facts: topology.node.k8s.io/v1alpha2 of kubernetes-sigs/noderesourcetopology-api; the names of zones and attributes are
those of its exporters (resource-topology-exporter, Node Feature Discovery), which scheduler plugins look for.
"""

import re
from typing import Any, Final

from numaproof.harness.affinity.node_topology import NodeTopology, ZoneStatus, quantity_text
from numaproof.harness.affinity.zones import CPU

API_VERSION: Final = "topology.node.k8s.io/v1alpha2"
KIND: Final = "NodeResourceTopology"
POLICY: Final = "topologyManagerPolicy"
SCOPE: Final = "topologyManagerScope"
ZONE_TYPE: Final = "Node"
# The older way to say policy and scope, which readers of v1alpha1 still look at.
_POLICIES: Final = {"single-numa-node": "SingleNUMANode", "restricted": "Restricted", "best-effort": "BestEffort"}


def zone_name(zone: int) -> str:
    """The name of a NUMA node's zone."""
    return f"node-{zone}"


def resource_topology(node: NodeTopology) -> dict[str, Any]:
    """The object of a node."""
    level = "PodLevel" if node.scope == "pod" else "ContainerLevel"
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": object_name(node.name)},
        "topologyPolicies": [f"{_POLICIES[node.policy]}{level}" if node.policy in _POLICIES else "None"],
        "attributes": [{"name": POLICY, "value": node.policy}, {"name": SCOPE, "value": node.scope}],
        "zones": [_zone(zone) for zone in node.zones],
    }


def object_name(text: str) -> str:
    """The nearest name that an object may have: lower-case letters, digits, dashes and, between those, dots."""
    plain = re.sub(r"[^a-z0-9.]+", "-", text.lower())
    return re.sub(r"-*\.[-.]*", ".", plain).strip("-.")[:253].strip("-.") or "node"


def _zone(zone: ZoneStatus) -> dict[str, Any]:
    # CPUs first, as people look for them; nothing is told of what a NUMA node does not have.
    names = sorted((name for name, amount in zone.capacity.items() if amount), key=lambda name: (name != CPU, name))
    return {
        "name": zone_name(zone.id),
        "type": ZONE_TYPE,
        "costs": [{"name": zone_name(other), "value": cost} for other, cost in sorted(zone.costs.items())],
        "resources": [
            {
                "name": name,
                "capacity": quantity_text(name, zone.capacity[name]),
                "allocatable": quantity_text(name, zone.allocatable[name]),
                "available": quantity_text(name, zone.available[name]),
            }
            for name in names
        ],
    }
