"""Which pods could go."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from numaproof.harness.decision.fit import requests_of
from numaproof.harness.explain.blame import Blame
from numaproof.harness.explain.change import Change
from numaproof.harness.explain.replica import Replica, Resident

_MOST_NODES = 8  # that are looked at when pods have to go together


def removals(replica: Replica, blame: Blame) -> Iterator[Change]:
    """That one pod goes, those that hold least first."""
    weigh = _weigher(blame)
    for resident in sorted(replica.residents, key=weigh):
        if weigh(resident):
            yield removal([resident])


def joint_removals(replica: Replica, blame: Blame) -> Iterator[tuple[Resident, ...]]:
    """For each NUMA node, the one with most to give first: all pods that hold something of it, the largest first.

    Where the node as a whole has too little, all pods that ask for some of it.
    """
    weigh = _weigher(blame)
    if blame.shortage is not None:
        asking = [one for one in replica.residents if weigh(one)]
        if len(asking) > 1:
            yield tuple(sorted(asking, key=weigh, reverse=True))
        return
    node_of = replica.managers.cpu.topology.node_of
    free = blame.stock.free if blame.stock else {}
    for node in sorted(replica.setup.description.node_ids, key=lambda one: -free.get(one, 0))[:_MOST_NODES]:
        holders = [one for one in replica.residents if node in _nodes(one, node_of)]
        if len(holders) > 1:
            yield tuple(sorted(holders, key=weigh, reverse=True))


def removal(residents: Iterable[Resident]) -> Change:
    gone = list(residents)
    names = [one.name for one in gone]
    text = f"remove pod {names[0]}" if len(names) == 1 else f"remove pods {', '.join(names)}"
    return Change(text, {"remove": names}, gone=tuple(one.pod.uid for one in gone))


def _weigher(blame: Blame) -> Callable[[Resident], int]:
    """How much would go with a pod, of what is to blame: what it holds or, of the node as a whole, what it asks for."""
    if blame.shortage is None:
        return _weight
    resource = blame.shortage.resource
    return lambda resident: {"pods": 1, **requests_of(resident.pod)}.get(resource, 0)


def _weight(resident: Resident) -> int:
    """How much would go with a pod, roughly: CPUs and devices, and then memory."""
    pieces = sum(len(one.cpus) + sum(map(len, one.devices.values())) for one in resident.given.values())
    memory = sum(block.size for one in resident.given.values() for block in one.memory)
    return (pieces << 60) + memory


def _nodes(resident: Resident, node_of: Mapping[int, int]) -> set[int]:
    found: set[int] = set()
    for given in resident.given.values():
        found.update(node_of[cpu] for cpu in given.cpus)
        found.update(node for block in given.memory for node in block.nodes)
        found.update(node for devices in given.devices.values() for one in devices for node in one.numa or ())
    return found
