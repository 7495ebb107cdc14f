"""A warm process whose node decides by a false rule: what it forks is the node under test, with one rule flipped.

python -m tests.suites.mutant NAME SOCKET
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from numaproof.harness.cost.build import _Builder
from numaproof.harness.cost.costs import Unlisted
from numaproof.harness.cost.solution import Solution
from numaproof.harness.decision import selection
from numaproof.harness.decision.node_costs import Listed, NodeCosts, Reported
from numaproof.harness.decision.selection import CostSelector
from numaproof.harness.node.measures import Measures
from numaproof.harness.node.services import pod_resources
from numaproof.harness.node.snapshot import PodView
from numaproof.harness.providers.devices import Device, DeviceManager
from numaproof.harness.providers.devices import choice as device_choice
from numaproof.harness.providers.devices import manager as device_manager
from numaproof.harness.providers.devices.inventory import Inventory
from numaproof.harness.providers.devices.preferred_sets import PreferredSets
from numaproof.harness.topology import merge, policies, scopes
from numaproof.harness.topology.bitmask import NodeMask, count
from numaproof.harness.topology.hints import HintFamily, TopologyHint
from numaproof.harness.topology.manager import Manager
from numaproof.harness.topology.policies import Decision
from numaproof.harness.topology.selection import Selection
from numaproof.harness.warm_commands import serve_commands
from tests.suites.affinity_mutations import AFFINITY_MUTATIONS


def _with_admission(policy: str, admits: Callable[[Decision], bool]) -> Callable[[Any], Any]:
    """The table of policies, in which one admits by another rule."""

    def flipped(table: Any) -> Any:
        rule = table["current"][policy]

        def decide(*asked: Any) -> Decision:
            decision: Decision = rule(*asked)
            return replace(decision, admit=admits(decision))

        return {**table, "current": {**table["current"], policy: decide}}

    return flipped


def _with_rule_of(policy: str, other: str) -> Callable[[Any], Any]:
    """The table of policies, in which one does what another should."""
    return lambda table: {**table, "current": {**table["current"], policy: table["current"][other]}}


def _taking_none_for_best_effort(init: Any) -> Any:
    def made(manager: Manager, numa: Any, policy: str, *others: Any) -> None:
        init(manager, numa, "best-effort" if policy == "none" else policy, *others)

    return made


def _all_preferred(filter_hints: Any) -> Any:
    def filtered(providers: Any) -> list[Any]:
        return [
            hints if isinstance(hints, HintFamily) else [TopologyHint(hint.affinity, True) for hint in hints]
            for hints in filter_hints(providers)
        ]

    return filtered


def _joined(_reachable: Any) -> Any:
    """Every OR of a mask of each resource, where every AND should be."""

    def reachable(resources: Sequence[Iterable[NodeMask]], _all_nodes: NodeMask) -> set[NodeMask]:
        found = {NodeMask(0)}
        for masks in resources:
            found = {NodeMask(one | mask) for one in found for mask in masks}
        return found

    return reachable


def _with_every_topology(inventory_of: Any) -> Any:
    """Lists in which a topology without nodes counts as one."""

    def made(devices: Iterable[Device]) -> Inventory:
        listed = tuple(devices)
        inventory: Inventory = inventory_of(listed)
        return replace(inventory, has_topology=any(device.numa is not None for device in listed))

    return made


def _with_init_containers(message: Any) -> Any:
    def shown(view: PodView) -> Any:
        return message(replace(view, containers=tuple(replace(one, ends=False) for one in view.containers)))

    return shown


def _content_with_the_walk(solve: Any) -> Any:
    def walked(*asked: Any, **options: Any) -> Solution:
        solution: Solution = solve(*asked, **options)
        return replace(solution, chosen=solution.greedy_chosen, cost=solution.greedy)

    return walked


def _without_ties(tie_breaks: Any) -> Any:
    """Instances that others miss as little as any."""
    return lambda builder: {resource: dict.fromkeys(table, 0) for resource, table in tie_breaks(builder).items()}


def _with_entries(keeps: Callable[[str, str], bool]) -> Callable[[Any], Any]:
    """Costs from one resource to another only where a rule wants them."""

    def flipped(of: Any) -> Any:
        def known(costs: NodeCosts, listed: Listed, reported: Reported) -> Any:
            kept = {
                resource: tuple(entry for entry in entries if keeps(resource, entry.to_resource))
                for resource, entries in reported.items()
            }
            return of(costs, listed, kept)

        return known

    return flipped


def _with_unlisted(rule: Unlisted) -> Callable[[Any], Any]:
    def flipped(init: Any) -> Any:
        return lambda costs, node_of, system, _unlisted: init(costs, node_of, system, rule)

    return flipped


def _without_system(init: Any) -> Any:
    return lambda costs, node_of, _system, unlisted: init(costs, node_of, None, unlisted)


def _with_selection_admitted(admits: Callable[[Selection], bool]) -> Callable[[Any], Any]:
    def flipped(select: Any) -> Any:
        def chosen(*asked: Any) -> Selection:
            made: Selection = select(*asked)
            return replace(made, admit=admits(made))

        return chosen

    return flipped


def _from_everything(select: Any) -> Any:
    return lambda selector, pod, container, _within: select(selector, pod, container, None)


# name -> (where the rule stands, its name there, from the rule to a false one)
MUTATIONS: dict[str, tuple[object, str, Callable[[Any], Any]]] = {
    "restricted-admits-always": (policies, "POLICIES", _with_admission("restricted", lambda _: True)),
    "single-numa-node-admits-always": (policies, "POLICIES", _with_admission("single-numa-node", lambda _: True)),
    "best-effort-refuses": (policies, "POLICIES", _with_admission("best-effort", lambda made: made.hint.preferred)),
    "none-aligns": (Manager, "__init__", _taking_none_for_best_effort),
    "single-numa-node-is-restricted": (policies, "POLICIES", _with_rule_of("single-numa-node", "restricted")),
    "preferred-is-ignored": (policies, "filter_hints", _all_preferred),
    "or-for-and": (merge, "reachable", _joined),
    "pod-scope-is-ignored": (scopes, "SCOPES", lambda table: {**table, "pod": table["container"]}),
    "container-scope-is-ignored": (scopes, "SCOPES", lambda table: {**table, "container": table["pod"]}),
    "preferred-allocation-is-ignored": (DeviceManager, "_ask", lambda _: lambda *_asked: ()),
    "preferred-sets-have-any-affinity": (device_choice, "affinities", lambda _: lambda *_asked: frozenset()),
    "preferred-sets-are-asked-for-twice": (PreferredSets, "for_allocation", lambda _: PreferredSets.for_hints),
    "empty-topology-is-one": (device_manager, "inventory_of", _with_every_topology),
    "init-containers-are-listed": (pod_resources, "pod_resources_message", _with_init_containers),
    "cost-takes-the-greedy-walk": (selection, "solve", _content_with_the_walk),
    "cost-breaks-pairs": (_Builder, "_tie_breaks", _without_ties),
    "costs-to-other-resources-are-dropped": (NodeCosts, "of", _with_entries(lambda own, other: own == other)),
    "costs-within-a-resource-are-dropped": (NodeCosts, "of", _with_entries(lambda own, other: own != other)),
    "costs-to-cpus-are-dropped": (NodeCosts, "of", _with_entries(lambda _, other: other != "cpu")),
    "nodes-of-old-plugins-are-dropped": (NodeCosts, "_of_numa_nodes", lambda _: lambda *_asked: iter(())),
    "costs-of-the-system-are-dropped": (NodeCosts, "__init__", _without_system),
    "unlisted-is-nothing": (NodeCosts, "__init__", _with_unlisted("nothing")),
    "unlisted-is-the-farthest": (NodeCosts, "__init__", _with_unlisted("farthest")),
    "cost-has-no-maximum": (CostSelector, "select", _with_selection_admitted(lambda _: True)),
    "cost-refuses-several-nodes": (
        CostSelector,
        "select",
        _with_selection_admitted(lambda made: count(made.nodes) <= 1),
    ),
    "cost-forgets-the-pods-choice": (CostSelector, "select", _from_everything),
    "decisions-are-not-counted": (Measures, "decided", lambda _: lambda *_decided: None),
    **AFFINITY_MUTATIONS,
}
UNCHANGED = "unchanged"


if __name__ == "__main__":
    _, name, path = sys.argv
    if name != UNCHANGED:
        place, attribute, flip = MUTATIONS[name]
        setattr(place, attribute, flip(getattr(place, attribute)))
    serve_commands(path)
