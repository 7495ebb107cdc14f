"""What is wrong gets a clear answer, and changes nothing."""

import contextlib
import http.client
import json
import os
import socket
import stat
from pathlib import Path
from typing import Any

import grpc
import pytest

from numaproof.errors import UserError
from numaproof.fake_sysfs import Cpu, Machine, NumaNode
from numaproof.harness.api import deviceplugin_v1beta1_pb2 as plugin_api
from numaproof.harness.api import deviceplugin_v1beta1_pb2_grpc as plugin_grpc
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.api import podresources_v1_pb2 as resources_api
from numaproof.harness.decision.config import node_config
from numaproof.harness.node.node import Node
from numaproof.plugins_mock import Fault, MockPlugin
from tests.harness.node.running import (
    GPU,
    STATIC,
    Client,
    client,
    devices,
    listed_plugins,
    pod,
    pod_resources,
    running_node,
)
from tests.places import short_directory


def state_and_files(node: Node, control: Client) -> tuple[Any, dict[str, bytes]]:
    """All that a node knows and has written."""
    state = control.state()
    state.last_event = 0
    files = {str(path): path.read_bytes() for path in sorted(node.root.rglob("*")) if path.is_file()}
    return state, files


GOOD = pod("p", {"cpu": 1, "memory": "1Gi"})


def changed(**limits: Any) -> str:
    return json.dumps(pod("p", {"cpu": 1, "memory": "1Gi", **limits}))


BAD_PODS = (
    ("", "is missing"),
    ("{]", "is not JSON"),
    ("kind: Deployment\nmetadata: {name: d}\nspec: {}", "is not admitted by a node"),
    ("metadata: {name: p}\nspec: {containers: []}", "is empty"),
    (changed(cpu="-1"), "is negative"),
    (changed(cpu="1x"), "is not a quantity"),
    (changed(gpu="1"), "unknown resource 'gpu'"),
    (changed(**{GPU: "0.5"}), "is not a whole number"),
    (changed().replace('"limits"', '"requests": {"cpu": "2"}, "limits"'), "requests more cpu"),
    (changed().replace('"c0"', '"C 0"'), "is not a name"),
    ("a: &a [1]\nb: *a", "anchors are not read"),
)


def test_malformed_pods_change_nothing() -> None:
    with running_node(STATIC) as node, client(node.root) as control:
        control.admit(pod("first", {"cpu": 2, "memory": "1Gi"}))
        before = state_and_files(node, control)
        for text, message in BAD_PODS:
            for ask in (control.admit, control.explain):
                with pytest.raises(grpc.RpcError) as caught:
                    ask(text)
                assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
                details = caught.value.details() or ""
                assert message in details
                assert "\n" not in details
        assert state_and_files(node, control) == before


def test_names_and_uids_that_are_taken_and_pods_that_are_not_there() -> None:
    with running_node(STATIC) as node, client(node.root) as control:
        control.admit(GOOD)
        before = state_and_files(node, control)
        other_uid = json.loads(json.dumps(GOOD).replace("uid-p", "uid-other"))
        other_pod = json.loads(json.dumps(GOOD).replace('"1Gi"', '"2Gi"'))
        for manifest, message in (
            (other_uid, "there is one of this name already"),
            (other_pod, "with another manifest"),
        ):
            with pytest.raises(grpc.RpcError, match=message) as caught:
                control.admit(manifest)
            assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        for reference in ("uid-none", "default/none", "other/p", "", "/", "../p"):
            with pytest.raises(grpc.RpcError) as caught:
                control.remove(reference)
            assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        assert state_and_files(node, control) == before
        with pod_resources(node) as resources, pytest.raises(grpc.RpcError) as caught:
            resources.Get(resources_api.GetPodResourcesRequest(pod_name="x", pod_namespace="y"))
        assert caught.value.details() == "pod x in namespace y not found"


