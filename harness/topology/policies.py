"""The Topology Manager's policies: small functions from everybody's hints to one hint and a yes or no."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from numaproof.errors import UserError
from numaproof.harness.topology.bitmask import NodeMask
from numaproof.harness.topology.go_bool import parse_bool
from numaproof.harness.topology.hints import Hints, TopologyHint
from numaproof.harness.topology.merge import filter_hints, merge, merge_as_proposed, merge_strictly, only_single_nodes
from numaproof.harness.topology.numa import NumaInfo
from numaproof.harness.vocabulary import SELECTING_POLICY, SMALLEST_NODE_LIMIT, Semantics
from numaproof.near import did_you_mean

ProvidersHints = Sequence[Hints | None]


@dataclass(frozen=True, slots=True)
class Decision:
    """The merged hint, and whether the policy admits a pod with it."""

    hint: TopologyHint
    admit: bool
    # What the policy asks of the hint, in a word; it tells, and decides nothing.
    rule: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """The Topology Manager's policy options, under their names in the kubelet's configuration."""

    prefer_closest_numa_nodes: bool = False
    max_allowable_numa_nodes: int = SMALLEST_NODE_LIMIT
    # Of the policy cost, and of no kubelet.
    cost_maximum: Fraction | None = None  # None: any cost will do
    cost_unlisted: str | None = None  # None: the selector's default
    cost_seed: int | None = None  # None: the selector's default


_COST_OPTIONS = {
    "cost-maximum": (r"\d{1,18}(\.\d{1,9})?", "a cost: a number of 0 or more, such as 120 or 0.5"),
    "cost-unlisted": (r"nothing|farthest", "known; choose nothing or farthest"),
    "cost-seed": (r"\d{1,18}", "a whole number of 0 or more"),
}
OPTIONS = ("prefer-closest-numa-nodes", "max-allowable-numa-nodes", *_COST_OPTIONS)


Policy = Callable[[ProvidersHints, NumaInfo, PolicyOptions], Decision]


def none(_providers: ProvidersHints, _numa: NumaInfo, _options: PolicyOptions) -> Decision:
    """Nobody is asked; everything is admitted."""
    return Decision(TopologyHint(None, False), admit=True, rule="any")


def best_effort(providers: ProvidersHints, numa: NumaInfo, options: PolicyOptions) -> Decision:
    """The best hint, and admit in any case."""
    best = merge(filter_hints(providers), numa, closest=options.prefer_closest_numa_nodes)
    return Decision(best, admit=True, rule="any")


def restricted(providers: ProvidersHints, numa: NumaInfo, options: PolicyOptions) -> Decision:
    """The best hint, and admit if it is preferred."""
    best = merge(filter_hints(providers), numa, closest=options.prefer_closest_numa_nodes)
    return Decision(best, admit=best.preferred, rule="preferred")


def single_numa_node(providers: ProvidersHints, numa: NumaInfo, _options: PolicyOptions) -> Decision:
    """The best hint among those of one node, and admit if there is one."""
    best = merge(only_single_nodes(filter_hints(providers)), numa)
    return Decision(_any_for_all(best, numa.all_nodes), admit=best.preferred, rule="single")


def strict(providers: ProvidersHints, numa: NumaInfo, _options: PolicyOptions) -> Decision:
    """Experimental: the best hint that all resources prefer with equal affinity, and admit if there is one."""
    best = merge_strictly(filter_hints(providers), numa)
    return Decision(best or TopologyHint(None, False), admit=best is not None, rule="unanimous")


def best_effort_as_proposed(providers: ProvidersHints, numa: NumaInfo, _options: PolicyOptions) -> Decision:
    """best-effort of v1.18."""
    return Decision(merge_as_proposed(filter_hints(providers), numa), admit=True, rule="any")


def restricted_as_proposed(providers: ProvidersHints, numa: NumaInfo, _options: PolicyOptions) -> Decision:
    """restricted of v1.18."""
    best = merge_as_proposed(filter_hints(providers), numa)
    return Decision(best, admit=best.preferred, rule="preferred")


def single_numa_node_as_proposed(providers: ProvidersHints, numa: NumaInfo, _options: PolicyOptions) -> Decision:
    """single-numa-node of v1.18."""
    best = merge_as_proposed(only_single_nodes(filter_hints(providers)), numa)
    return Decision(_any_for_all(best, numa.all_nodes), admit=best.preferred, rule="single")


POLICIES: Mapping[Semantics, Mapping[str, Policy]] = {
    "current": {
        "none": none,
        "best-effort": best_effort,
        "restricted": restricted,
        "single-numa-node": single_numa_node,
        "strict": strict,
    },
    "kep": {
        "none": none,
        "best-effort": best_effort_as_proposed,
        "restricted": restricted_as_proposed,
        "single-numa-node": single_numa_node_as_proposed,
        "strict": strict,
    },
}


def find_policy(name: str, semantics: Semantics = "current") -> Policy:
    """The policy of that name; a UserError lists the names there are."""
    try:
        return POLICIES[semantics][name]
    except KeyError:
        known = (*POLICIES[semantics], SELECTING_POLICY)
        told = f'"{name}" is unknown (known: {", ".join(known)})'
        raise UserError(f"topologyManagerPolicy: {told}{did_you_mean(name, known)}") from None


def check_cost_option(name: str, text: str, policy: str, where: str) -> None:
    """A UserError, at `where`, unless it is an option of the policy cost, with a value of its kind, and that policy."""
    if name not in _COST_OPTIONS:
        raise UserError(f"{where}: unknown option; choose of {', '.join(OPTIONS)}{did_you_mean(name, OPTIONS)}")
    if policy != SELECTING_POLICY:
        raise UserError(f"{where}: is an option of the policy {SELECTING_POLICY}, this is {policy}; drop it")
    form, kind = _COST_OPTIONS[name]
    if not re.fullmatch(form, text, re.ASCII):
        raise UserError(f'{where}: "{text}" is not {kind}')


def policy_options(given: Mapping[str, object], policy: str = "none") -> PolicyOptions:
    """The options of a kubelet configuration, whose values are texts; a UserError names a bad one."""
    closest = False
    most = SMALLEST_NODE_LIMIT
    costs: dict[str, str] = {}
    for name, value in given.items():
        where = f"topologyManagerPolicyOptions: {name}"
        text = str(value)
        if name == "prefer-closest-numa-nodes":
            truth = parse_bool(text)
            if truth is None:
                raise UserError(f'{where}: "{value}" is neither true nor false')
            closest = truth
        elif name == "max-allowable-numa-nodes":
            if not text.isascii() or not text.isdigit() or int(text) < SMALLEST_NODE_LIMIT:
                raise UserError(f'{where}: "{value}" is not a number of at least {SMALLEST_NODE_LIMIT}')
            most = int(text)
        else:
            check_cost_option(name, text, policy, where)
            costs[name] = text
    return PolicyOptions(
        closest,
        most,
        Fraction(costs["cost-maximum"]) if "cost-maximum" in costs else None,
        costs.get("cost-unlisted"),
        int(costs["cost-seed"]) if "cost-seed" in costs else None,
    )


def _any_for_all(hint: TopologyHint, all_nodes: NodeMask) -> TopologyHint:
    """single-numa-node says `any` where the merge says all nodes, on a machine of one node too."""
    return TopologyHint(None, hint.preferred) if hint.affinity == all_nodes else hint
