"""Runs a scenario's steps on a rig and judges each; the answer is every difference that was seen."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from numaproof.fake_sysfs import Machine
from numaproof.fake_sysfs.pci_places import places
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.scenario.binding import OFFER
from numaproof.harness.scenario.expected_told import expected_told
from numaproof.harness.scenario.instances import Instance
from numaproof.harness.scenario.judge import differences, told_refusal
from numaproof.harness.scenario.model import Expected
from numaproof.harness.scenario.outcome import Outcome, Seen
from numaproof.harness.scenario.record import FROM_NODE, Calls, StepRecord
from numaproof.harness.scenario.recording import Recording, held_records
from numaproof.harness.scenario.rig import Rig, RigFailedError
from numaproof.harness.scenario.sizes import Sizes
from numaproof.harness.scenario.steps.action import Action, Story
from numaproof.harness.scenario.told import confined_told, given_told


def drive(instance: Instance, machine: Machine, sizes: Sizes, rig: Rig, recording: Recording) -> list[str]:
    """Every difference between what a scenario expects and what a rig shows, in the order of the steps.

    Every step is written down, also the one at which the instance breaks off.
    """
    node_of_cpu = {cpu.id: cpu.node for cpu in machine.cpus}
    pci_places = places(machine)
    story = Story(rig, machine, sizes)
    found: list[str] = []
    recording.devices = rig.plugins.devices()
    for number, step in enumerate(instance.scenario.steps):
        before = rig.plugins.calls()
        expected = instance.expects(step)
        begun = StepRecord(number, step.line, step.action.told(story, step.where), "failed")
        begun = replace(begun, expected=tuple(_told(expected, sizes, step.where)))
        wrong: list[str] = []
        try:
            try:
                done = step.action.act(story, step.where)
            except RigFailedError as error:
                wrong += _refusal(expected, step.where, error)
                recording.steps.append(replace(begun, verdict="refused", message=str(error), differences=tuple(wrong)))
                return found + wrong
            wrong += [f"{step.where}: {text}" for text in done.wrong]
            seen = _seen(rig, done.outcome, before, expected)
            unlike = [
                text for one in expected for text in differences(one, seen, sizes, node_of_cpu, pci_places, step.where)
            ]
            may_be_refused = step.action.must_expect or any(one.admitted is not None for one in expected)
            if not done.outcome.admitted and not may_be_refused:
                unlike.append(f"{step.where}: was {told_refusal(done.outcome)}, which no expectation says")
            why = step.action.explain(story, step.where) if unlike else []
            wrong += [*unlike, *(f"{FROM_NODE}{text}" for text in why)]
            held = rig.node.assignments()
            wrong += [f"{step.where}: {text}" for text in _invariants(rig, story, held)]
        except Exception as error:
            recording.steps.append(replace(begun, message=str(error), differences=(*wrong, str(error))))
            raise
        ended = _ended(begun, step.action, seen)
        devices = rig.plugins.devices()
        recording.steps.append(
            replace(ended, why=tuple(why), held=held_records(held), devices=devices, differences=tuple(wrong))
        )
        found += wrong
    return found


def _told(expected: Iterable[Expected], sizes: Sizes, where: str) -> Iterator[str]:
    return (text for one in expected for text in expected_told(one, sizes, where))


def _ended(begun: StepRecord, action: Action, seen: Seen) -> StepRecord:
    """A step with what came of it."""
    outcome = seen.outcome
    verdict = "waiting" if outcome.waits else "admitted" if outcome.admitted else "refused"
    given = {}
    if action.about is None:
        verdict = "done" if outcome.admitted else verdict
    else:
        given = {name: given_told(one) for name, one in outcome.containers.items()}
        given |= {} if outcome.confined is None else {"all of them": confined_told(outcome.confined)}
    calls = {resource: {call: times for call, times in made.items() if times} for resource, made in seen.calls.items()}
    return replace(
        begun,
        verdict=verdict,
        reason=outcome.reason,
        message=f"evicted: {', '.join(outcome.evicted)}" if outcome.evicted else outcome.message,
        decisions=outcome.decided,
        given=given,
        calls={resource: made for resource, made in calls.items() if made},
    )


def _refusal(expected: Iterable[Expected], where: str, error: RigFailedError) -> list[str]:
    """How a node that did not start again differs from what was expected; an error where nobody expected that."""
    texts = [one.refuses for one in expected if one.refuses is not None]
    if not texts:
        raise error
    return [
        f"{where}: expected a refusal to start with {text!r}, was: {error}" for text in texts if text not in str(error)
    ]


def _seen(rig: Rig, outcome: Outcome, before: Calls, expected: Iterable[Expected]) -> Seen:
    """What a step led to, as far as its expectations speak of it."""
    named = {pod for one in expected for pod in one.listed}
    got = {pod: rig.node.pod_resources_of(pod) for pod in named}
    return Seen(
        outcome,
        _since(before, rig.plugins.calls()),
        rig.node.metrics() if any(one.metrics for one in expected) else {},
        {pod: None if containers is None else tuple(containers) for pod, containers in got.items()},
        rig.node.allocatable() if any(one.allocatable for one in expected) else Assignment(),
        tuple(rig.node.pending()) if any(one.pending is not None for one in expected) else (),
    )


def _since(before: Calls, after: Calls) -> Calls:
    return {
        resource: {call: times - before.get(resource, {}).get(call, 0) for call, times in calls.items()}
        for resource, calls in after.items()
    }


def _invariants(rig: Rig, story: Story, held: Mapping[str, Mapping[str, Assignment]]) -> list[str]:
    """What must hold after every step of every scenario: pods keep what they got, and nothing is given twice.

    And PodResources, which monitoring believes, tells the same of every pod; those that wait are in neither.
    """
    pods = story.pods
    wrong = _unlike_waiting(rig, story.waiting) if OFFER in rig.node.offers else []
    if sorted(held) != sorted(pods):
        wrong.append(f"the node holds the pods {sorted(held)}, admitted were {sorted(pods)}")
    owner: dict[tuple[str, str], str] = {}
    for pod, containers in held.items():
        lasting = pods[pod].containers if pod in pods else {}
        now = {name: given for name, given in containers.items() if name in lasting}
        if now != dict(lasting):
            wrong.append(f"{pod} was given {dict(lasting)}, and now has {now}")
        cgroup = pods[pod].confined if pod in pods else None
        outside = {name: given for name, given in now.items() if cgroup is not None and not given.cpus <= cgroup.cpus}
        if outside:
            wrong.append(f"{pod} is confined to {cgroup}, and has {outside}")
        for thing in {thing for given in containers.values() for thing in _things(given)}:
            if owner.setdefault(thing, pod) != pod:
                wrong.append(f"{' '.join(thing)} belongs to both {owner[thing]} and {pod}")
    return wrong + _untold(rig, pods)


def _unlike_waiting(rig: Rig, waiting: Collection[str]) -> list[str]:
    """How the pods that wait at the node differ from those that should, and what they hold, which is nothing."""
    wrong = []
    pending = rig.node.pending()
    if sorted(pending) != sorted(waiting):
        wrong.append(f"the pods {sorted(pending)} wait at the node, told to were {sorted(waiting)}")
    for pod, containers in pending.items():
        held = {name: given for name, given in containers.items() if given != Assignment()}
        if held:
            wrong.append(f"{pod} waits, and holds {held}")
        if (told := rig.node.pod_resources_of(pod)) is not None:
            wrong.append(f"{pod} waits, and PodResources gets {told}")
    return wrong


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


def _shown(given: Assignment) -> Assignment:
    """What PodResources shows of a container: all but devices whose topology has no nodes, as in the kubelet."""
    devices = {resource: tuple(one for one in held if one.numa != ()) for resource, held in given.devices.items()}
    return replace(given, devices={resource: held for resource, held in devices.items() if held})


def _things(given: Assignment) -> Iterator[tuple[str, str]]:
    """What only one pod may hold."""
    yield from (("CPU", str(cpu)) for cpu in given.cpus)
    yield from ((resource, one.id) for resource, devices in given.devices.items() for one in devices)
