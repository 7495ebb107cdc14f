"""The scenarios that are shipped: they can be read, cover what they should, and their machines are there."""

from collections import Counter
from itertools import product

import pytest

from numaproof.harness.runtimes.trees import machine_of
from numaproof.harness.scenario.instances import Instance, instances, kubelet_configuration
from numaproof.harness.scenario.parse import parse_scenario
from numaproof.harness.scenario.selection import shipped_scenarios
from numaproof.harness.scenario.sizes import sizes_of
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
}


@pytest.fixture(scope="module")
def shipped() -> list[Instance]:
    return [instance for file in FILES for instance in instances(parse_scenario(file))]


def test_every_file_lies_in_a_theme() -> None:
    everywhere = sorted(place for place in shipped_scenarios().rglob("*") if place.is_file())
    assert everywhere == FILES
    assert {file.parent.name for file in FILES} == THEMES


def test_there_are_enough_of_them(shipped: list[Instance]) -> None:
    assert len(shipped) >= 300
    assert len({instance.machine for instance in shipped}) >= 8
    assert len({instance.id for instance in shipped}) == len(shipped)


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
    """With a list of expectations none may fall between them: each admission is judged in every instance."""
    silent = [
        f"{instance.id} {step.where}"
        for instance in shipped
        for step in instance.scenario.steps
        if step.action.must_expect
        and not any(expected.admitted is not None and instance.meets(expected.when) for expected in step.expected)
    ]
    assert silent == []


def test_configurations_can_be_made_for_all(shipped: list[Instance]) -> None:
    """Every instance applies to its machine as far as sizes go: reservations leave CPUs on each NUMA node."""
    for instance in shipped:
        machine = machine_of(instance.argument)
        sizes = sizes_of(machine, instance.scenario.kubelet.get("memoryManagerPolicy") == "Static")
        assert sizes.names["numa.cpus"] >= instance.scenario.needs.numa_cpus, instance.id
        assert kubelet_configuration(instance, machine, sizes)["kind"] == "KubeletConfiguration"
