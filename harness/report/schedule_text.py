"""Where pods went, for terminals and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.affinity.rules import PENDING, cpu_text
from numaproof.harness.affinity.schedule import Placement, Tally

SHOWN: Final = 40  # pods of the table
_NEAREST: Final = 3  # nodes whose reasons it tells
_WIDEST: Final = 24  # characters of a list of CPUs


def table(placements: Sequence[Placement], tallies: Mapping[str, Tally], nodes: int, by_zones: int) -> Iterator[str]:
    """The pods, why some fit nowhere, and the two ways side by side."""
    rows = [["pod", "node", "NUMA node", "CPUs", "verdict"]]
    rows += [_row(one) for one in placements[:SHOWN]]
    yield from _aligned(rows)
    if len(placements) > SHOWN:
        yield f"and {len(placements) - SHOWN} more, --json has all"
    yield ""
    told: set[tuple[str, ...]] = set()
    for one in placements:
        reasons = tuple(f"{misfit.node}: {misfit.reason}" for misfit in one.misfits[:_NEAREST])
        if one.node or reasons in told or len(told) >= _NEAREST:
            continue  # pods that are alike fail alike: once is enough
        told.add(reasons)
        yield f"{_name(one)} fits none of {one.not_fitting} nodes; the nearest:"
        yield from (f"  {reason}" for reason in reasons)
        yield ""
    yield from _comparison(tallies, nodes, by_zones)


def _row(one: Placement) -> list[str]:
    cpus = format_cpulist(one.decision.cpus)
    return [
        _name(one),
        one.node or "-",
        ",".join(map(str, one.decision.zones)) or "-",
        (cpus if len(cpus) <= _WIDEST else f"{cpus[: _WIDEST - 3]}...") or "-",
        _verdict(one),
    ]


def _verdict(one: Placement) -> str:
    verdict = one.decision.verdict
    if verdict.admitted:
        return "admitted"
    if one.node and verdict.reason == PENDING:
        return "waits to be bound"
    return f"{'refused' if one.node else 'not sent'}: {verdict.reason}"


def _name(one: Placement) -> str:
    return one.pod.name if one.pod.namespace == "default" else f"{one.pod.namespace}/{one.pod.name}"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _comparison(tallies: Mapping[str, Tally], nodes: int, by_zones: int) -> Iterator[str]:
    plain, better = tallies["plain"], tallies["predicate"]
    zones = f" ({by_zones} by zones alone)" if by_zones else ""
    yield f"{_counted(plain.pods, 'pod')}, {_counted(nodes, 'node')}{zones}"
    rows = [["", "sent", "admitted", "refused there", "waiting there", "not sent", "CPUs admitted"]]
    for name, one in (("plain fit", plain), ("predicate", better)):
        figures = (one.sent, one.admitted, one.refusals, one.waiting, one.unschedulable)
        rows.append([name, *map(str, figures), cpu_text(one.cpu)])
    yield from _aligned(rows)
    for name, one in (("plain fit", plain), ("predicate", better)):
        if one.refused:
            yield f"{name}: refused: " + ", ".join(f"{number} {reason}" for reason, number in one.refused.items())
    admitted, refused = better.admitted - plain.admitted, better.refusals - plain.refusals
    more = better.cpu - plain.cpu
    cpus = f"{'-' if more < 0 else '+'}{cpu_text(abs(more))}"
    yield f"with the predicate {refused:+d} refused, {admitted:+d} admitted, {cpus} CPUs"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def as_json(placements: Sequence[Placement], tallies: Mapping[str, Tally]) -> dict[str, Any]:
    """All that is known: every pod by the predicate's way, and the report of both ways."""
    return {
        "pods": [_pod(one) for one in placements],
        "report": {way: _tally(one) for way, one in tallies.items()},
    }


def _pod(one: Placement) -> dict[str, Any]:
    pod, verdict = one.pod, one.decision.verdict
    bound = pod.numa_node_id if pod.numa_node_id is not None else _only(one.decision.zones)
    return {
        "name": pod.name,
        "namespace": pod.namespace,
        "node": one.node or None,
        "numaNodeID": None if bound is None else str(bound),
        "numaNodes": list(one.decision.zones),
        "cpuAffinity": format_cpulist(one.decision.cpus) or None,
        "admitted": verdict.admitted,
        "reason": verdict.reason,
        "message": verdict.message,
        "notFitting": {misfit.node: misfit.reason for misfit in one.misfits},
        "notFittingNodes": one.not_fitting,
    }


def _only(zones: Sequence[int]) -> int | None:
    return zones[0] if len(zones) == 1 else None


def _tally(one: Tally) -> dict[str, Any]:
    return {
        "pods": one.pods,
        "sent": one.sent,
        "admitted": one.admitted,
        "refused": one.refusals,
        "refusedBy": dict(one.refused),
        "waiting": one.waiting,
        "unschedulable": one.unschedulable,
        # A whole number as one: it may be beyond what a float holds.
        "cpusAdmitted": one.cpu / 1000 if one.cpu % 1000 else one.cpu // 1000,
    }
