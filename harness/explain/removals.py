"""Which pods could go."""

from collections.abc import Iterable, Iterator, Mapping

from numaproof.harness.explain.blame import Blame
from numaproof.harness.explain.change import Change
from numaproof.harness.explain.replica import Replica, Resident

_MOST_NODES = 8  # that are looked at when pods have to go together


def removals(replica: Replica) -> Iterator[Change]:
    """That one pod goes, those that hold least first."""
    for resident in sorted(replica.residents, key=_weight):
        if _weight(resident):
            yield removal([resident])


def joint_removals(replica: Replica, blame: Blame) -> Iterator[tuple[Resident, ...]]:
    """For each NUMA node, the one with most to give first: all pods that hold something of it, the largest first."""
    node_of = replica.managers.cpu.topology.node_of
    free = blame.stock.free if blame.stock else {}
    for node in sorted(replica.setup.description.node_ids, key=lambda one: -free.get(one, 0))[:_MOST_NODES]:
        holders = [one for one in replica.residents if node in _nodes(one, node_of)]
        if len(holders) > 1:
            yield tuple(sorted(holders, key=_weight, reverse=True))


def removal(residents: Iterable[Resident]) -> Change:
    gone = list(residents)
    names = [one.name for one in gone]
    text = f"remove pod {names[0]}" if len(names) == 1 else f"remove pods {', '.join(names)}"
    return Change(text, {"remove": names}, gone=tuple(one.pod.uid for one in gone))


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
