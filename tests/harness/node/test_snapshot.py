"""Snapshots of a node: whole, and not changed by what happens later."""

from copy import deepcopy

from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import Block
from numaproof.harness.topology import TopologyHint, mask_of
from numaproof.plugins_mock import MockPlugin
from tests.harness.node.running import GPU, STATIC, devices, listed_plugins, pod, running_node, wait_for_devices


def test_a_snapshot_is_of_one_moment() -> None:
    with running_node(STATIC | {"topologyManagerPolicy": "restricted"}) as node:
        gpu = MockPlugin(GPU, devices("gpu", 2), node.device_plugins)
        with listed_plugins(node, gpu):
            empty = node.snapshot()
            remembered = deepcopy(empty)
            assert node.admit(pod("p", {"cpu": 2, "memory": "1Gi", GPU: 1})).admitted
            assert not node.admit(pod("q", {"cpu": 20, "memory": "1Gi"})).admitted
            full = node.snapshot()
            assert empty == remembered
            assert (empty.pods, empty.refused, empty.running, empty.held) == ((), (), {}, {})

            (view,) = full.pods
            expected = Assignment(
                TopologyHint(mask_of([0]), True),
                frozenset({2, 3}),
                (Block((0,), "memory", 1 << 30),),
                {GPU: (Device("gpu00", (0,)),)},
            )
            assert [(one.name, one.init, one.ends, one.given) for one in view.containers] == [
                ("c0", False, False, expected)
            ]
            assert full.find("default", "p") == view
            assert full.find("default", "q") is None
            assert [one.pod.pod.name for one in full.refused] == ["q"]
            assert full.held == {GPU: frozenset({"gpu00"})}
            assert full.shared_cpus == frozenset(range(16)) - {2, 3}
            assert full.allocatable_cpus == frozenset(range(1, 16))

            # What a plugin says later about a device that is in use is in the next snapshot.
            gpu.set_health("gpu00", False)
            wait_for_devices(node, gpu)
            (later,) = node.snapshot().pods
            assert later.containers[0].given.devices == {GPU: (Device("gpu00", (0,), healthy=False),)}
            assert full.pods[0].containers[0].given == expected
