"""Runs a scenario's steps on a rig and judges each; the answer is every difference that was seen."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from numaproof.fake_sysfs import Machine
from numaproof.harness.errors import UserError
from numaproof.harness.scenario.instances import Instance
from numaproof.harness.scenario.judge import differences
from numaproof.harness.scenario.model import ContainerWords, Expected, Step
from numaproof.harness.scenario.outcome import Calls, Given, Outcome, Seen
from numaproof.harness.scenario.pods import manifest
from numaproof.harness.scenario.rig import Rig, RigFailedError
from numaproof.harness.scenario.sizes import Sizes


def drive(instance: Instance, machine: Machine, sizes: Sizes, rig: Rig) -> list[str]:
    """Every difference between what a scenario expects and what a rig shows, in the order of the steps."""
    node_of_cpu = {cpu.id: cpu.node for cpu in machine.cpus}
    pods: dict[str, Outcome] = {}
    found: list[str] = []
    for step in instance.scenario.steps:
        before = rig.plugins.calls()
        expected = instance.expects(step)
        try:
            outcome = _act(step, rig, sizes, machine, pods)
        except RigFailedError as error:
            return found + _refusal(expected, step.place, error)
        if step.action == "look":
            found += [f"{step.place}: {text}" for text in rig.surroundings.look()]
        if step.action == "start":
            found += [f"{step.place}: {text}" for text in rig.surroundings.start(step.what)]
        seen = _seen(rig, outcome, before, expected)
        wrong = [text for one in expected for text in differences(one, seen, sizes, node_of_cpu, step.place)]
        if wrong and step.action == "admit":
            wrong += [f"the node: {text}" for text in rig.node.explain(manifest(step.what, sizes, step.place))]
        found += wrong
        found += [f"{step.place}: {text}" for text in _invariants(rig, pods)]
    return found


def _refusal(expected: Iterable[Expected], place: str, error: RigFailedError) -> list[str]:
    """How a node that did not start again differs from what was expected; an error where nobody expected that."""
    texts = [one.refuses for one in expected if one.refuses is not None]
    if not texts:
        raise error
    return [
        f"{place}: expected a refusal to start with {text!r}, was: {error}" for text in texts if text not in str(error)
    ]


def _act(step: Step, rig: Rig, sizes: Sizes, machine: Machine, pods: dict[str, Outcome]) -> Outcome:
    """Do one step; the outcome is the pod's for admit, and all pods' together for the rest."""
    what = step.what
    match step.action:
        case "admit":
            outcome = rig.node.admit(manifest(what, sizes, step.place))
            if outcome.admitted:
                pods[what["name"]] = _without_ended(outcome, what["containers"])
            return outcome
        case "remove":
            rig.node.remove(what)
            pods.pop(what, None)
        case "restart" if what == "node":
            rig.node.restart()
        case "restart":
            rig.plugins.restart(what)
        case "stop":
            rig.plugins.stop(what)
        case "lose":
            rig.node.lose_device_checkpoint()
        case "health":
            rig.plugins.set_health(what["resource"], what["ids"], what["healthy"])
        case "offline":
            here = [cpu.id for cpu in machine.cpus if cpu.online and cpu.node == sizes.node(int(what))]
            if not here:
                raise UserError(f"{step.place}.offline: NUMA node {what} of {machine.name} has no CPUs")
            rig.surroundings.offline(max(here))
    held = {f"{pod}/{name}": given for pod, outcome in pods.items() for name, given in outcome.containers.items()}
    return Outcome(True, containers=held)


def _without_ended(outcome: Outcome, containers: Iterable[ContainerWords]) -> Outcome:
    """What a pod must keep: an init container has ended when the others start, and what it had may go elsewhere."""
    lasting = {one.name for one in containers if one.kind != "init"}
    return replace(outcome, containers={name: given for name, given in outcome.containers.items() if name in lasting})


def _seen(rig: Rig, outcome: Outcome, before: Calls, expected: Iterable[Expected]) -> Seen:
    """What a step led to, as far as its expectations speak of it."""
    named = {pod for one in expected for pod in one.listed}
    got = {pod: rig.node.pod_resources_of(pod) for pod in named}
    return Seen(
        outcome,
        _since(before, rig.plugins.calls()),
        rig.node.metrics() if any(one.metrics for one in expected) else {},
        {pod: None if containers is None else tuple(containers) for pod, containers in got.items()},
        rig.node.allocatable() if any(one.allocatable for one in expected) else Given(),
    )


def _since(before: Calls, after: Calls) -> Calls:
    return {
        resource: {call: times - before.get(resource, {}).get(call, 0) for call, times in calls.items()}
        for resource, calls in after.items()
    }


def _invariants(rig: Rig, pods: Mapping[str, Outcome]) -> list[str]:
    """What must hold after every step of every scenario: pods keep what they got, and nothing is given twice.

    And PodResources, which monitoring believes, tells the same of every pod.
    """
    wrong = []
    held = rig.node.assignments()
    if sorted(held) != sorted(pods):
        wrong.append(f"the node holds the pods {sorted(held)}, admitted were {sorted(pods)}")
    owner: dict[tuple[str, str], str] = {}
    for pod, containers in held.items():
        lasting = pods[pod].containers if pod in pods else {}
        now = {name: given for name, given in containers.items() if name in lasting}
        if now != dict(lasting):
            wrong.append(f"{pod} was given {dict(lasting)}, and now has {now}")
        for thing in {thing for given in containers.values() for thing in _things(given)}:
            if owner.setdefault(thing, pod) != pod:
                wrong.append(f"{' '.join(thing)} belongs to both {owner[thing]} and {pod}")
    return wrong + _untold(rig, pods)


def _untold(rig: Rig, pods: Mapping[str, Outcome]) -> list[str]:
    """How what PodResources tells differs from what was admitted; init containers that have ended are not shown."""
    wrong = []
    listed = rig.node.pod_resources()
    for pod in sorted({*listed, *pods}):
        told = listed.get(pod)
        admitted = {name: _shown(given) for name, given in pods[pod].containers.items()} if pod in pods else None
        if told != admitted:
            wrong.append(f"PodResources lists {told} for {pod}, admitted was {admitted}")
        if told != rig.node.pod_resources_of(pod):
            wrong.append(f"PodResources lists {told} for {pod}, and gets {rig.node.pod_resources_of(pod)}")
    return wrong


def _shown(given: Given) -> Given:
    """What PodResources shows of a container: all but devices whose topology has no nodes, as in the kubelet."""
    devices = {
        resource: {device: nodes for device, nodes in held.items() if nodes != ()}
        for resource, held in given.devices.items()
    }
    return replace(given, devices={resource: held for resource, held in devices.items() if held})


def _things(given: Given) -> Iterator[tuple[str, str]]:
    """What only one pod may hold."""
    yield from (("CPU", str(cpu)) for cpu in given.cpus)
    yield from ((resource, device) for resource, devices in given.devices.items() for device in devices)