def test_a_refused_pod_may_be_removed_and_tried_again() -> None:
    with running_node(STATIC) as node, client(node.root) as control:
        greedy = pod("p", {"cpu": 99, "memory": "1Gi"})
        assert control.admit(greedy).verdict.reason == "UnexpectedAdmissionError"
        assert control.admit(greedy).verdict.reason == "UnexpectedAdmissionError"
        assert [one.verdict.reason for one in node.snapshot().refused] == ["UnexpectedAdmissionError"]
        assert control.remove("uid-p") == "uid-p"
        assert node.snapshot().refused == ()
        control.admit(greedy)
        assert control.remove("default/p") == "uid-p"
        assert node.snapshot().refused == ()
        assert control.admit(GOOD).verdict.admitted


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (plugin_api.RegisterRequest(version="v1alpha", endpoint="x.sock", resource_name=GPU), "API version"),
        (plugin_api.RegisterRequest(version="v1beta1", endpoint="x.sock", resource_name="gpu"), "is invalid"),
        (
            plugin_api.RegisterRequest(version="v1beta1", endpoint="../control.sock", resource_name=GPU),
            "not a file name",
        ),
        (plugin_api.RegisterRequest(version="v1beta1", endpoint="/x.sock", resource_name=GPU), "not a file name"),
        (plugin_api.RegisterRequest(version="v1beta1", endpoint="link.sock", resource_name=GPU), "leads out of"),
    ],
)
def test_bad_registrations_change_nothing_and_are_told(request_: plugin_api.RegisterRequest, message: str) -> None:
    logged: list[str] = []
    with running_node(STATIC, log=logged.append) as node, client(node.root) as control:
        (node.device_plugins / "link.sock").symlink_to("/dev/null")
        before = state_and_files(node, control)
        kubelet = f"unix:{node.device_plugins}/kubelet.sock"
        with grpc.insecure_channel(kubelet) as channel, pytest.raises(grpc.RpcError) as caught:
            plugin_grpc.RegistrationStub(channel).Register(request_, timeout=120)
        assert message in (caught.value.details() or "")
        event = next(iter(control.stub.Watch(api.WatchRequest(), timeout=120)))
        assert event.kind == api.REFUSED
        assert message in event.message
        assert state_and_files(node, control) == before
        assert any(message in line for line in logged)


def test_a_list_over_four_mebibytes_offers_nothing() -> None:
    faults = {"ListAndWatch": [Fault("oversized")]}
    with (
        running_node(STATIC) as node,
        client(node.root) as control,
        MockPlugin(GPU, devices("gpu", 2), node.device_plugins, faults=faults),
    ):
        # Told when those who decide know it, too, which is a little after the stream's end.
        ended = next(iter(control.stub.Watch(api.WatchRequest(kinds=[api.DEVICES]), timeout=120)))
        assert list(ended.devices) == []
        assert [(one.connected, len(one.devices)) for one in control.state().plugins] == [(False, 0)]
        refused = control.admit(pod("p", {GPU: 1}))
        assert "no healthy devices present" in refused.verdict.message


def test_garbage_on_every_socket_changes_nothing() -> None:
    with (
        running_node(STATIC) as node,
        client(node.root) as control,
        listed_plugins(node, MockPlugin(GPU, devices("gpu", 2), node.device_plugins)),
    ):
        control.admit(pod("p", {"cpu": 1, "memory": "1Gi", GPU: 1}))
        before = state_and_files(node, control)
        places = (
            node.device_plugins / "kubelet.sock",
            node.pod_resources_socket,
            node.control_socket,
            node.http_socket,
        )
        for place in places:
            for garbage in (b"\x00" * 100, b"GET / HTTP/1.1\r\n\r\n", os.urandom(100_000), b""):
                with socket.socket(socket.AF_UNIX) as dialled:
                    dialled.connect(str(place))
                    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has heard enough
                        dialled.sendall(garbage)
        assert state_and_files(node, control) == before
        assert control.admit(pod("q", {"cpu": 1, "memory": "1Gi", GPU: 1})).verdict.admitted


def test_sockets_and_state_are_private() -> None:
    with running_node(STATIC) as node:
        assert node.admit(GOOD).admitted
        for path in (node.root, *node.root.rglob("*")):
            mode = path.lstat().st_mode
            allowed = 0o700 if stat.S_ISDIR(mode) else 0o600
            assert stat.S_IMODE(mode) & ~allowed == 0, f"{path}: {stat.filemode(mode)}"


def get(node: Node, path: str) -> tuple[int, str]:
    """A page, over the unix socket."""
    with socket.socket(socket.AF_UNIX) as dialled:
        dialled.settimeout(120)
        dialled.connect(str(node.http_socket))
        dialled.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        text = b"".join(iter(lambda: dialled.recv(65536), b"")).decode()
    head, _, body = text.partition("\r\n\r\n")
    return int(head.split()[1]), body


