"""What users complained of: for each shipped complaint the explanation names the cause that the story's `why` names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.decision.config import settings_of
from numaproof.harness.explain.blame import Blame
from numaproof.harness.explain.explanation import explain
from numaproof.harness.intake.assembly import assemble
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.providers.devices import Device
from numaproof.harness.runtimes.trees import machine_of
from numaproof.harness.scenario.instances import Instance, instances, kubelet_configuration
from numaproof.harness.scenario.parse import parse_scenario
from numaproof.harness.scenario.plugins import fake_plugin
from numaproof.harness.scenario.selection import shipped_scenarios
from numaproof.harness.scenario.sizes import Sizes, sizes_of
from numaproof.harness.scenario.steps.admit import Admit
from numaproof.harness.scenario.steps.remove import Remove
from numaproof.harness.scenario.steps.restart import Restart
from numaproof.harness.scenario.steps.stop import Stop

COMPLAINTS = shipped_scenarios() / "complaints"


@dataclass(frozen=True, slots=True)
class Cause:
    """What is to blame, and the amounts by position of the NUMA node, worked out from the story."""

    what: str
    resource: str = ""
    wanted: int | None = None
    free: Mapping[int, int] | None = None


NONE = None  # the pod is on one NUMA node: nothing is to blame
Expected = Callable[[Sizes, str, str], Cause | None]  # of sizes, policy and scope


def _half(sizes: Sizes, _policy: str, _scope: str) -> Cause:
    node = sizes.count("numa.cpus", "")
    wanted = sizes.count("half numa.cpus + 1", "")
    return Cause("cpu", "cpu", wanted, {0: node - wanted, 1: node - wanted})


def _large(sizes: Sizes, _policy: str, _scope: str) -> Cause:
    node = sizes.count("numa.memory", "")
    return Cause("memory", "memory", node + 1, {0: node, 1: node})


def _large_after_small(sizes: Sizes, _policy: str, _scope: str) -> Cause:
    node = sizes.count("numa.memory", "")
    return Cause("memory", "memory", node + 1, {0: node - (1 << 30), 1: node})


def _sinks(_sizes: Sizes, policy: str, scope: str) -> Cause | None:
    if scope == "pod":
        return Cause("devices", "example.com/gpu", 1, {1: 1})  # the two devices are on two NUMA nodes
    return None if policy == "best-effort" else Cause("cpu", "cpu", 2)


def _gone(wanted: int, resource: str, free: Mapping[int, int]) -> Expected:
    return lambda _sizes, _policy, _scope: Cause("devices", resource, wanted, free)


def _policy_none_else(cause: Expected) -> Expected:
    return lambda sizes, policy, scope: Cause("policy") if policy == "none" else cause(sizes, policy, scope)


# Story -> pod -> what is to blame when it comes for the first time.
STORIES: Mapping[str, Mapping[str, Expected]] = {
    "rejected-though-enough-in-total": {"c": _half},
    "recreated-pods": {
        "try-1": lambda sizes, _policy, _scope: Cause("cpu", "cpu", 1, {0: 0, 1: sizes.count("numa.cpus", "")})
    },
    "memory-makes-restricted-refuse": {"large": _large},
    "memory-group-after-single": {"large": _large_after_small},
    "overlapping-pairs": {"pairs": _gone(2, "example.com/gpu", {0: 1, 2: 1})},
    "possible-nodes": {"pair": _policy_none_else(_gone(2, "example.com/nic", {0: 1, 1: 1}))},
    "eight-nodes-four-resources": {"contradictory": _gone(3, "example.com/nic", {0: 0, 1: 2, 2: 2, 7: 2})},
    "init-container-sinks-the-pod": {"with-init": _sinks},
    "init-shares-devices": {"with-sidecar": _gone(1, "example.com/nic", {1: 0})},
    "devices-without-topology": {"rest": _gone(1, "example.com/mixed", {1: 0})},
    "empty-topology": {"rest": _gone(1, "example.com/mixed", {1: 0})},
    "full-cores-after-restart": {
        "more": lambda sizes, _policy, _scope: Cause("cpu", "cpu", sizes.count("core.cpus", ""), {0: 0, 1: 0})
    },
    "offline-cpus": {"one-more": lambda _sizes, _policy, _scope: Cause("cpu", "cpu", 1, {0: 0, 1: 0})},
    # Threads of 16 CPUs on 4 NUMA nodes: 0, 3 and 6 are reserved, 2 are held by the first pod on the last one.
    "endless-distribution": {"endless": lambda _sizes, _policy, _scope: Cause("cpu", "cpu", 14)},
    "device-counts-ignored": {"five": _gone(5, "example.com/nic", {0: 1, 1: 1, 2: 4, 3: 4})},
    "distribute-shrinks-affinity": {"four": _gone(3, "example.com/gpu", {0: 2, 1: 2})},
    "plugin-not-back-yet": {"early": _gone(1, "example.com/gpu", {})},
    "lost-device-checkpoint": {"third": _gone(1, "example.com/gpu", {0: 0, 1: 0})},
    "sparse-node-ids": {
        "two": lambda sizes, _policy, _scope: Cause("cpu", "cpu", sizes.count("numa.all_cpus + 1", ""))
    },
    "sparse-node-ids-closest": {
        "first": lambda *_: NONE,
        "two": lambda sizes, _policy, _scope: Cause("cpu", "cpu", sizes.count("numa.cpus + 3", "")),
    },
    "same-node-other-bridge": {"first": lambda *_: NONE, "second": lambda *_: NONE},
    "device-of-several-nodes": {"first": lambda *_: NONE, "second": lambda *_: NONE},
    "cpu-goes-offline-unmanaged": {"before": lambda *_: Cause("policy")},
}

INSTANCES = [instance for name in STORIES for instance in instances(parse_scenario(COMPLAINTS / f"{name}.yaml"))]


@pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: instance.id)
def test_the_explanation_names_the_cause(instance: Instance) -> None:
    scenario = instance.scenario
    machine = machine_of(instance.argument)
    memory_static = scenario.kubelet.get("memoryManagerPolicy") == "Static"
    sizes = sizes_of(machine, memory_static, scenario.needs.use_numa)
    configuration = kubelet_configuration(instance, machine, sizes)
    devices = {}
    for spec in scenario.plugins:
        plugin = fake_plugin(spec, machine, sizes, "")
        devices[plugin.resource] = tuple(Device(one.id, one.numa, one.healthy) for one in plugin.devices)
    replica = assemble(machine, settings_of(configuration, Where("kubelet")), devices, ()).replica
    expected = dict(STORIES[scenario.path.stem])
    policy = instance.values["policy"]
    for step in scenario.steps:
        action = step.action
        if isinstance(action, Stop):
            replica.managers.devices.update(action.resource, ())
        elif isinstance(action, Remove):
            replica.remove([one.pod.uid for one in replica.residents if one.pod.name == action.pod])
        elif isinstance(action, Restart) and action.resource:
            replica.managers.devices.update(action.resource, devices[action.resource])
        elif isinstance(action, Admit):
            pod = pod_from(action.pod.manifest(sizes, step.where))
            cause = expected.pop(pod.name, None)
            if cause is not None:
                scope = instance.values.get("scope", "container")
                _check(explain(replica, pod).blame, cause(sizes, policy, scope), sizes)
            replica.admit(pod)
    assert not expected, "these pods never came"


def _check(blame: Blame | None, cause: Cause | None, sizes: Sizes) -> None:
    if cause is None or blame is None:
        assert (blame, cause) == (None, None)
        return
    assert (blame.what, blame.resource) == (cause.what, cause.resource or blame.resource)
    if cause.wanted is not None:
        assert blame.stock is not None
        assert blame.stock.wanted == cause.wanted
        free = dict(cause.free or {})
        assert {position: blame.stock.free[sizes.nodes[position]] for position in free} == free
