"""Binding by POST, and the permission that it takes, over HTTP and over gRPC."""

import json
import stat
from typing import Any

import grpc
import pytest

from numaproof.errors import UserError
from numaproof.fake_sysfs import parse_machine
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.decision.config import node_config
from numaproof.harness.node.node import Node
from tests.harness.affinity.test_resource_topology import check_resource_topology
from tests.harness.node.binding import (
    CPU_TAINT,
    DEDICATED,
    EVERYTHING,
    NUMA,
    binder,
    connection,
    page,
    post,
    refused_call,
    token_of,
    tolerating,
    written,
)
from tests.harness.node.running import STATIC, TWO_NODES, pod, running_node
from tests.places import short_directory

BIND = "/pod/default/a/bind"


@pytest.mark.parametrize("tcp", [False, True])
def test_a_post_binds(tcp: bool) -> None:
    with running_node(STATIC, http_port=0) as node, binder(node) as control:
        token = token_of(node)
        control.admit(tolerating("a", [DEDICATED, NUMA]))
        status, told = post(node, "/pod/a/bind", {"numaNodeID": "1"}, token=token, tcp=tcp)
        assert (status, told["admitted"], told["reason"]) == (200, False, "Pending")
        assert told["message"] == "waits to be bound: spec.cpuAffinity not told yet"
        status, told = post(node, BIND, {"cpuAffinity": "8-9"}, token=token, tcp=tcp)
        assert (status, told) == (200, {"admitted": True, "reason": "", "message": ""})
        assert control.running() == ["a"]
        status, told = post(node, BIND, {"cpuAffinity": "10-11"}, token=token, tcp=tcp)
        assert status == 409
        assert "runs already" in told["message"]


def test_namespaces_are_part_of_the_path() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        control.admit(tolerating("a", [DEDICATED], namespace="team"))
        token = token_of(node)
        assert post(node, "/pod/a/bind", {"cpuAffinity": "2-3"}, token=token)[0] == 404
        assert post(node, "/pod/default/a/bind", {"cpuAffinity": "2-3"}, token=token)[0] == 404
        assert post(node, "/pod/team/a/bind?dry=no", {"cpuAffinity": "2-3"}, token=token)[0] == 200


BODIES: tuple[tuple[Any, int, str], ...] = (
    ("", 400, "the body is not a binding"),
    ("{", 400, "the body is not a binding"),
    (b"\xff\xfe", 400, "the body is not a binding"),
    ("[" * 10_000, 400, "the body is not a binding"),
    ([], 400, "the body is not a binding"),
    ("null", 400, "the body is not a binding"),
    ({}, 400, "the body is not a binding"),
    ({"cpuAffinity": 2}, 400, "cpuAffinity: 2 is not a text"),
    ({"cpuAffinity": ["2", "3"]}, 400, "cpuAffinity: ['2', '3'] is not a text"),
    ({"numaNodeID": 0}, 400, "numaNodeID: 0 is not a text"),
    ({"numaNodeID": True}, 400, "numaNodeID: True is not a text"),
    ({"cpuAffinity": None}, 400, "cpuAffinity: None is not a text"),
    ({"cpuAffinity": "2-3", "numaNodeID": {"0": 1}}, 400, "numaNodeID: [('0', 1)] is not a text"),
    ('{"cpuAffinity": "2-3", "cpuAffinity": "6-7"}', 400, "cpuAffinity: is there twice"),
    ({"cpuaffinity": "2-3"}, 400, "'cpuaffinity': unknown key; known: numaNodeID, cpuAffinity"),
    ({"cpuAffinity": "x"}, 400, "pod a: spec.cpuAffinity: 'x'"),
    ({"cpuAffinity": "2-1"}, 400, "pod a: spec.cpuAffinity: "),
    ({"cpuAffinity": "9" * 5000}, 400, "pod a: spec.cpuAffinity: "),
    ({"cpuAffinity": "15-16"}, 400, "pod a: spec.cpuAffinity: CPUs 16 are not online here"),
    ({"cpuAffinity": "0-1"}, 400, "pod a: spec.cpuAffinity: CPUs 0 are reserved"),
    ({"cpuAffinity": "1"}, 400, "pod a: spec.cpuAffinity: 1 CPUs, the pod asks for 2"),
    ({"numaNodeID": "x"}, 400, "pod a: spec.numaNodeID: 'x'"),
    ({"numaNodeID": "2"}, 400, "pod a: spec.numaNodeID: there is no NUMA node 2 here"),
    ({"numaNodeID": "9" * 5000}, 400, "pod a: spec.numaNodeID: "),
    ({"cpuAffinity": "7-8", "numaNodeID": "0"}, 400, "pod a: spec.cpuAffinity: CPUs 8 are not of NUMA node 0"),
    ({"cpuAffinity": "4-5"}, 422, "spec.cpuAffinity: CPUs 4-5 are those of pod default/other"),
)


