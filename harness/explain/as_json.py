"""An explanation for programs: plain values, ready for JSON."""

from collections.abc import Mapping
from typing import Any

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.decision.trace import Trace
from numaproof.harness.explain.beside import Beside
from numaproof.harness.explain.blame import Blame
from numaproof.harness.explain.explanation import Cell, Explanation
from numaproof.harness.explain.places import places, said_in, some_hints
from numaproof.harness.explain.reasons import why
from numaproof.harness.explain.remarks import remarks
from numaproof.harness.topology.bitmask import NodeMask, ids_of
from numaproof.harness.topology.hints import HintFamily, TopologyHint
from numaproof.harness.topology.placement import Step

_NOTHING = Beside()


def as_json(explanation: Explanation, beside: Beside = _NOTHING) -> dict[str, Any]:
    """The whole explanation."""
    trace = explanation.trace
    node_of = {row[0]: row[3] for row in explanation.replica.setup.description.cpu_rows}
    return {
        "pod": f"{explanation.pod.namespace}/{explanation.pod.name}",
        "policy": trace.policy,
        "scope": trace.scope,
        "verdict": _verdict(trace),
        "blame": None if explanation.blame is None else blame_json(explanation.blame),
        "why": list(why(explanation)),
        "placement": placement(trace, node_of),
        "decisions": [_step(step) for step in trace.steps],
        "remedies": [
            {
                "change": one.change.text,
                "apply": dict(one.change.apply),
                "verdict": _verdict(one.trace),
                "placement": placement(one.trace, node_of),
            }
            for one in explanation.remedies
        ],
        "remarks": [{"text": one.text, "source": one.source, "fixed_in": one.fixed_in} for one in remarks(explanation)],
        "matrix": [_cell(cell, node_of) for cell in explanation.matrix],
        "fits_empty_node": explanation.empty.verdict.admitted,
        "obstacles": list(beside.obstacles),
        "assumptions": list(beside.assumptions),
    }


def blame_json(blame: Blame) -> dict[str, Any]:
    """What decided, with the amounts; CPUs and devices in pieces, memory in bytes."""
    found: dict[str, Any] = {"what": blame.what, "cause": blame.cause}
    if blame.resource:
        found["resource"] = blame.resource
    if blame.container:
        found["container"] = blame.container
    if blame.stock is not None:
        stock = blame.stock
        found["wanted"] = stock.wanted
        for name, table in (("free", stock.free), ("most", stock.most), ("total", stock.total)):
            found[name] = {str(node): amount for node, amount in sorted(table.items())}
        if stock.nowhere:
            found["without_numa"] = stock.nowhere
        if stock.ill:
            found["unhealthy"] = stock.ill
    if blame.shortage is not None:
        short = blame.shortage  # of CPU in thousandths, as the kubelet counts
        found |= {"requested": short.requested, "used": short.used, "capacity": short.capacity}
    if blame.others:
        found["others"] = list(blame.others)
    return found


def placement(trace: Trace, node_of: Mapping[int, int]) -> dict[str, Any] | None:
    """What each container would be given; None: nothing, as the pod is refused."""
    if not trace.verdict.admitted:
        return None
    found = {}
    for name, given in trace.given.items():
        counts: dict[str, int] = {}
        for cpu in sorted(given.cpus):
            node = str(node_of[cpu])
            counts[node] = counts.get(node, 0) + 1
        found[name] = {
            "affinity": _nodes(given.affinity.affinity),
            "preferred": given.affinity.preferred,
            "cpus": format_cpulist(given.cpus),
            "cpus_by_numa": counts,
            "memory": [
                {"type": block.resource, "numa": list(block.nodes), "size": block.size} for block in given.memory
            ],
            "devices": {
                resource: [{"id": one.id, "numa": list(one.numa or ())} for one in devices]
                for resource, devices in given.devices.items()
            },
        }
    return found


def _verdict(trace: Trace) -> dict[str, Any]:
    return {
        "admitted": trace.verdict.admitted,
        "reason": trace.verdict.reason,
        "message": trace.verdict.message,
    }


def _cell(cell: Cell, node_of: Mapping[int, int]) -> dict[str, Any]:
    found: dict[str, Any] = {"policy": cell.policy, "scope": cell.scope}
    told = cell.told
    if told is None:
        return {**found, "verdict": None, "placement": None}
    found |= {
        "verdict": _verdict(told.trace),
        "placement": placement(told.trace, node_of),
        "blame": None if told.blame is None else blame_json(told.blame),
        "why": list(why(told)),
        "decisions": [_step(step) for step in told.trace.steps],
    }
    if cell.afresh is not None:
        found["afresh"] = {"verdict": _verdict(cell.afresh), "placement": placement(cell.afresh, node_of)}
    return found


def _step(step: Step) -> dict[str, Any]:
    decision = step.decision
    return {
        "container": step.container,
        "merged": _hint(decision.hint),
        "admitted": decision.admit,
        "rule": decision.rule,
        "hints": {
            resource: None if hints is None else [_hint(one) for one in some_hints(hints)]
            for resource, hints in said_in(step).items()
        },
        "more_hints": sorted(name for name, hints in said_in(step).items() if isinstance(hints, HintFamily)),
        "silent": sorted(provider for provider, hints in step.hints.items() if not hints),
        "places": [
            {
                "numa": _nodes(one.nodes),
                "preferred_by": list(one.preferred_by),
                "accepted_by": list(one.accepted_by),
                "refused_by": list(one.refused_by),
            }
            for one in places(step)
        ],
    }


def _hint(hint: TopologyHint) -> dict[str, Any]:
    return {"numa": _nodes(hint.affinity), "preferred": hint.preferred}


def _nodes(mask: NodeMask | None) -> list[int] | None:
    """The NUMA nodes of a mask; None: any."""
    return None if mask is None else list(ids_of(mask))
