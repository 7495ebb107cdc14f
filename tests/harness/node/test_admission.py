"""Admission end to end: real sockets, real plugins, every policy and scope."""

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as plugin_api
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.api import podresources_v1_pb2 as resources_api
from numaproof.harness.node.node import Node
from numaproof.plugins_mock import Fault, MockDevice, MockPlugin
from tests.harness.node.running import (
    GPU,
    NIC,
    STATIC,
    client,
    devices,
    listed_plugins,
    pod,
    pod_resources,
    running_node,
    wait_for_devices,
)
from tests.waiting import wait_until

POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
TOPOLOGY = ("TopologyAffinityError", "Resources cannot be allocated with Topology locality")
ADMITTED = ("", "")

# What a real kubelet (v1.36.4) decided on this machine with two GPUs a node: one column a policy; True: admitted.
SEEN = (
    (pod("a", {"cpu": 4, "memory": "8Gi", GPU: 1, NIC: 1}), "both", (True, True, True, True)),
    (pod("b", {"cpu": 2, "memory": "1Gi", GPU: 3}), "both", (True, True, False, False)),
    (pod("c", {"cpu": 10, "memory": "100Gi", GPU: 3}), "both", (True, True, True, False)),
    (pod("d", {"cpu": 6, "memory": "1Gi"}, {"cpu": 6, "memory": "1Gi"}), "container", (True, True, True, True)),
    (pod("d", {"cpu": 6, "memory": "1Gi"}, {"cpu": 6, "memory": "1Gi"}), "pod", (True, True, False, False)),
)


def verdict(answer: api.AdmitResponse) -> tuple[str, str]:
    return answer.verdict.reason, answer.verdict.message


def plugins(node: Node, **options: Any) -> tuple[MockPlugin, MockPlugin]:
    return (
        MockPlugin(GPU, devices("gpu", 4), node.device_plugins, **options),
        MockPlugin(NIC, devices("nic", 4), node.device_plugins, **options),
    )


