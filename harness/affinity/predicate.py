"""NUMATopologyPredicate: which nodes a pod fits, on which of their NUMA nodes, and why it does not fit the others.

It goes by what nodes tell (NodeStatus.topology, a NodeResourceTopology, and what is left of the node as a whole) and by
nothing else. On a node of our own managers it is exact under single-numa-node and restricted: what fits is admitted,
what does not fit is refused. What nodes do not tell is where it can be wrong:

- which CPUs are free: a pod that brings its own spec.cpuAffinity may meet another's, and options of the CPU manager
  that look at cores or sockets (full-pcpus-only, align-by-socket) may refuse what fits by amount;
- which NUMA nodes the memory manager has bound together for a pod that fits none alone;
- how several containers share several NUMA nodes, where one does not hold them, and which CPUs the first of several
  containers takes over from an init container;
- where devices are that are near several NUMA nodes at once, under restricted;
- under none, best-effort and cost a static memory manager may refuse what the node as a whole has;
- whether a resource that the node never heard of is somebody else's business: to the kubelet it is, here it is lacking.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from numaproof.harness.affinity.alignment import ALIGNING, Lack, Stock, lack, lack_of_memory
from numaproof.harness.affinity.amount_text import amount_text, of_text
from numaproof.harness.affinity.ledger import Shares, is_memory
from numaproof.harness.affinity.needs import NATIVE, Needs, is_device, needs_of, without_memory
from numaproof.harness.affinity.node_topology import NodeTopology, ZoneStatus
from numaproof.harness.affinity.resource_topology import zone_name
from numaproof.harness.affinity.rules import applies, cpu_text
from numaproof.harness.affinity.zones import CPU
from numaproof.harness.decision.fit import Amounts
from numaproof.harness.pods.affinity import CPUS_FIELD, LEAST_CPU, NUMA_NODE_FIELD, memory_policy, promised_cpu
from numaproof.harness.pods.pod import Pod
from numaproof.harness.pods.taints import CPU_AFFINITY, NUMA_CPU_AFFINITY, SCHEDULED, untolerated

PODS = "pods"  # the resource: how many more a node may have
_SHOWN = 4  # zones of which a reason tells what is left
_GROUP = "one NUMA node, or of several that serve nobody yet"
_PLACES = {**dict.fromkeys(ALIGNING, "as few NUMA nodes as can be"), "single-numa-node": "one NUMA node"}


class Nearness(IntEnum):
    """How near a pod comes to a node that it does not fit, the nearest first."""

    ZONES = 0  # the node has enough, but not where it is wanted
    AMOUNT = 1  # the node has too little left
    UNWANTED = 2  # it is not for this pod, whatever it has


@dataclass(frozen=True, slots=True)
class Fit:
    """A node that a pod fits, and the NUMA nodes that hold the whole pod, best first."""

    node: str
    zones: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a pod does not fit a node."""

    node: str
    nearness: Nearness
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What the predicate says of a pod and nodes."""

    fitting: tuple[Fit, ...]  # by the share of the node's CPUs in use, least first, then by name
    misfits: tuple[Misfit, ...]  # in the order of the nodes


def predicate(pod: Pod, nodes: Iterable[NodeTopology]) -> Answer:
    """Every node for one pod.

    NUMA nodes are ranked tightest first, by the CPU left over there, then the memory, then their ids: that leaves the
    roomy ones whole.
    """
    needs = needs_of(pod)
    fitting, misfits = [], []
    for node in nodes:
        found = misfit(pod, needs, node)
        if found is None:
            fitting.append((load(node), Fit(node.name, homes(pod, needs, node))))
        else:
            misfits.append(found)
    fitting.sort(key=lambda one: (one[0], one[1].node))
    return Answer(tuple(fit for _, fit in fitting), tuple(misfits))


def load(node: NodeTopology) -> float:
    """The share of a node's CPUs that is in use; of one that has none for pods, all."""
    allocatable = sum(zone.allocatable.get(CPU, 0) for zone in node.zones)
    return 1 - left_of(node).get(CPU, 0) / allocatable if allocatable else 1.0


def left_of(node: NodeTopology) -> Amounts:
    """What a node as a whole has left for pods, by what it tells."""
    return node.left if node.left is not None else zones_left(node.zones)


def at_most(resource: str, left: Amounts) -> float:
    """How much a node may have left of a resource, by what it tells.

    What it does not tell of it may have: pods, what is not a device's, and memory of a kind where it tells of none.
    """
    found = left.get(resource)
    if found is not None:
        return found
    untold = resource == PODS or resource in NATIVE or (is_memory(resource) and "memory" not in left)
    return math.inf if untold else 0


