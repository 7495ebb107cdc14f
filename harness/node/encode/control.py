"""Decisions, pods and devices as messages of the control service."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.decision.trace import Trace
from numaproof.harness.explain.blame import Blame
from numaproof.harness.explain.explanation import Explanation as Told
from numaproof.harness.explain.reasons import why
from numaproof.harness.node.encode.decisions import account_of, decision_message, hint_message, short_decision_message
from numaproof.harness.node.plugins import PluginView
from numaproof.harness.node.snapshot import Admission, BindingView, ContainerView, Explanation, NodeSnapshot, PodView
from numaproof.harness.pods.qos import qos_class
from numaproof.harness.providers.devices import Device
from numaproof.harness.topology.verdict import Verdict


def verdict_message(verdict: Verdict) -> api.Verdict:
    """The answer about a pod."""
    return api.Verdict(admitted=verdict.admitted, reason=verdict.reason, message=verdict.message)


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


def admission_message(admission: Admission, *, traced: bool) -> api.AdmitResponse:
    """The answer about a pod, what it was given, and if that is wanted, how it was decided."""
    return api.AdmitResponse(
        verdict=verdict_message(admission.verdict),
        pod=pod_message(admission.pod),
        cost=_cost_message(admission.trace) if admission.trace and admission.verdict.admitted else None,
        decisions=_decisions(admission) if traced else (),
    )


def bind_message(admission: Admission, *, traced: bool) -> api.BindResponse:
    """The answer to who binds a pod."""
    return api.BindResponse(
        verdict=verdict_message(admission.verdict),
        pod=pod_message(admission.pod),
        decisions=_decisions(admission) if traced else (),
    )


def _decisions(admission: Admission) -> Iterable[api.Decision]:
    return map(short_decision_message, admission.trace.steps) if admission.trace else ()


def _cost_message(trace: Trace) -> api.ChosenCost | None:
    accounts = [account for step in trace.steps if (account := account_of(step)) is not None]
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
        decisions=map(decision_message, trace.steps),
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
