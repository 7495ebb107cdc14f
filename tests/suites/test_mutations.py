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
    "any-toleration-matches": "affinity/untolerated[xeon-2s]",
    "tolerations-match-by-key": "affinity/tolerations-match[xeon-2s]",
    "nobody-is-evicted": "affinity/eviction[xeon-2s]",
    "fractions-are-dedicated": "affinity/dedicated-demands[xeon-2s]",
    "dedicated-cpus-are-shared": "affinity/dedicated-and-cpu-manager[xeon-2s-none]",
    "any-place-is-free": "affinity/refused-bind[xeon-2s]",
    "sets-of-cpus-are-not-checked": "affinity/bad-bind[xeon-2s]",
    "numa-nodes-are-promised-twice": "affinity/numa-filled[xeon-2s-static]",
    "nobody-waits": "affinity/two-phases[xeon-2s-none-pod]",
    "wildcards-wait": "affinity/wildcard[xeon-2s]",
    "pods-that-wait-hold-cpus": "affinity/second-bind-cpus[xeon-2s]",
    "quota-forgets-pods-that-wait": "affinity/quota-pending[xeon-2s]",
    "quota-is-ignored": "affinity/quota[xeon-2s]",
    "started-pods-are-bound": "affinity/bind-after-start[xeon-2s]",
    "refused-binds-are-kept": "affinity/refused-bind[xeon-2s]",
    "anybody-may-bind": "affinity/permission[xeon-2s]",
    "hints-forget-promises": "affinity/promise-in-hints[xeon-2s-single-numa-node]",
    "containers-have-parts": "affinity/containers-share[xeon-2s-container]",
    "places-are-no-hints": "affinity/devices-follow[xeon-2s-restricted-container]",
    "places-are-given-up": "affinity/device-conflict[xeon-2s-best-effort-pod]",
    "halves-of-cores-are-offered": "affinity/half-of-a-core[laptop]",
    "strict-memory-is-ignored": "affinity/memory-strict[xeon-2s-None]",
    "preferred-memory-is-strict": "affinity/memory-preferred[xeon-2s-Static-none]",
    "pods-that-wait-are-forgotten": "affinity/restart[xeon-2s-static]",
    "taints-are-forgotten": "affinity/restart[xeon-2s-none]",
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
    "any-place-is-free": "affinity/refused-bind[epyc-7742-nps1]",
    "quota-forgets-pods-that-wait": "affinity/quota-pending[epyc-7742-nps1]",
    "places-are-no-hints": "affinity/devices-follow[epyc-7742-nps1-restricted-pod]",
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
