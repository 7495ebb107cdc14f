"""The suites notice when a rule of the node under test is false: every rule flipped is caught by a scenario."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from numaproof.harness.rig.session import Session
from numaproof.harness.scenario.instances import Instance, instances
from numaproof.harness.scenario.parse import parse_scenario
from numaproof.harness.scenario.selection import shipped_scenarios
from tests.places import short_directory
from tests.suites.mutant import MUTATIONS, UNCHANGED

# mutation -> an instance that must catch it
CATCHES = {
    "restricted-admits-always": "multi_numa/more-than-free[xeon-2s-restricted-container]",
    "single-numa-node-admits-always": "multi_numa/more-than-free[xeon-2s-single-numa-node-pod]",
    "best-effort-refuses": "multi_numa/more-than-free[xeon-2s-best-effort-container]",
    "none-aligns": "documentation/example-guaranteed[xeon-2s-none-container]",
    "single-numa-node-is-restricted": "multi_numa/more-than-a-node[xeon-2s-single-numa-node-container]",
    "preferred-is-ignored": "multi_numa/more-than-free[xeon-2s-restricted-pod]",
    "or-for-and": "multi_numa/memory-without-cpus[xeon-2s-pmem-best-effort-container]",
    "pod-scope-is-ignored": "multi_numa/scopes-differ[xeon-2s-restricted-pod]",
    "container-scope-is-ignored": "multi_numa/scopes-differ[xeon-2s-restricted-container]",
    "preferred-allocation-is-ignored": "preferred_allocation/only-preferred[dgx1-v100-none]",
    "preferred-sets-have-any-affinity": "preferred_allocation/plural-spans[xeon-2s-restricted-container]",
    "preferred-sets-are-asked-for-twice": "preferred_allocation/plural-both[dgx1-v100-restricted-pod]",
    "empty-topology-is-one": "complaints/empty-topology[xeon-2s-restricted-container]",
    "init-containers-are-listed": "quality_of_service/init-and-sidecar[xeon-2s-restricted-container]",
    "cost-takes-the-greedy-walk": "cost/pipeline[xeon-2s-cost-container]",
    "cost-breaks-pairs": "cost/singles-leave-pairs[xeon-1s-cost-pod]",
    "costs-to-other-resources-are-dropped": "cost/gpu-beside-the-card[xeon-2s-bridges-cost-container]",
    "costs-within-a-resource-are-dropped": "cost/tiles[xeon-1s-cost-container]",
    "costs-to-cpus-are-dropped": "cost/device-near-a-core[xeon-2s-cost-pod]",
    "nodes-of-old-plugins-are-dropped": "cost/old-and-new-plugins[xeon-2s-cost-container]",
    "costs-of-the-system-are-dropped": "cost/memory-of-the-near-node[gb200-cost-pod]",
    "unlisted-is-nothing": "cost/unlisted-farthest[xeon-2s-cost-container]",
    "unlisted-is-the-farthest": "cost/unlisted-nothing[xeon-2s-cost-container]",
    "cost-has-no-maximum": "cost/maximum[xeon-1s-cost-pod]",
    "cost-refuses-several-nodes": "cost/counts-suffice[xeon-2s-cost-container]",
    "cost-forgets-the-pods-choice": "cost/scopes[xeon-2s-cost-pod]",
    "decisions-are-not-counted": "interfaces/metrics-topology[xeon-2s-restricted-container]",
}
ELSEWHERE = "epyc-7742-nps1"  # none of these names it in its matrix
# mutation -> an instance that must catch it on a machine that it was not written for
CATCHES_ELSEWHERE = {
    "restricted-admits-always": "end_to_end/two-pods[epyc-7742-nps1-restricted-container]",
    "single-numa-node-admits-always": "multi_numa/gpus-of-two-nodes[epyc-7742-nps1-single-numa-node-container]",
    "best-effort-refuses": "multi_numa/two-kinds-of-devices[epyc-7742-nps1-best-effort-pod]",
    "none-aligns": "multi_numa/non-guaranteed[epyc-7742-nps1-none-container]",
    "pod-scope-is-ignored": "end_to_end/large-init[epyc-7742-nps1-restricted-pod]",
    "container-scope-is-ignored": "end_to_end/large-init[epyc-7742-nps1-restricted-container]",
    "preferred-allocation-is-ignored": "preferred_allocation/both[epyc-7742-nps1-restricted-container]",
    "cost-takes-the-greedy-walk": "cost/pipeline[epyc-7742-nps1-cost-pod]",
    "cost-breaks-pairs": "cost/singles-leave-pairs[epyc-7742-nps1-cost-container]",
    "costs-of-the-system-are-dropped": "cost/memory-of-the-near-node[epyc-7742-nps1-cost-container]",
}


def found(instance_id: str, *machines: str) -> Instance:
    scenario = parse_scenario(shipped_scenarios() / f"{instance_id.partition('[')[0]}.yaml")
    return next(instance for instance in instances(scenario, machines) if instance.id == instance_id)


@contextmanager
def session_with(mutation: str) -> Iterator[Session]:
    with (
        short_directory() as place,
        Session("process", place, "w", warm=("-m", "tests.suites.mutant", mutation)) as session,
    ):
        yield session


def test_every_mutation_has_its_scenario() -> None:
    assert CATCHES.keys() == MUTATIONS.keys()


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_false_rule_is_caught(mutation: str) -> None:
    with session_with(mutation) as session:
        assert session.run(found(CATCHES[mutation])) != []


@pytest.mark.parametrize("mutation", CATCHES_ELSEWHERE)
def test_a_false_rule_is_caught_on_other_machines(mutation: str) -> None:
    with session_with(mutation) as session:
        instance = found(CATCHES_ELSEWHERE[mutation], ELSEWHERE)
        assert ELSEWHERE not in instance.scenario.matrix["machine"]
        assert session.run(instance) != []


def test_the_right_rules_are_not_blamed() -> None:
    with session_with(UNCHANGED) as session:
        blamed = {one: session.run(found(one)) for one in sorted(set(CATCHES.values()))}
        blamed |= {one: session.run(found(one, ELSEWHERE)) for one in sorted(set(CATCHES_ELSEWHERE.values()))}
    assert blamed == {one: [] for one in blamed}