def test_what_cannot_be_is_answered_and_changes_nothing() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        control.admit(tolerating("other", [DEDICATED], cpuAffinity="4-5"))
        control.admit(tolerating("a", [DEDICATED]))
        token = token_of(node)
        before, files = control.state().pending, written(node.root)
        for body, code, message in BODIES:
            status, told = post(node, BIND, body, token=token)
            assert status == code, (body, told)
            assert message in told["message"]
            assert "\n" not in told["message"]
            assert control.state().pending == before, body
            assert written(node.root) == files, body
        for path in ("/pod/nobody/bind", "/pod/other-space/a/bind"):
            status, told = post(node, path, {"cpuAffinity": "2-3"}, token=token)
            assert status == 404
            assert "is not here" in told["message"]
        for path in ("/pod/a", "/pod/a/bind/", "/pod//bind", "/bind", "/pods", "/pod/a/b/c/bind", "/pod/A/bind", "/"):
            status, told = post(node, path, {"cpuAffinity": "2-3"}, token=token)
            assert status == 404
            assert "nothing is to be posted there" in told["message"]
        assert written(node.root) == files
        assert post(node, BIND, {"cpuAffinity": "2-3"}, token=token)[0] == 200


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (None, 411),
        ("", 400),  # RFC 9112, 6.3: what is no number is answered so
        ("x", 400),
        ("-1", 400),
        ("65537", 413),
        ("9" * 15, 413),
        ("9" * 5000, 400),
        ("65536", 400),
    ],
)
def test_a_body_has_a_length_and_is_not_too_long(length: str | None, expected: int) -> None:
    with running_node(STATIC) as node, binder(node) as control:
        control.admit(tolerating("a", [DEDICATED]))
        dialled = connection(node)
        dialled.putrequest("POST", BIND)
        dialled.putheader("Authorization", f"Bearer {token_of(node)}")
        if length is not None:
            dialled.putheader("Content-Length", length)
        dialled.endheaders(b" " * 65536 if length == "65536" else None)
        answer = dialled.getresponse()
        assert answer.status == expected
        assert json.loads(answer.read())["message"]
        dialled.close()
        assert post(node, BIND, {"cpuAffinity": "2-3"}, token=token_of(node))[0] == 200


def test_the_permission_to_bind_is_a_token_of_its_own() -> None:
    with running_node(STATIC, http_port=0) as node, binder(node) as control:
        control.admit(tolerating("a", [DEDICATED]))
        token = token_of(node)
        assert len(token) >= 32
        assert stat.S_IMODE((node.root / "bind.token").stat().st_mode) == 0o600
        files = written(node.root)
        for wrong, scheme in (
            (None, ""),
            ("", "Bearer"),
            (token[:-1], "Bearer"),
            (f"{token}x", "Bearer"),
            (token, "Basic"),
        ):
            for tcp in (False, True):
                status, told = post(node, BIND, {"cpuAffinity": "2-3"}, token=wrong, scheme=scheme, tcp=tcp)
                assert status == 403
                assert "binding takes a permission of its own" in told["message"]
                assert token not in told["message"]
            metadata = () if wrong is None else (("authorization", f"{scheme} {wrong}"),)
            with refused_call(grpc.StatusCode.PERMISSION_DENIED, "binding takes a permission of its own"):
                control.stub.Bind(api.BindRequest(pod="default/a", cpu_affinity="2-3"), metadata=metadata, timeout=120)
        # Whether a pod is here is nothing for those without it.
        assert post(node, "/pod/nobody/bind", {"cpuAffinity": "2-3"})[0] == 403
        assert written(node.root) == files
        assert control.pending() == ["a"]
        node.restart()
        assert token_of(node) == token
        assert post(node, BIND, {"cpuAffinity": "2-3"}, token=token, scheme="bearer", tcp=True)[0] == 200


