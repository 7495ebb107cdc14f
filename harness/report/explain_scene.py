"""What a drawing shows of an explanation: who holds what, and where a refused pod nearly fits."""

from numaproof.harness.drawing.scene import DeviceMark, Holding, Scene, Wish

from numaproof.fake_sysfs import Machine
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.explain.amounts import amount_text, short_amount
from numaproof.harness.explain.blame import Blame
from numaproof.harness.explain.explanation import Explanation
from numaproof.harness.providers.memory.state import MEMORY


def scene_of(explanation: Explanation, machine: Machine) -> Scene:
    """The node with its pods and, if it is admitted, the pod in question."""
    replica, trace = explanation.replica, explanation.trace
    name = f"{explanation.pod.namespace}/{explanation.pod.name}"
    holders = [(resident.name, list(resident.given.values())) for resident in replica.residents]
    if trace.verdict.admitted:
        holders.append((f"{name} (asked about)", list(trace.given.values())))
    allocatable = replica.managers.cpu.allocatable
    blame = explanation.blame
    return Scene(
        machine,
        tuple(_holding(label, given) for label, given in holders),
        tuple(
            DeviceMark(resource, one.id, tuple(one.numa or ()), one.healthy)
            for resource, devices in replica.setup.devices.items()
            for one in devices
        ),
        frozenset(row[0] for row in replica.setup.description.cpu_rows if row[0] not in allocatable)
        if allocatable
        else frozenset(),
        {node: kept.get(MEMORY, 0) for node, kept in replica.setup.config.reserved_memory.items()},
        _wish(name, blame) if blame is not None and not trace.verdict.admitted else None,
    )


def _holding(label: str, given: list[Assignment]) -> Holding:
    memory: dict[int, int] = {}
    for one in given:
        for block in one.memory:
            # Who took which part of a group of nodes nobody knows: each has its share.
            for node in block.nodes:
                memory[node] = memory.get(node, 0) + block.size // len(block.nodes)
    return Holding(
        label,
        frozenset[int]().union(*(one.cpus for one in given)),
        memory,
        frozenset(device.id for one in given for devices in one.devices.values() for device in devices),
    )


def _wish(label: str, blame: Blame) -> Wish | None:
    """Where most of what is missing is to be had; None: nowhere more than elsewhere."""
    stock = blame.stock
    if stock is None or not stock.free:
        return None
    best = max(stock.free.values())
    nodes = tuple(sorted(node for node, free in stock.free.items() if free == best))
    text = f"wants {amount_text(stock.resource, stock.wanted)}, {short_amount(stock.resource, best)} free"
    return Wish(label, nodes[:1], text)