def zones_left(zones: Iterable[ZoneStatus]) -> dict[str, int]:
    """What zones have left together."""
    total: dict[str, int] = {}
    for zone in zones:
        for name, amount in zone.available.items():
            total[name] = total.get(name, 0) + amount
    return total


def misfit(pod: Pod, needs: Needs, node: NodeTopology) -> Misfit | None:
    """Why a pod does not fit a node; None: it does."""
    found = plain_misfit(pod, needs, node)
    if found is not None:
        return found
    unfit = _unfit(pod, needs, node) or _too_large(pod, needs, node)
    if unfit:
        return Misfit(node.name, Nearness.ZONES, unfit)
    if needs.wants_home:
        return None if homes(pod, needs, node) else Misfit(node.name, Nearness.ZONES, _homeless(pod, needs, node))
    lacking = lack(needs, Stock(node.zones, node.unaligned), node.policy, node.scope)
    return None if lacking is None else Misfit(node.name, Nearness.ZONES, _lacking(lacking, node))


def plain_misfit(pod: Pod, needs: Needs, node: NodeTopology) -> Misfit | None:
    """The same for a scheduler that knows nothing of NUMA nodes: names, taints, and amounts of the node as a whole."""
    found = unwanted(pod, node)
    if found is not None:
        return found
    left = left_of(node)
    if at_most(PODS, left) < 1:
        return Misfit(node.name, Nearness.AMOUNT, "it has as many pods as it may")
    for name, amount in needs.requests.items():
        if amount > at_most(name, left):
            return Misfit(node.name, Nearness.AMOUNT, _short(name, amount, left.get(name)))
    return None


def unwanted(pod: Pod, node: NodeTopology) -> Misfit | None:
    """Why a node is not for a pod, whatever it has; None: it is."""
    if pod.node_name and pod.node_name != node.name:
        return Misfit(node.name, Nearness.UNWANTED, f"spec.nodeName is {pod.node_name}")
    if node.taints:
        foreign = untolerated(node.taints, pod.tolerations, SCHEDULED)
        if foreign is not None:
            return Misfit(node.name, Nearness.UNWANTED, f"spec.tolerations has none for the taint {foreign}")
    return None


def homes(pod: Pod, needs: Needs, node: NodeTopology) -> tuple[int, ...]:
    """The NUMA nodes of a node that hold the whole pod, best first; of one that it is bound to, that alone."""
    if _unfit(pod, needs, node):
        return ()
    claimed = _claims(pod, needs, node)
    found = []
    for position, zone in enumerate(node.zones):
        if not _allowed(pod, zone) or any(zone.available.get(name, 0) < amount for name, amount in claimed.items()):
            continue
        if _lack_at(position, pod, needs, node, Stock(node.zones, node.unaligned)) is None:
            over = zone.available.get(CPU, 0) - claimed.get(CPU, 0)
            found.append((over, zone.available.get("memory", 0) - claimed.get("memory", 0), zone.id))
    return tuple(zone for _, _, zone in sorted(found))


def shares(pod: Pod, needs: Needs, node: NodeTopology) -> Shares:
    """What a pod takes of the NUMA nodes of a node that it fits: what is aligned of it, and what it is promised."""
    stock = Stock(node.zones, node.unaligned)
    if not needs.wants_home:
        lack(needs, stock, node.policy, node.scope)
        return stock.held()
    home = homes(pod, needs, node)[0]
    position = next(position for position, zone in enumerate(node.zones) if zone.id == home)
    _lack_at(position, pod, needs, node, stock)
    held = stock.held()
    own = dict(held.get(home, {}))
    pinned = any(is_memory(name) for amounts in held.values() for name in amounts)
    for name, amount in _claims(pod, needs, node).items():
        if amount and not (pinned and is_memory(name)):
            own[name] = max(own.get(name, 0), amount)
    return {**held, home: own}


def _lack_at(position: int, pod: Pod, needs: Needs, node: NodeTopology, stock: Stock) -> Lack | None:
    """What a pod lacks if it has to be on one NUMA node, its memory apart where that may be elsewhere."""
    if not needs.wants_home or memory_policy(pod, node.taints) != "preferred":
        return lack(needs, stock, node.policy, node.scope, only=position)
    near = lack(without_memory(needs), stock, node.policy, node.scope, only=position)
    return near or lack_of_memory(needs, stock, position)


def _claims(pod: Pod, needs: Needs, node: NodeTopology) -> dict[str, int]:
    """What one zone has to have of a pod's requests: its CPUs, and its memory where that has to be there."""
    told = frozenset().union(*(zone.capacity for zone in node.zones))
    found = {CPU: promised_cpu(pod) if needs.wants_home else needs.requests.get(CPU, 0)}
    if "memory" in told and (not needs.wants_home or memory_policy(pod, node.taints) == "strict"):
        found |= {name: amount for name, amount in needs.requests.items() if is_memory(name)}
    if not needs.wants_home:  # where the devices of a bound pod come from is for the Topology Manager to say
        found |= {name: amount for name, amount in needs.requests.items() if name in told and is_device(name)}
    return found


