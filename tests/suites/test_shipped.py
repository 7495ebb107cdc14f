"""The scenarios that are shipped: they can be read, cover what they should, and their machines are there."""

from collections import Counter
from itertools import product

import pytest

from numaproof.fake_sysfs import Machine
from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.harness.decision.config import node_config
from numaproof.harness.runtimes.trees import machine_of
from numaproof.harness.scenario.instances import Instance, instances, kubelet_configuration
from numaproof.harness.scenario.parse import parse_scenario
from numaproof.harness.scenario.selection import shipped_scenarios
from numaproof.harness.scenario.sizes import Sizes, sizes_of
from numaproof.harness.scenario.skips import reason_not_to_run
from numaproof.harness.vocabulary import KUBELET_POLICIES, SCOPES

FILES = sorted(shipped_scenarios().glob("*/*.yaml"))
THEMES = {
    "single_numa",
    "multi_numa",
    "documentation",
    "quality_of_service",
    "options",
    "preferred_allocation",
    "lifecycle",
    "complaints",
    "end_to_end",
    "interfaces",
    "views",
    "workload",
    "cost",
    "affinity",
}

# Stories about an oddity that few machines have; each file says which. All others fit whatever has what they need.
OWN_MACHINES = {
    "affinity/cpus-of-two-nodes",
    "affinity/half-of-a-core",
    "affinity/node-without-cpus",
    "complaints/endless-distribution",
    "complaints/offline-cpus",
    "complaints/same-node-other-bridge",
    "complaints/sparse-node-ids-closest",
    "cost/device-near-a-core",
    "cost/dies-of-one-package",
    "cost/gpu-beside-the-card",
    "cost/linked-gpus-of-a-board",
    "cost/memory-without-cpus",
    "cost/neighbouring-sockets",
    "interfaces/allocatable-reserved",
    "multi_numa/memory-without-cpus",
    "options/align-by-socket",
    "options/distribute-across-cores",
    "options/prefer-closest",
    "options/prefer-closest-devices",
    "options/prefer-closest-forced",
    "options/uncore-cache",
}


def sizes_for(instance: Instance, machine: Machine) -> Sizes:
    static = {**instance.scenario.kubelet, **instance.values}.get("memoryManagerPolicy") == "Static"
    return sizes_of(machine, static, instance.scenario.needs.use_numa)


def reason_on(instance: Instance, argument: str) -> str | None:
    """Why an instance is skipped on a machine, worked out without running it."""
    machine = machine_of(argument)
    return reason_not_to_run(instance, machine, sizes_for(instance, machine))


@pytest.fixture(scope="module")
def shipped() -> list[Instance]:
    return [instance for file in FILES for instance in instances(parse_scenario(file))]


def test_every_file_lies_in_a_theme() -> None:
    everywhere = sorted(place for place in shipped_scenarios().rglob("*") if place.is_file())
    assert everywhere == FILES
    assert {file.parent.name for file in FILES} == THEMES


def test_an_id_is_one_instance(shipped: list[Instance]) -> None:
    assert [name for name, times in Counter(instance.id for instance in shipped).items() if times > 1] == []


def test_every_instance_applies_to_its_own_machine(shipped: list[Instance]) -> None:
    """What a scenario needs its machines have: nothing that is shipped is skipped where it was written for."""
    skipped = {instance.id: reason for instance in shipped if (reason := reason_on(instance, instance.argument))}
    assert skipped == {}


def test_few_are_for_their_own_machines_alone() -> None:
    assert {scenario.id for file in FILES if (scenario := parse_scenario(file)).needs.own_machines} == OWN_MACHINES


@pytest.mark.parametrize("machine", ["epyc-7742-nps1", "dgx1-v100", "xeon-6248-snc2"])
def test_they_fit_machines_that_they_were_not_written_for(machine: str) -> None:
    told = [
        instance
        for file in FILES
        if file.parent.name in ("single_numa", "multi_numa", "preferred_allocation", "end_to_end")
        for instance in instances(parse_scenario(file), (machine,))
    ]
    skipped = {instance.id: reason for instance in told if (reason := reason_on(instance, machine))}
    assert len(skipped) * 10 <= len(told), skipped


@pytest.mark.parametrize("policy", KUBELET_POLICIES)
def test_the_test_plan_on_any_machine_of_two_nodes(policy: str) -> None:
    """Guaranteed and other pods with CPUs and devices, by every policy: the Test Plan, Multi-NUMA Systems Tests."""
    story = parse_scenario(shipped_scenarios() / "multi_numa/non-guaranteed.yaml")
    told = [
        one for one in instances(story, ("pack:2 [numa(memory=4GB)] core:4 pu:1",)) if policy in one.values.values()
    ]
    assert {one.values["scope"] for one in told} == set(SCOPES)
    assert [reason_on(one, one.machine) for one in told] == [None] * len(told)


def test_machines_of_every_shape_take_part(shipped: list[Instance]) -> None:
    machines = [machine_of(argument) for argument in {instance.argument for instance in shipped}]
    counts = {len(machine.node_ids) for machine in machines}
    assert {1, 2, 4, 8, 16, 34, 64} <= counts
    assert any(not machine.cpus_of(node) for machine in machines for node in machine.node_ids)
    assert {"dgx-a100", "xeon-6248-snc2"} <= {machine.name for machine in machines}


def test_every_policy_meets_every_scope(shipped: list[Instance]) -> None:
    met = Counter((instance.values.get("policy"), instance.values.get("scope")) for instance in shipped)
    assert all(met[pair] >= 10 for pair in product(KUBELET_POLICIES, SCOPES)), met


def test_every_machine_file_is_used(shipped: list[Instance]) -> None:
    files = set((shipped_scenarios().parent / "machines").glob("*.yaml"))
    assert {str(file) for file in files} <= {instance.argument for instance in shipped}


def test_every_instance_expects_something(shipped: list[Instance]) -> None:
    """With a list of expectations none may fall between them: each admission is judged in every instance, anywhere."""
    elsewhere = [
        instance
        for file in FILES
        if not (scenario := parse_scenario(file)).needs.own_machines
        for instance in instances(scenario, ("elsewhere",))
    ]
    silent = [
        f"{instance.id} {step.where}"
        for instance in [*shipped, *elsewhere]
        for step in instance.scenario.steps
        if step.action.must_expect and not any(expected.admitted is not None for expected in instance.expects(step))
    ]
    assert silent == []


def test_configurations_leave_pods_what_the_sizes_say(shipped: list[Instance]) -> None:
    """The node reads every configuration, and with it each NUMA node in use keeps what `numa.cpus` counts on."""
    for instance in shipped:
        machine = machine_of(instance.argument)
        sizes = sizes_for(instance, machine)
        content = kubelet_configuration(instance, machine, sizes)
        if instance.scenario.refuses is None:
            assert node_config(content).topology_policy == content.get("topologyManagerPolicy", "none"), instance.id
        if "reservedSystemCPUs" not in {**instance.scenario.kubelet, **instance.values}:
            reserved = set(parse_cpulist(content["reservedSystemCPUs"]))
            free = Counter(cpu.node for cpu in machine.cpus if cpu.online and cpu.id not in reserved)
            assert free == dict.fromkeys(sizes.cpu_nodes, sizes.names["numa.cpus"]), instance.id
