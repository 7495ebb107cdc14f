"""`numaproof cost`: which instances of the requested resources are nearest to one another, drawn and explained."""

import argparse
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from numaproof import fake_sysfs
from numaproof.errors import UserError
from numaproof.fake_sysfs import strict_yaml
from numaproof.fake_sysfs.argument import MACHINE
from numaproof.harness.arguments import Parser, add_command
from numaproof.harness.commands.output_file import write_output
from numaproof.harness.cost.costfile import costs_of
from numaproof.harness.cost.costs import UNLISTED, Costs
from numaproof.harness.cost.machine_costs import machine_costs
from numaproof.harness.cost.names import Instance, layer_order, parse_names
from numaproof.harness.cost.solve import DEFAULT_SEED
from numaproof.harness.report.cost_answer import Answer, answer
from numaproof.harness.report.cost_explain import explain_lines
from numaproof.harness.report.cost_json import as_json, explanation_as_json, graph_as_json
from numaproof.harness.report.cost_svg import svg
from numaproof.harness.report.cost_system import system_lines
from numaproof.harness.report.cost_system_json import system_as_json
from numaproof.harness.report.cost_text import graph_lines, solve_lines
from numaproof.harness.report.cost_words import plain
from numaproof.near import did_you_mean

_SOLVED = (
    "chosen, cost, raw_cost, optimal, bound, gap, greedy, annealed, seed, unlisted, and edges: pairs with between,"
    " there, back, cost"
)
_EXAMPLE = "cpu=1,example.com/gpu=2"
_COUNT = re.compile(r"-?[0-9]{1,9}")  # larger than any machine has of anything
EXAMPLES = (
    "numaproof cost solve --machine dgx-a100 --request cpu=8,nvidia.com/gpu=2",
    "numaproof cost solve costs.yaml --request example.com/gpu=2 --seed 7",
    "numaproof cost graph --machine dgx-a100",
    "numaproof cost graph costs.yaml --request example.com/gpu=2 --svg graph.svg",
    "numaproof cost explain costs.yaml --request example.com/gpu=2",
)


