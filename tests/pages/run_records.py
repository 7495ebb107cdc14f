"""Runs that nobody ran: records in the shape of real ones, on real machines, of the stories that are shipped."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from itertools import islice

from numaproof.fake_sysfs import Machine
from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.report.matrix import InstanceResult
from numaproof.harness.report.run_report import RunReport
from numaproof.harness.runtimes.trees import machine_of
from numaproof.harness.scenario.instances import Instance, instances
from numaproof.harness.scenario.model import Scenario, Step
from numaproof.harness.scenario.parse import parse_scenario
from numaproof.harness.scenario.record import (
    DecisionRecord,
    DeviceRecord,
    HeldRecord,
    HintRecord,
    InstanceRecord,
    StepRecord,
    WishRecord,
)
from numaproof.harness.scenario.selection import shipped_scenarios
from numaproof.harness.scenario.steps.admit import Admit
from numaproof.harness.scenario.steps.remove import Remove

GIB = 1 << 30
MACHINES = (
    *("xeon-1s", "laptop", "xeon-2s", "xeon-2s-sriov", "xeon-9242", "xeon-6248-snc2", "xeon-4s", "xeon-8s", "gb200"),
    *("epyc-7742-nps1", "epyc-7742-nps4", "dgx1-v100", "dgx2", "dgx-a100", "dgx-h100", "aws-p4d", "xeon-2s-pmem"),
)
CONFIGURATION = """apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
topologyManagerPolicy: {policy}
topologyManagerScope: {scope}
reservedSystemCPUs: "0,1"
"""
STARTED = datetime(2030, 5, 17, 9, 30, tzinfo=UTC)


def run_of(number: int, *, failing: int = 40, skipping: int = 25) -> RunReport:
    """A run of so many instances over 17 machines, of which every so-and-so-many-th fails or is skipped; 0: none."""
    chosen = list(islice(_chosen(), number))
    assert len(chosen) == number
    machines = {instance.machine: _machine(instance.argument) for instance in chosen}
    results = tuple(
        result_of(instance, machines[instance.machine], _outcome(place, failing, skipping))
        for place, instance in enumerate(chosen)
    )
    command = "numaproof run --runtime process --out out"
    return RunReport(results, "process", "9.9.9", STARTED, number * 0.083, command, machines)


def _outcome(place: int, failing: int, skipping: int) -> str:
    if failing and place % failing == failing // 2:
        return "failed"
    return "skipped" if skipping and place % skipping == skipping // 3 else "passed"


def _chosen() -> Iterator[Instance]:
    """Instances of all stories in turn, each on the machine that had the fewest so far."""
    found = [list(instances(scenario, MACHINES)) for scenario in _scenarios()]
    load: Counter[str] = Counter()
    while any(found):
        for rest in filter(None, found):
            least = min(rest, key=lambda one: load[one.machine])
            rest.remove(least)
            load[least.machine] += 1
            yield least


@cache
def _scenarios() -> list[Scenario]:
    return [parse_scenario(path) for path in sorted(shipped_scenarios().rglob("*.yaml"))]


@cache
def _machine(argument: str) -> Machine:
    return machine_of(argument)


def result_of(instance: Instance, machine: Machine, outcome: str) -> InstanceResult:
    """How an instance ended, as it might have."""
    scenario = instance.scenario
    words = {"id": instance.id, "machine": instance.machine, "theme": scenario.theme, **instance.values}
    differences = ("steps[0]: aligned: expected container, seen CPUs on NUMA nodes 0,1",) if outcome == "failed" else ()
    record = None if outcome == "skipped" else record_of(instance, machine, differences)
    return InstanceResult(
        words,
        outcome,
        0.4,
        "it needs 2 NUMA nodes with CPUs, and this machine has 1" if outcome == "skipped" else "",
        scenario.name,
        scenario.why,
        scenario.source,
        f"suites/scenarios/{scenario.id}.yaml",
        differences,
        record,
    )


def record_of(instance: Instance, machine: Machine, differences: tuple[str, ...]) -> InstanceRecord:
    """The steps of a story, each pod beside the one before it."""
    devices = tuple(
        DeviceRecord(plugin.resource, f"{plugin.resource.rpartition('/')[2]}-{node}-{place}", (node,))
        for plugin in instance.scenario.plugins
        for node in machine.node_ids[:16]
        for place in range(2)
    )
    held: dict[str, HeldRecord] = {}
    steps = []
    for number, step in enumerate(instance.scenario.steps):
        steps.append(_step(instance, machine, number, step, devices, held, differences if number == 0 else ()))
    log = tuple(f"I0517 09:30:00.{line:06} manager.go:{line}] node: {instance.id}: line {line}" for line in range(60))
    return InstanceRecord(
        tuple(steps),
        "0-1",
        {machine.node_ids[0]: GIB},
        CONFIGURATION.format(
            policy=instance.values.get("policy", "none"), scope=instance.values.get("scope", "container")
        ),
        log,
        devices,
    )


def _step(
    instance: Instance,
    machine: Machine,
    number: int,
    step: Step,
    devices: tuple[DeviceRecord, ...],
    held: dict[str, HeldRecord],
    differences: tuple[str, ...],
) -> StepRecord:
    action, line = step.action, 20 + 6 * number
    if not isinstance(action, Admit):
        if isinstance(action, Remove):
            held.pop(action.pod, None)
        told = action.name
        return StepRecord(number, line, told, "done", held=tuple(held.values()), devices=devices)
    pod = action.pod
    refused = any(one.reason or one.admitted is False for one in instance.expects(step))
    resources = ["cpu", *sorted(pod.resources)]
    if not refused:
        held[pod.name] = _held(pod.name, machine, number, devices)
    nodes = machine.node_ids
    return StepRecord(
        number,
        line,
        f"admit {pod.name}: {', '.join(f'{name} 2 CPUs, {len(pod.resources)} devices' for name in pod.containers)}",
        "refused" if refused else "admitted",
        "TopologyAffinityError" if refused else "",
        "Resources cannot be allocated with Topology locality" if refused else "",
        ("admitted", "aligned: each container on one NUMA node"),
        tuple(_decision(name, resources, nodes, refused) for name in pod.containers),
        {} if refused else dict.fromkeys(pod.containers, f"CPUs {held[pod.name].cpus} of NUMA node {nodes[0]}"),
        ("no NUMA node has 2 CPUs and the device", "with policy best-effort it would be admitted") if refused else (),
        {} if refused else {resource: {"Allocate": 1} for resource in sorted(pod.resources)},
        tuple(held.values()),
        devices,
        differences,
    )


def _decision(container: str, resources: list[str], nodes: tuple[int, ...], refused: bool) -> DecisionRecord:
    hints = (*(HintRecord((node,), True) for node in nodes[:8]), HintRecord(tuple(nodes[:2]), False))
    wishes = tuple(WishRecord(resource, hints, more=max(len(nodes) - 8, 0)) for resource in resources)
    return DecisionRecord(container, wishes, HintRecord(tuple(nodes[:1]), not refused), not refused)


def _held(pod: str, machine: Machine, number: int, devices: tuple[DeviceRecord, ...]) -> HeldRecord:
    cpus = sorted(cpu.id for cpu in machine.cpus if cpu.online)
    first = (2 + 4 * number) % max(len(cpus) - 4, 1)
    memory: Mapping[int, int] = {machine.node_ids[0]: 2 * GIB}
    mine = tuple(one.id for one in devices[number % 3 : number % 3 + 1])
    return HeldRecord(pod, format_cpulist(cpus[first : first + 4]), memory, mine)
