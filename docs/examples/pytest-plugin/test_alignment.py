"""A node on a machine that does not exist, asked from a test."""

from pathlib import Path

import pytest

GPU = "example.com/gpu"


def pod(name, **resources):
    """A Guaranteed pod of one container, as a Kubernetes manifest."""
    wanted = {"memory": "1Gi", **{key.replace("gpu", GPU): str(amount) for key, amount in resources.items()}}
    container = {"name": "app", "resources": {"requests": wanted, "limits": wanted}}
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": {"containers": [container]}}


def test_a_gpu_comes_from_the_node_of_its_cpus(machine, node, plugin):
    rig = node(plugin(GPU, per_numa="2"), topologyManagerPolicy="single-numa-node")
    outcome = rig.node.admit(pod("worker", cpu=4, gpu=2))
    assert outcome.admitted
    given = outcome.containers["app"]
    node_of = {cpu.id: cpu.node for cpu in machine.cpus}
    (numa_node,) = {node_of[cpu] for cpu in given.cpus}
    assert {device.numa for device in given.devices[GPU]} == {(numa_node,)}


@pytest.mark.machine("dgx-a100")
def test_what_no_node_can_give_is_rejected_and_holds_nothing(machine, node, plugin):
    assert len(machine.node_ids) == 8
    rig = node(plugin(GPU, per_numa="1"), topologyManagerPolicy="restricted", topologyManagerScope="pod")
    assert rig.node.admit(pod("fits", cpu=2, gpu=1)).admitted
    # Two GPUs are always on two nodes here; two CPUs fit on one, so the hints never agree.
    outcome = rig.node.admit(pod("too-wide", cpu=2, gpu=2))
    assert (outcome.admitted, outcome.reason) == (False, "TopologyAffinityError")
    assert list(rig.node.assignments()) == ["fits"]


def test_a_restarted_node_remembers(runtime, node, plugin):
    assert runtime in ("docker", "namespace", "process")
    rig = node(plugin(GPU, per_numa="1"), topologyManagerPolicy="best-effort")
    given = rig.node.admit(pod("worker", cpu=2, gpu=1)).containers
    rig.node.restart()
    assert rig.node.assignments() == {"worker": given}
    rig.node.remove("worker")
    assert rig.node.assignments() == {}


def test_a_scenario_from_a_test(scenario):
    scenario(Path(__file__).parent / "scenarios/alignment/gpu-beside-its-cpus.yaml")