def add_arguments(parser: Parser) -> None:
    """What to do, whose costs, what is wanted."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    solve = add_command(actions, "solve", "the cheapest set, its cost edge by edge, and what is proven about it")
    _add_common(solve)
    solve.add_argument(
        "--json",
        action="store_true",
        help=f"as JSON: {_SOLVED}",
    )
    graph = add_command(
        actions, "graph", "draw the layered graph, with the chosen set; of a machine alone, its system devices"
    )
    _add_common(graph)
    form = graph.add_mutually_exclusive_group()
    form.add_argument(
        "--json",
        action="store_true",
        help="as JSON: layers with resource, wanted, vertices; edges with between (the numbers of two vertices) and"
        " cost; chosen, cost, optimal. Of a machine alone: nodes with id, distances, memory, cpus; devices with"
        " address, resource, numa_node, bridges; links with between and cost",
    )
    form.add_argument(
        "--svg", metavar="FILE", type=Path, help="draw it into this file instead, as a picture; - prints it"
    )
    explain = add_command(actions, "explain", "why this set: walk, search, proof, what weighs most, unlisted pairs")
    _add_common(explain)
    explain.add_argument(
        "--json",
        action="store_true",
        help=f"as JSON: {_SOLVED}; and walk, greedy, layer by layer: resource, ids, units, increment, alternatives;"
        " searched, greedy_chosen, other_rule",
    )


def _add_common(parser: Parser) -> None:
    parser.add_argument("costs", metavar="COSTS.yaml", nargs="?", type=Path, help="a file of costs between instances")
    parser.add_argument("--machine", metavar="MACHINE", help=f"in the place of the file, the costs of {MACHINE}")
    parser.add_argument("--request", metavar="RESOURCE=COUNT,...", help=f"what is wanted, such as {_EXAMPLE}")
    parser.add_argument(
        "--without", metavar="INSTANCE,...", help="do not take these, such as cpu/cpu0-1: they are in use, or reserved"
    )
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, metavar="N", help="of the annealing (default: 1)")
    parser.add_argument(
        "--unlisted",
        choices=UNLISTED,
        default=UNLISTED[0],
        help="what a pair costs that nobody lists: nothing (the default), or as much as the farthest that is listed",
    )


def run(args: argparse.Namespace) -> int:
    """Print or write what was asked for; exit code 0."""
    actions: Mapping[str, Callable[[Answer, argparse.Namespace], None]] = {
        "solve": _solve,
        "graph": _graph,
        "explain": _explain,
    }
    if args.action == "graph" and args.machine and not args.costs and args.request is None and args.svg is None:
        machine = fake_sysfs.parse_machine(args.machine)
        if args.json:
            _print_json(system_as_json(machine))
        else:
            _print(system_lines(machine))
        return 0
    request = _request(args.request)
    costs = _costs(args)
    try:
        found = answer(costs, request, args.seed, _available(costs, args.without))
    except UserError as error:
        raise UserError(f"--request: {error}") from None
    actions[args.action](found, args)
    return 0


def _solve(found: Answer, args: argparse.Namespace) -> None:
    if args.json:
        _print_json(as_json(found))
    else:
        _print(solve_lines(found))


def _graph(found: Answer, args: argparse.Namespace) -> None:
    if args.json:
        _print_json(graph_as_json(found))
        return
    if args.svg is None:
        _print(graph_lines(found))
        return
    if str(args.svg) == "-":
        print(svg(found), end="")
        return
    write_output(args.svg, svg(found))
    print(f"{args.svg}: {len(found.graph.vertices)} vertices in {len(found.graph.layers)} layers")


def _explain(found: Answer, args: argparse.Namespace) -> None:
    if args.json:
        _print_json(explanation_as_json(found))
    else:
        _print(explain_lines(found))


def _print_json(content: Mapping[str, Any]) -> None:
    print(json.dumps(content, indent=2))


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


def _costs(args: argparse.Namespace) -> Costs:
    if (args.costs is None) == (args.machine is None):
        given = (
            "neither a file of costs nor --machine is" if args.costs is None else "a file of costs and --machine are"
        )
        raise UserError(f"cost {args.action}: {given} given; give one of them")
    if args.machine is not None:
        return machine_costs(fake_sysfs.parse_machine(args.machine), args.unlisted)
    return costs_of(strict_yaml.read(args.costs), args.unlisted)


def _available(costs: Costs, without: str | None) -> Mapping[str, tuple[str, ...]]:
    """All instances but some, by `cpu/cpu0-1,example.com/gpu/gpu2`."""
    taken: set[Instance] = set()
    for word in without.split(",") if without else ():
        try:
            resource, ids = parse_names(word.strip())
        except UserError as error:
            raise UserError(f"--without: {error}") from None
        known = frozenset(costs.instances.get(resource, ()))
        unknown = next((one for one in ids if one not in known), None)
        if unknown is not None:
            names = [f"{name}/{one}" for name, instances in costs.instances.items() for one in instances]
            meant = did_you_mean(f"{resource}/{unknown}", names, 0)
            raise UserError(f"--without: there is no {resource}/{unknown}{meant}")
        taken.update(Instance(resource, one) for one in ids)
    return {
        resource: tuple(one for one in ids if Instance(resource, one) not in taken)
        for resource, ids in costs.instances.items()
    }


def _request(text: str | None) -> Mapping[str, int]:
    """How many of each resource are wanted, by `cpu=1,example.com/gpu=2`, in the order of layers."""
    if not text:
        raise UserError(f"--request: nothing is wanted; give one, such as {_EXAMPLE}")
    wanted: dict[str, int] = {}
    for word in text.split(","):
        resource, equals, count = word.strip().partition("=")
        if not equals or not resource or not word.isprintable():
            raise UserError(f'--request: "{plain(word)}" is not RESOURCE=COUNT; write it as in {_EXAMPLE}')
        if not _COUNT.fullmatch(count):
            raise UserError(f'--request: {resource}: "{count}" is not a count; give a whole number from 1 on')
        if resource in wanted:
            raise UserError(f"--request: {resource} is there twice; keep one")
        wanted[resource] = int(count)
    return {resource: wanted[resource] for resource in sorted(wanted, key=layer_order)}