def test_pages_over_the_socket_and_the_loopback_port() -> None:
    config = STATIC | {"topologyManagerPolicy": "single-numa-node"}
    with running_node(config, http_port=0) as node:
        node.admit(GOOD)
        node.admit(pod("q", {"cpu": 9, "memory": "1Gi"}))
        assert get(node, "/healthz") == (200, "ok")
        assert get(node, "/nothing")[0] == 404
        items = json.loads(get(node, "/pods")[1])["items"]
        assert [(one["metadata"]["name"], one["status"]["phase"]) for one in items] == [
            ("p", "Running"),
            ("q", "Failed"),
        ]
        assert items[1]["status"]["reason"] == "TopologyAffinityError"
        assert items[1]["status"]["message"].startswith("Pod was rejected: Resources cannot be")
        assert node.http_port
        connection = http.client.HTTPConnection("127.0.0.1", node.http_port, timeout=120)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        expected = {
            "kubelet_topology_manager_admission_requests_total": "2",
            "kubelet_topology_manager_admission_errors_total": "1",
            "kubelet_topology_manager_admission_duration_ms_count": "2",
            'kubelet_container_aligned_compute_resources_count{scope="container",boundary="numa_node"}': "1",
            'kubelet_container_aligned_compute_resources_failure_count{scope="container",boundary="numa_node"}': "1",
            "kubelet_cpu_manager_pinning_requests_total": "1",
            "kubelet_cpu_manager_exclusive_cpu_allocation_count": "1",
            # of 16 CPUs one is reserved, and one is taken
            "kubelet_cpu_manager_shared_pool_size_millicores": "14000",
            'kubelet_container_aligned_compute_resources_count{scope="container",boundary="physical_cpu"}': "0",
            'kubelet_cpu_manager_allocation_per_numa{numa_node="0"}': "1",
            "kubelet_memory_manager_pinning_requests_total": "1",
            "kubelet_memory_manager_pinning_errors_total": "0",
        }
        assert {name: lines.get(name) for name in expected} == expected


def test_under_policy_none_a_refusal_is_no_error_of_alignment() -> None:
    config = STATIC | {"topologyManagerPolicy": "none", "cpuManagerPolicyOptions": {"full-pcpus-only": "true"}}
    with running_node(config) as node:
        assert node.admit(pod("p", {"cpu": 1, "memory": "1Gi"})).reason == "SMTAlignmentError"
        lines = dict(line.rsplit(" ", 1) for line in node.metrics().splitlines() if not line.startswith("#"))
    assert lines["kubelet_topology_manager_admission_requests_total"] == "1"
    assert lines["kubelet_topology_manager_admission_errors_total"] == "0"
    failures = 'kubelet_container_aligned_compute_resources_failure_count{scope="container",boundary="physical_cpu"}'
    assert lines[failures] == "1"


def refused(kubelet: dict[str, Any], machine: Machine, root: Path) -> str:
    with pytest.raises(UserError) as caught, Node(node_config(kubelet), machine, root, log=lambda _line: None):
        pass
    return str(caught.value)


def test_machines_that_a_policy_cannot_take() -> None:
    def machine(*ids: int) -> Machine:
        return Machine(
            "m", tuple(Cpu(i, i, 0, i, node) for i, node in enumerate(ids)), tuple(NumaNode(n, 1 << 30) for n in ids)
        )

    with short_directory() as root:
        nine = machine(*range(9))
        assert "more than 8 NUMA Nodes" in refused({"topologyManagerPolicy": "restricted"}, nine, root)
        assert "masks end at 63" in refused({"topologyManagerPolicy": "restricted"}, machine(0, 64), root)
        with Node(node_config({}), machine(0, 64), root, log=lambda _line: None) as node:
            assert node.admit(pod("p", {"cpu": 1})).admitted
        long = root / ("x" * 100)
        assert "unix socket" in refused({}, machine(0), long)


def test_a_full_disk_refuses_pods_and_loses_none() -> None:
    """The state directory is replaced by one that cannot be written; a node that runs as root needs more than modes."""
    with running_node(STATIC) as node, client(node.root) as control:
        control.admit(GOOD)
        pods = node.root / "pods"
        aside = node.root / "aside"
        pods.rename(aside)
        pods.write_text("a file where a directory was")
        answer = control.admit(pod("q", {"cpu": 1, "memory": "1Gi"}))
        assert answer.verdict.reason == "UnexpectedAdmissionError"
        assert "could not save state to checkpoint" in answer.verdict.message
        with pytest.raises(grpc.RpcError, match="cannot be removed from disk"):
            control.remove("uid-p")
        assert [one.name for one in control.state().pods] == ["p"]
        pods.unlink()
        aside.rename(pods)
        assert control.admit(pod("q", {"cpu": 1, "memory": "1Gi"})).verdict.admitted
        control.remove("uid-p")
        node.restart()
        assert [one.name for one in control.state().pods] == ["q"]
