"""`numaproof policies`: what every policy makes of every combination of the providers' hints."""

import argparse
import json
from collections.abc import Iterable, Mapping
from typing import Any

from numaproof.errors import UserError
from numaproof.harness.arguments import Parser
from numaproof.harness.topology.bitmask import format_mask, ids_of
from numaproof.harness.topology.comparison import COMPARED, Row, compare
from numaproof.harness.topology.hints import TopologyHint
from numaproof.harness.topology.policies import Policy
from numaproof.near import did_you_mean

EXAMPLES = (
    "numaproof policies",
    "numaproof policies --policies best-effort,restricted --differing",
    "numaproof policies --semantics feedback --nodes 3 --json",
)


def add_arguments(parser: Parser) -> None:
    """How large, by which rules, and what to show."""
    parser.add_argument("--nodes", type=int, default=2, metavar="N", help="NUMA nodes (default 2)")
    parser.add_argument("--providers", type=int, default=2, metavar="N", help="hint providers (default 2)")
    parser.add_argument(
        "--semantics",
        choices=tuple(COMPARED),
        default="current",
        help="current: kubelet v1.36; kep: v1.18; feedback: the 2019 feedback document, which proposes `strict`",
    )
    parser.add_argument("--policies", metavar="A,B", help="compare these policies only (default: all)")
    parser.add_argument("--sets", action="store_true", help="every set of hints a provider, instead of one hint each")
    parser.add_argument(
        "--differing", action="store_true", help="only rows where some policies admit and others do not"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="as JSON: semantics, nodes, and rows with providers (their hints), decisions by policy, differing",
    )


def run(args: argparse.Namespace) -> int:
    """Print the comparison; exit code 0."""
    policies = _chosen(COMPARED[args.semantics], args.policies)
    rows = (
        row
        for row in compare(args.nodes, args.providers, policies, sets=args.sets)
        if row.differing or not args.differing
    )
    if args.json:
        print(json.dumps({"semantics": args.semantics, "nodes": args.nodes, "rows": [_as_json(row) for row in rows]}))
    else:
        _print_table(list(rows), args.providers, list(policies))
    return 0


def _chosen(policies: Mapping[str, Policy], names: str | None) -> Mapping[str, Policy]:
    if names is None:
        return policies
    chosen = {}
    for name in names.split(","):
        if name not in policies:
            told = f'"{name}" is not compared here (known: {", ".join(policies)})'
            raise UserError(f"--policies: {told}{did_you_mean(name, policies)}")
        chosen[name] = policies[name]
    return chosen


def _print_table(rows: list[Row], providers: int, policies: list[str]) -> None:
    table = [[*(f"provider {number}" for number in range(providers)), *policies]]
    for row in rows:
        answers = [", ".join(map(_hint, answer)) for answer in row.answers]
        verdicts = [f"{'admit' if each.admit else 'REJECT'} {_hint(each.hint)}" for each in row.decisions.values()]
        table.append([*answers, *verdicts])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for number, cells in enumerate(table):
        print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))
    print(f"{len(rows)} rows; + marks preferred hints")


def _hint(hint: TopologyHint) -> str:
    return format_mask(hint.affinity) + ("+" if hint.preferred else "")


def _as_json(row: Row) -> dict[str, Any]:
    return {
        "providers": [_hints_as_json(answer) for answer in row.answers],
        "decisions": {
            name: {"admit": decision.admit, "hint": _hints_as_json([decision.hint])[0]}
            for name, decision in row.decisions.items()
        },
        "differing": row.differing,
    }


def _hints_as_json(hints: Iterable[TopologyHint]) -> list[dict[str, Any]]:
    return [
        {"mask": None if hint.affinity is None else list(ids_of(hint.affinity)), "preferred": hint.preferred}
        for hint in hints
    ]
