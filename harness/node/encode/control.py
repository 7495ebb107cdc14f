"""Decisions, pods and devices as messages of the control service."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from heapq import nlargest
from itertools import islice
from typing import Any

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.cost.pairs import pairs
from numaproof.harness.decision.selection import Account
from numaproof.harness.decision.trace import Trace
from numaproof.harness.explain.blame import Blame
from numaproof.harness.explain.explanation import Explanation as Told
from numaproof.harness.explain.reasons import why
from numaproof.harness.node.plugins import PluginView
from numaproof.harness.node.snapshot import Admission, BindingView, ContainerView, Explanation, NodeSnapshot, PodView
from numaproof.harness.pods.qos import qos_class
from numaproof.harness.providers.devices import Device
from numaproof.harness.topology.bitmask import ids_of, masks_over
from numaproof.harness.topology.hints import HintFamily, TopologyHint
from numaproof.harness.topology.placement import Step
from numaproof.harness.topology.verdict import Verdict

# Over many nodes there are more hints than anybody can read: so many of the smallest sets of nodes are looked at.
LISTED_MASKS = 4096
LISTED_PAIRS = 1000  # of a selection: two of a hundred CPUs are 4950 pairs


def verdict_message(verdict: Verdict) -> api.Verdict:
    """The answer about a pod."""
    return api.Verdict(admitted=verdict.admitted, reason=verdict.reason, message=verdict.message)


def hint_message(hint: TopologyHint) -> api.Hint:
    """A hint; without nodes where any will do."""
    if hint.affinity is None:
        return api.Hint(preferred=hint.preferred)
    return api.Hint(affinity=api.NodeSet(nodes=ids_of(hint.affinity)), preferred=hint.preferred)


def device_message(device: Device) -> api.Device:
    """A device as its plugin lists it."""
    topology = None if device.numa is None else api.NodeSet(nodes=device.numa)
    return api.Device(id=device.id, healthy=device.healthy, topology=topology)


def pod_message(view: PodView) -> api.Pod:
    """A pod, with all that it was given."""
    return api.Pod(
        uid=view.pod.uid,
        namespace=view.pod.namespace,
        name=view.pod.name,
        qos_class=qos_class(view.pod),
        containers=[_container_message(container) for container in view.containers],
        binding=None if view.binding is None else _binding_message(view.binding),
    )


def _binding_message(binding: BindingView) -> api.Binding:
    return api.Binding(
        numa_node_id="" if binding.numa_node_id is None else str(binding.numa_node_id),
        cpu_affinity=format_cpulist(binding.cpu_affinity or ()),
        cpuset_cpus=sorted(binding.cpus),
        cpuset_mems=binding.memory_nodes,
    )


def _container_message(view: ContainerView) -> api.Container:
    given = view.given
    return api.Container(
        name=view.name,
        init=view.init,
        restartable=view.container.restartable,
        affinity=hint_message(given.affinity),
        cpus=sorted(given.cpus),
        memory=[api.MemoryBlock(resource=block.resource, size=block.size, nodes=block.nodes) for block in given.memory],
        devices=[
            api.ResourceDevices(resource=resource, devices=map(device_message, devices))
            for resource, devices in sorted(given.devices.items())
        ],
        response=view.response,
    )


def admission_message(admission: Admission) -> api.AdmitResponse:
    """The answer about a pod, and what it was given."""
    return api.AdmitResponse(
        verdict=verdict_message(admission.verdict),
        pod=pod_message(admission.pod),
        cost=_cost_message(admission.trace) if admission.trace and admission.verdict.admitted else None,
    )


def _cost_message(trace: Trace) -> api.ChosenCost | None:
    accounts = [account for step in trace.steps if (account := _account(step)) is not None]
    if not accounts:
        return None
    return api.ChosenCost(
        cost=float(sum(account.solution.cost for account in accounts)),
        optimal=all(account.solution.optimal for account in accounts),
    )


def explain_message(explanation: Explanation) -> api.ExplainResponse:
    """How a pod would be decided about."""
    trace = explanation.trace
    return api.ExplainResponse(
        verdict=verdict_message(trace.verdict),
        policy=trace.policy,
        scope=trace.scope,
        decisions=map(_step_message, trace.steps),
        pod=pod_message(explanation.pod),
        failure=None if trace.failure is None else api.Failure(**asdict(trace.failure)),
        shortage=None if trace.shortage is None else api.Shortage(**asdict(trace.shortage)),
        **_told(explanation.told),
    )


def _told(told: Told | None) -> dict[str, Any]:
    """Why, and what would help."""
    if told is None:
        return {}
    blame = told.blame
    return {
        "blame": None if blame is None else _blame_message(blame),
        "why": why(told),
        "remedies": [
            api.Remedy(
                change=one.change.text,
                apply=json.dumps(one.change.apply),
                verdict=verdict_message(one.trace.verdict),
            )
            for one in told.remedies
        ],
        "matrix": [
            api.PolicyVerdict(
                policy=cell.policy,
                scope=cell.scope,
                verdict=None if cell.trace is None else verdict_message(cell.trace.verdict),
            )
            for cell in told.matrix
        ],
    }


def _blame_message(blame: Blame) -> api.Blame:
    stock = blame.stock
    return api.Blame(
        what=blame.what,
        cause=blame.cause,
        resource=blame.resource,
        container=blame.container,
        wanted=stock.wanted if stock else 0,
        free=stock.free if stock else {},
        others=blame.others,
    )


def _step_message(step: Step) -> api.Decision:
    return api.Decision(
        container=step.container,
        providers=[
            api.ProviderHints(
                provider=name,
                resources=[
                    api.ResourceHints(
                        resource=resource, no_preference=found is None, hints=map(hint_message, _listed(found))
                    )
                    for resource, found in sorted(hints.items())
                ],
            )
            for name, hints in step.hints.items()
        ],
        merged=hint_message(step.decision.hint),
        admitted=step.decision.admit,
        rule=step.decision.rule,
        selection=_selection_message(account) if (account := _account(step)) is not None else None,
    )


def _account(step: Step) -> Account | None:
    account = step.selection.account if step.selection else None
    return account if isinstance(account, Account) else None


def _selection_message(account: Account) -> api.Selection:
    solution = account.solution
    everything = list(pairs(account.costs, solution.chosen))
    dearest = nlargest(LISTED_PAIRS, everything, key=lambda pair: pair.cost)
    return api.Selection(
        layers=[
            api.SelectionLayer(
                resource=resource,
                wanted=account.request[resource],
                offered=len(account.available[resource]),
                chosen=chosen,
            )
            for resource, chosen in solution.chosen.items()
        ],
        cost=float(solution.cost),
        raw_cost=float(solution.raw_cost),
        bound=float(solution.bound),
        optimal=solution.optimal,
        greedy=float(solution.greedy),
        annealed=None if solution.annealed is None else float(solution.annealed),
        seed=solution.seed,
        maximum=None if account.maximum is None else float(account.maximum),
        pairs=[
            api.SelectionPair(
                one=str(pair.one),
                other=str(pair.other),
                there=float(pair.there),
                back=float(pair.back),
                cost=float(pair.cost),
            )
            for pair in dearest
        ],
        pairs_left_out=len(everything) - len(dearest),
        unlisted=account.costs.unlisted,
        unlisted_decided=account.unlisted_decided(),
    )


def _listed(hints: Sequence[TopologyHint] | HintFamily | None) -> list[TopologyHint]:
    if not isinstance(hints, HintFamily):
        return list(hints or ())
    masks = islice(masks_over(ids_of(hints.nodes)), LISTED_MASKS)
    return [*hints.also, *(TopologyHint(mask, hints.prefers(mask)) for mask in masks if hints.accepts(mask))]


def state_message(
    snapshot: NodeSnapshot, plugins: Iterable[PluginView], reserved_cpus: frozenset[int], last_event: int
) -> api.StateResponse:
    """All pods, plugins and what is free."""
    return api.StateResponse(
        pods=map(pod_message, snapshot.pods),
        shared_cpus=sorted(snapshot.shared_cpus),
        reserved_cpus=sorted(reserved_cpus),
        free_cpus=sorted(snapshot.free_cpus),
        memory=[
            api.NodeMemory(node=node, resource=resource, allocatable=table.allocatable, free=table.free)
            for node, state in sorted(snapshot.memory.items())
            for resource, table in sorted(state.tables.items())
        ],
        plugins=[
            api.Plugin(
                resource=plugin.resource,
                endpoint=plugin.endpoint,
                connected=plugin.connected,
                options=plugin.options,
                preferred_sets=plugin.plural,
                # The lists that admission knows: the hub has a new one a moment earlier.
                devices=map(device_message, snapshot.devices.get(plugin.resource, ())),
                allocated=sorted(snapshot.held.get(plugin.resource, ())),
            )
            for plugin in plugins
        ],
        last_event=last_event,
        pending=map(pod_message, snapshot.pending),
    )