def _allowed(pod: Pod, zone: ZoneStatus) -> bool:
    if pod.numa_node_id is not None and pod.numa_node_id != zone.id:
        return False
    return not (pod.cpu_affinity and zone.cpu_set and not pod.cpu_affinity <= zone.cpu_set)


def _unfit(pod: Pod, needs: Needs, node: NodeTopology) -> str:
    """What is wrong with a pod by itself, on a node that looks at it; empty: nothing."""
    if needs.miscounted:
        return needs.miscounted
    if needs.not_whole and applies(CPU_AFFINITY, pod, node.taints):
        return needs.not_whole
    if needs.broken_memory and _pins_memory(node):
        return "memory: is not a whole number of bytes, and cannot be pinned"
    return ""


def _too_large(pod: Pod, needs: Needs, node: NodeTopology) -> str:
    """What the node's taint has against a pod that tolerates it without naming it; empty: nothing."""
    if needs.wants_home or not node.taints or not applies(NUMA_CPU_AFFINITY, pod, node.taints):
        return ""
    asked, most = needs.requests.get(CPU, 0), max((zone.allocatable.get(CPU, 0) for zone in node.zones), default=0)
    return f"{cpu_text(asked)} CPUs wanted, the largest NUMA node has {cpu_text(most)}" if asked > most else ""


def _pins_memory(node: NodeTopology) -> bool:
    return "memory" not in node.unaligned and any("memory" in zone.capacity for zone in node.zones)


# Reasons in words


def _short(name: str, amount: int, left: int | None) -> str:
    if left is None:
        return f"it has no {name}"
    return f"{amount_text(name, amount)} wanted, {amount_text(name, max(left, 0))} left on the whole node"


def _homeless(pod: Pod, needs: Needs, node: NodeTopology) -> str:
    allowed = [zone for zone in node.zones if _allowed(pod, zone)]
    if not allowed:
        if pod.numa_node_id is not None and all(zone.id != pod.numa_node_id for zone in node.zones):
            return f"{NUMA_NODE_FIELD}: there is no NUMA node {pod.numa_node_id}"
        return f"{CPUS_FIELD}: no NUMA node has these CPUs"
    claimed = _claims(pod, needs, node)
    some = "some CPU to run on"
    wants = ", ".join(
        some if (name, amount) == (CPU, LEAST_CPU) else amount_text(name, amount) for name, amount in claimed.items()
    )
    lefts = [
        [of_text(name, max(zone.available.get(name, 0), 0), zone.allocatable.get(name, 0)) for name in claimed]
        for zone in allowed[:_SHOWN]
    ]
    short = f"one NUMA node has to have {wants}; {_listed(allowed, lefts)}"
    if not any(all(zone.available.get(name, 0) >= amount for name, amount in claimed.items()) for zone in allowed):
        return short
    for position, zone in enumerate(node.zones):
        if zone in allowed:
            lacking = _lack_at(position, pod, needs, node, Stock(node.zones, node.unaligned))
            if lacking is not None:
                return _lacking(lacking, node)
    return short


def _lacking(found: Lack, node: NodeTopology) -> str:
    who = f"container {found.need.name}" if found.need.name else "the pod"
    units = [(name, 1000 if name == CPU else 1) for name, _ in found.wanted]
    amounts = [amount for _, amount in found.wanted]
    wants = ", ".join(amount_text(name, unit * amount) for (name, unit), amount in zip(units, amounts, strict=True))
    where = _GROUP if found.grouped else _PLACES.get(node.policy, "any NUMA nodes")
    lefts = []
    for zone, left in zip(node.zones[:_SHOWN], found.left, strict=False):
        lefts.append(
            [
                of_text(name, unit * one, zone.allocatable.get(name, 0))
                for (name, unit), one in zip(units, left, strict=True)
            ]
        )
    return f"{node.policy}: {who} wants {wants} of {where}; {_listed(node.zones, lefts)}"


def _listed(zones: Sequence[ZoneStatus], lefts: Sequence[Sequence[str]]) -> str:
    """What is left of zones, of the first few in words."""
    parts = [f"{zone_name(zone.id)}: {', '.join(texts)}" for zone, texts in zip(zones, lefts, strict=False)]
    more = f"; and {len(zones) - _SHOWN} more" if len(zones) > _SHOWN else ""
    return "left: " + "; ".join(parts) + more
