"""The node's NUMA topology, taints and quotas as messages of the control service."""

from collections.abc import Iterable

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.affinity.node_topology import quantities
from numaproof.harness.affinity.quota import quota_text
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.node.snapshot import NodeSnapshot, QuotaView
from numaproof.harness.pods.taints import Taint


def status_message(snapshot: NodeSnapshot) -> api.NodeStatusResponse:
    """What schedulers and operators are told of the node."""
    return api.NodeStatusResponse(
        name=snapshot.topology.name,
        numa_nodes=[
            api.NumaNodeStatus(
                numa_node_id=str(zone.id),
                capacity=quantities(zone.capacity),
                allocatable=quantities(zone.allocatable),
                cpu_set=format_cpulist(zone.cpu_set),
                available=quantities(zone.available),
            )
            for zone in snapshot.topology.zones
        ],
        taints=taint_messages(snapshot.topology.taints),
        quotas=quota_messages(snapshot.quotas),
    )


def taint_messages(taints: Iterable[Taint]) -> list[api.NodeTaint]:
    """Taints."""
    return [api.NodeTaint(key=one.key, value=one.value, effect=one.effect) for one in taints]


def quota_messages(quotas: Iterable[QuotaView]) -> list[api.Quota]:
    """Quotas, and what is used of them."""
    return [
        api.Quota(namespace=one.namespace, dedicated_cpu=quota_text(one.most), used=quota_text(one.used))
        for one in quotas
    ]