@pytest.mark.parametrize("content", [b"", b"short\n", b"\xff\xfe" * 20])
def test_a_token_that_is_none_is_refused_and_left_alone(content: bytes) -> None:
    with short_directory() as root:
        (root / "bind.token").write_bytes(content)
        node = Node(node_config(STATIC), parse_machine(TWO_NODES), root, log=lambda _line: None)
        with pytest.raises(UserError, match=r"bind\.token: .*delete it"), node:
            pass
        assert (root / "bind.token").read_bytes() == content


def test_the_node_is_told_as_the_proposal_has_it() -> None:
    config = STATIC | {"registerWithTaints": [CPU_TAINT]}
    with running_node(config, name="n1") as node, binder(node) as control:
        control.admit(tolerating("a", [DEDICATED], cpuAffinity="8-9"))
        told = page(node, "/node")
        assert (told["kind"], told["apiVersion"], told["metadata"]["name"]) == ("Node", "v1", "n1")
        assert told["spec"] == {"taints": [CPU_TAINT]}
        assert told["status"]["capacity"]["cpu"] == "16"
        assert told["status"]["allocatable"]["cpu"] == "15"
        first, second = told["status"]["topology"]["numaNodes"]
        assert first.keys() == {"numaNodeID", "capacity", "allocatable", "cpuSet"}
        assert (first["numaNodeID"], first["cpuSet"], second["numaNodeID"], second["cpuSet"]) == (
            "0",
            "0-7",
            "1",
            "8-15",
        )
        assert (first["capacity"]["cpu"], first["allocatable"]["cpu"]) == ("8", "7")
        assert (first["capacity"]["memory"], first["allocatable"]["memory"]) == (str(64 << 30), str(63 << 30))
        assert second["allocatable"]["cpu"] == "8"  # what pods hold is not taken off
        status = control.status()
        assert [one.numa_node_id for one in status.numa_nodes] == ["0", "1"]
        assert [one.cpu_set for one in status.numa_nodes] == ["0-7", "8-15"]
        assert [one.available["cpu"] for one in status.numa_nodes] == ["7", "6"]
        for message, shown in zip(status.numa_nodes, (first, second), strict=True):
            assert dict(message.capacity) == shown["capacity"]
            assert dict(message.allocatable) == shown["allocatable"]
        assert [(one.key, one.value, one.effect) for one in status.taints] == [tuple(CPU_TAINT.values())]


def test_the_resource_topology_is_current() -> None:
    with running_node(STATIC | {"topologyManagerPolicy": "restricted"}) as node, binder(node) as control:

        def available() -> list[str]:
            document = page(node, "/noderesourcetopology")
            check_resource_topology(document)
            assert document["topologyPolicies"] == ["RestrictedContainerLevel"]
            return [zone["resources"][0]["available"] for zone in document["zones"]]

        assert available() == ["7", "8"]
        control.admit(tolerating("a", [DEDICATED]))
        assert available() == ["7", "8"]
        control.bind("a", cpu_affinity="8-9")
        assert available() == ["7", "6"]
        control.admit(tolerating("b", [NUMA], {"cpu": "1500m", "memory": "1Gi"}, numaNodeID="0"))
        assert available() == ["5500m", "6"]
        control.admit(pod("c", {"cpu": 2, "memory": "1Gi"}))
        assert sum(map(float, (text.replace("5500m", "5.5").replace("3500m", "3.5") for text in available()))) == 9.5
        control.remove("uid-a")
        control.remove("uid-b")
        control.remove("uid-c")
        assert available() == ["7", "8"]


def test_the_machine_is_told_as_cadvisor_tells_it() -> None:
    with running_node(STATIC) as node:
        told = page(node, "/machine")
        assert (told["num_cores"], told["num_physical_cores"], told["num_sockets"]) == (16, 8, 2)
        assert told["memory_capacity"] == 128 << 30
        assert [one["node_id"] for one in told["topology"]] == [0, 1]
        assert [one["memory"] for one in told["topology"]] == [64 << 30] * 2
        assert [core["thread_ids"] for core in told["topology"][1]["cores"]] == [[8, 9], [10, 11], [12, 13], [14, 15]]


def test_wildcards_do_not_wait() -> None:
    config = STATIC | {"registerWithTaints": [CPU_TAINT]}
    with running_node(config) as node, binder(node) as control:
        assert control.admit(tolerating("a", [EVERYTHING])).verdict.admitted
        assert [item["status"]["phase"] for item in page(node, "/pods")["items"]] == ["Running"]