def nodes_used(container: resources_api.ContainerResources) -> dict[str, set[int]]:
    """The NUMA nodes of everything that a container was given, by kind."""
    used = {"cpu": {cpu // 8 for cpu in container.cpu_ids}}
    for device in container.devices:
        used.setdefault(device.resource_name, set()).update(node.ID for node in device.topology.nodes)
    for block in container.memory:
        used.setdefault(block.memory_type, set()).update(node.ID for node in block.topology.nodes)
    return used


@pytest.mark.parametrize("scope", ["container", "pod"])
@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_and_scope_decides_as_the_kubelet_was_seen_to(policy: str, scope: str) -> None:
    config = STATIC | {"topologyManagerPolicy": policy, "topologyManagerScope": scope}
    with (
        running_node(config) as node,
        client(node.root) as control,
        pod_resources(node) as resources,
        listed_plugins(node, *plugins(node)),
    ):
        for manifest, where, admitted in SEEN:
            if where not in ("both", scope):
                continue
            explained = control.explain(manifest)
            answer = control.admit(manifest)
            expected = ADMITTED if admitted[POLICIES.index(policy)] else TOPOLOGY
            assert verdict(answer) == expected, manifest
            assert explained.verdict == answer.verdict
            name = manifest["metadata"]["name"]
            listed = {one.name: one for one in resources.List(resources_api.ListPodResourcesRequest()).pod_resources}
            assert (name in listed) == answer.verdict.admitted
            if name == "a" and policy != "none":
                used = nodes_used(listed["a"].containers[0])
                assert set(used) == {"cpu", "memory", GPU, NIC}
                assert len(set.union(*used.values())) == 1, used
            if answer.verdict.admitted:
                assert explained.pod.containers[0].cpus == answer.pod.containers[0].cpus
                control.remove(f"default/{name}")
        assert list(control.state().pods) == []
        assert len(control.state().free_cpus) == 15


def test_what_is_given_is_told_by_every_way() -> None:
    config = STATIC | {"topologyManagerPolicy": "single-numa-node"}
    with running_node(config, http_port=0) as node, client(node.root) as control, pod_resources(node) as resources:
        gpu, nic = plugins(node)
        with listed_plugins(node, gpu, nic):
            answer = control.admit(
                pod(
                    "p",
                    {"cpu": 2, "memory": "2Gi", GPU: 1},
                    init=({"cpu": 4, "memory": "3Gi"}, {"cpu": 1, "memory": "1Gi", "sidecar": True}),
                )
            )
            assert answer.verdict.admitted, answer
            init, sidecar, main = answer.pod.containers
            assert (init.init, init.restartable) == (True, False)
            assert (sidecar.init, sidecar.restartable) == (True, True)
            assert not set(sidecar.cpus) & set(main.cpus)
            assert set(main.cpus) <= set(init.cpus)  # an init container's CPUs are used again
            assert [(block.resource, block.size) for block in main.memory] == [("memory", 2 << 30)]
            assert [(one.resource, [device.id for device in one.devices]) for one in main.devices] == [(GPU, ["gpu00"])]
            assert main.response.envs == {"EXAMPLE_COM_GPU": "gpu00"}
            asked = [call.request for call in gpu.calls if call.name == "Allocate"]
            assert asked == [
                plugin_api.AllocateRequest(
                    container_requests=[plugin_api.ContainerAllocateRequest(devices_ids=["gpu00"])]
                )
            ]
            assert not [call for call in nic.calls if call.name == "Allocate"]

            shown = resources.Get(resources_api.GetPodResourcesRequest(pod_name="p", pod_namespace="default"))
            assert [one.name for one in shown.pod_resources.containers] == ["i1", "c0"]  # finished ones are hidden
            assert list(shown.pod_resources.containers[1].cpu_ids) == list(main.cpus)
            allocatable = resources.GetAllocatableResources(resources_api.AllocatableResourcesRequest())
            assert list(allocatable.cpu_ids) == list(range(1, 16))
            assert {(one.resource_name, one.device_ids[0]) for one in allocatable.devices} == {
                (resource, f"{prefix}{i:02}") for resource, prefix in ((GPU, "gpu"), (NIC, "nic")) for i in range(4)
            }
            assert sorted((one.memory_type, one.size) for one in allocatable.memory) == [
                ("memory", 63 << 30),
                ("memory", 64 << 30),
            ]
            state = control.state()
            assert [one.name for one in state.pods] == ["p"]
            assert {one.resource: list(one.allocated) for one in state.plugins} == {GPU: ["gpu00"], NIC: []}
            assert not set(state.free_cpus) & {*main.cpus, *sidecar.cpus, 0}
            assert list(state.reserved_cpus) == [0]


def test_explaining_changes_nothing_and_agrees_with_what_happens() -> None:
    config = STATIC | {"topologyManagerPolicy": "restricted"}
    with running_node(config) as node, client(node.root) as control:
        gpu = MockPlugin(GPU, devices("gpu", 4), node.device_plugins, preferred=lambda a, _m, n: [sorted(a)[-n:]])
        with listed_plugins(node, gpu):
            control.admit(pod("first", {"cpu": 2, "memory": "1Gi", GPU: 1}))
            before = control.state()
            manifest = pod("p", {"cpu": 3, "memory": "1Gi", GPU: 1}, init=({"cpu": 1, "memory": "1Gi"},))
            explained = control.explain(manifest)
            assert control.state() == before
            answer = control.admit(manifest)
            assert [one.container for one in explained.decisions] == ["i0", "c0"]
            assert [one.provider for one in explained.decisions[1].providers] == ["devices", "cpu", "memory"]
            for one in answer.pod.containers:
                one.ClearField("response")  # plugins are not told of what is only explained
            for one in explained.pod.containers:
                one.ClearField("response")
            assert explained.pod == answer.pod
            assert explained.decisions[1].merged == answer.pod.containers[1].affinity
            # A pod that is here already is explained as another one like it, and keeps what it has.
            present = control.state()
            control.explain(manifest)
            assert control.state() == present


def test_the_kubelets_files_say_what_was_answered() -> None:
    with (
        running_node(STATIC) as node,
        client(node.root) as control,
        listed_plugins(node, MockPlugin(GPU, devices("gpu", 2), node.device_plugins)),
    ):
        given = control.admit(pod("p", {"cpu": 2, "memory": "1Gi", GPU: 1})).pod.containers[0]

        def written(name: str) -> Any:
            return json.loads((node.root / name).read_text())

        cpu = written("cpu_manager_state")
        assert cpu["policyName"] == "static"
        assert cpu["entries"] == {"uid-p": {"c0": ",".join(map(str, given.cpus)).replace("2,3", "2-3")}}
        assert cpu["defaultCpuSet"] == "0-1,4-15"
        memory = written("memory_manager_state")
        assert memory["entries"] == {"uid-p": {"c0": [{"numaAffinity": [0], "type": "memory", "size": 1 << 30}]}}
        assert memory["machineState"]["0"]["memoryMap"]["memory"] == {
            "total": 64 << 30,
            "systemReserved": 1 << 30,
            "allocatable": 63 << 30,
            "reserved": 1 << 30,
            "free": 62 << 30,
        }
        device = written("device-plugins/kubelet_internal_checkpoint")["Data"]
        assert device["RegisteredDevices"] == {GPU: ["gpu00", "gpu01"]}
        (entry,) = device["PodDeviceEntries"]
        assert (entry["PodUID"], entry["ContainerName"], entry["ResourceName"]) == ("uid-p", "c0", GPU)
        assert entry["DeviceIDs"] == {"0": ["gpu00"]}
        answered = plugin_api.ContainerAllocateResponse.FromString(base64.b64decode(entry["AllocResp"]))
        assert answered == given.response
        control.remove("uid-p")
        assert "entries" not in written("cpu_manager_state")
        assert "entries" not in written("memory_manager_state")
        assert written("device-plugins/kubelet_internal_checkpoint")["Data"]["PodDeviceEntries"] is None


def test_devices_of_several_nodes_and_of_none_in_pod_resources() -> None:
    listed = [MockDevice("both", (0, 1)), MockDevice("plain")]
    with (
        running_node({}) as node,
        pod_resources(node) as resources,
        listed_plugins(node, MockPlugin(GPU, listed, node.device_plugins)),
    ):
        node.admit(pod("p", {GPU: 2}))
        held = resources.List(resources_api.ListPodResourcesRequest()).pod_resources[0].containers[0]
        shown = sorted((one.device_ids[0], [node.ID for node in one.topology.nodes]) for one in held.devices)
        assert shown == [("both", [0]), ("both", [1]), ("plain", [])]


def test_the_fit_check_comes_after_topology_and_frees_what_the_pod_got() -> None:
    with running_node(STATIC) as node, client(node.root) as control:
        gpu = MockPlugin(GPU, devices("gpu", 4), node.device_plugins)
        with listed_plugins(node, gpu):
            shared = {"requests": {"cpu": "8"}}
            burstable = {"metadata": {"name": "b"}, "spec": {"containers": [{"name": "c", "resources": shared}]}}
            assert control.admit(burstable).verdict.admitted
            before = control.state()
            # CPUs are free, as the other pod shares its own, but all in all more would be promised than there is.
            answer = control.admit(pod("p", {"cpu": 8, "memory": "1Gi", GPU: 1}))
            assert verdict(answer) == (
                "OutOfcpu",
                "Node didn't have enough resource: cpu, requested: 8000, used: 8000, capacity: 15000",
            )
            after = control.state()
            for one in (before, after):
                one.last_event = 0
            assert after == before
            assert not [call for call in gpu.calls if call.name == "Allocate"]
            memory = {"requests": {"memory": "200Gi"}}
            greedy = {"metadata": {"name": "m"}, "spec": {"containers": [{"name": "c", "resources": memory}]}}
            assert control.admit(greedy).verdict.reason == "OutOfmemory"
            assert control.admit(pod("h", {"cpu": 1, "hugepages-2Mi": "2Mi"})).verdict.reason == "OutOfhugepages-2Mi"


def test_a_resource_that_nobody_ever_offered_is_left_to_others_and_one_that_is_gone_is_out() -> None:
    with running_node({}, grace_seconds=0.01) as node:
        assert node.admit(pod("p", {GPU: 1})).admitted
        assert node.assignments()[0].containers[0].given.devices == {}
        with listed_plugins(node, MockPlugin(GPU, devices("gpu", 1), node.device_plugins)):
            pass
        wait_until(lambda: GPU not in node.healthy_devices(), "the end of the grace period")
        assert node.admit(pod("q", {GPU: 1})).reason == f"OutOf{GPU}"


def test_init_memory_is_free_again_when_the_next_container_starts() -> None:
    config = STATIC | {"topologyManagerPolicy": "single-numa-node"}
    with running_node(config) as node:
        given = node.admit_pod(pod("p", {"cpu": 1, "memory": "1Gi"}, init=({"cpu": 1, "memory": "50Gi"},))).pod
        assert [block.size >> 30 for one in given.containers for block in one.given.memory] == [49, 1]
        now = node.assignments()[0].containers
        assert [[block.size >> 30 for block in one.given.memory] for one in now] == [[], [1]]
        # On node 0 there is room for this only where the init container's memory was.
        given = node.admit_pod(pod("q", {"cpu": 1, "memory": "60Gi"})).pod
        assert [block.nodes for block in given.containers[0].given.memory] == [(0,)]


@pytest.mark.parametrize("registry", [False, True])
def test_a_failing_plugin_fails_its_pod_and_nothing_stays(registry: bool) -> None:
    config = STATIC | {"topologyManagerPolicy": "best-effort"}
    with running_node(config) as node, client(node.root) as control:
        place = node.root / "plugins_registry" if registry else None
        faults: Mapping[str, list[Fault]] = {"Allocate": [Fault("error", "RESOURCE_EXHAUSTED", times=1)]}
        gpu = MockPlugin(GPU, devices("gpu", 2), node.device_plugins, registry=place, faults=faults)
        with listed_plugins(node, gpu):
            manifest = pod("p", {"cpu": 2, "memory": "1Gi", GPU: 2})
            answer = control.admit(manifest)
            assert answer.verdict.reason == "UnexpectedAdmissionError"
            assert "Allocate failed due to rpc error: code = ResourceExhausted" in answer.verdict.message
            assert answer.verdict.message.endswith(", which is unexpected")
            state = control.state()
            assert list(state.pods) == []
            assert len(state.free_cpus) == 15
            assert list(state.plugins[0].allocated) == []
            assert control.admit(manifest).verdict.admitted


def test_preferred_allocation_is_asked_for_and_heeded() -> None:
    def last(available: Any, must_include: Any, size: int) -> list[list[str]]:
        return [[*must_include, *sorted(set(available) - set(must_include))[::-1]][:size]]

    config = STATIC | {"topologyManagerPolicy": "restricted"}
    with running_node(config) as node, client(node.root) as control:
        gpu = MockPlugin(GPU, devices("gpu", 8), node.device_plugins, preferred=last)
        with listed_plugins(node, gpu):
            answer = control.admit(pod("p", {"cpu": 1, "memory": "1Gi", GPU: 2}))
            assert [device.id for device in answer.pod.containers[0].devices[0].devices] == ["gpu04", "gpu06"]
            asked = [call.request for call in gpu.calls if call.name == "GetPreferredAllocation"]
            assert asked == [
                plugin_api.PreferredAllocationRequest(
                    container_requests=[
                        plugin_api.ContainerPreferredAllocationRequest(
                            available_deviceIDs=["gpu00", "gpu02", "gpu04", "gpu06"], allocation_size=2
                        )
                    ]
                )
            ]


@pytest.mark.parametrize("enabled", [True, False])
def test_the_plural_draft_decides_which_hints_are_preferred(enabled: bool) -> None:
    """Seed 4: with the draft, pairs across the nodes may be the preferred ones, so restricted admits one."""

    def across(available: Any, _must_include: Any, size: int) -> list[list[str]]:
        return [["gpu00", "gpu01"]] if size == 2 and {"gpu00", "gpu01"} <= set(available) else []

    config = STATIC | {"topologyManagerPolicy": "restricted", "featureGates": {"TopologyManager": enabled}}
    with running_node(config) as node, client(node.root) as control:
        gpu = MockPlugin(GPU, devices("gpu", 4), node.device_plugins, preferred=across, plural=True)
        with listed_plugins(node, gpu):
            answer = control.admit(pod("p", {GPU: 2}))
            assert answer.verdict.admitted, answer
            assert [device.id for device in answer.pod.containers[0].devices[0].devices] == ["gpu00", "gpu01"]
            assert list(answer.pod.containers[0].affinity.affinity.nodes) == ([0, 1] if enabled else [])


def test_containers_are_announced_before_they_start_and_again_when_they_restart() -> None:
    with running_node({}) as node, client(node.root) as control:
        faults: Mapping[str, list[Fault]] = {"PreStartContainer": [Fault("error", "INTERNAL", times=1)]}
        gpu = MockPlugin(GPU, devices("gpu", 2), node.device_plugins, pre_start=True, faults=faults)
        with listed_plugins(node, gpu):
            assert control.admit(pod("p", {GPU: 2})).verdict.admitted  # the pod is admitted, its container cannot start
            before = node.assignments()[0].containers[0]
            assert "PreStartContainer rpc failed" in before.start_error
            again = node.start_container("default/p", "c0")
            assert again.start_error == ""
            assert again.given == before.given
            asked = [call.request for call in gpu.calls if call.name == "PreStartContainer"]
            assert asked == [plugin_api.PreStartContainerRequest(devices_ids=["gpu00", "gpu01"])] * 2


def test_health_changes_reach_decisions() -> None:
    with running_node({}) as node:
        gpu = MockPlugin(GPU, devices("gpu", 1), node.device_plugins)
        with listed_plugins(node, gpu):
            gpu.set_health("gpu00", False)
            wait_for_devices(node, gpu)
            refused = node.admit(pod("p", {GPU: 1}))
            assert refused.message == (
                f"Allocate failed due to no healthy devices present; cannot allocate unhealthy devices {GPU}, "
                "which is unexpected"
            )
            gpu.set_health("gpu00", True)
            wait_for_devices(node, gpu)
            assert node.admit(pod("p", {GPU: 1})).admitted
