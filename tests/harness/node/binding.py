"""Pods with a place of their own, and who binds them: over gRPC and over HTTP."""

import http.client
import json
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.api import podresources_v1_pb2 as resources_api
from numaproof.harness.node.node import Node
from tests.harness.node.running import Client, pod, pod_resources

DEDICATED = {"key": "CPUAffinity", "operator": "Exists"}
NUMA = {"key": "NUMACPUAffinity", "operator": "Exists"}
STRICT_MEMORY = {"key": "NUMAMemoryPolicy", "operator": "Equal", "value": "strict"}
PREFERRED_MEMORY = {"key": "NUMAMemoryPolicy", "operator": "Equal", "value": "preferred"}
EVERYTHING = {"operator": "Exists"}
ALL_THREE = "NoScheduleNoAdmitNoExecute"
CPU_TAINT = {"key": "CPUAffinity", "value": "dedicated", "effect": ALL_THREE}
NUMA_TAINT = {"key": "NUMACPUAffinity", "value": "strict", "effect": ALL_THREE}


def tolerating(
    name: str,
    own: Iterable[Mapping[str, Any]],
    *containers: Mapping[str, Any],
    namespace: str = "default",
    **spec: Any,
) -> dict[str, Any]:
    """A Guaranteed pod with tolerations, and what else its spec says; two CPUs and 1 GiB unless told."""
    manifest = pod(name, *(containers or ({"cpu": 2, "memory": "1Gi"},)))
    manifest["metadata"]["namespace"] = namespace
    manifest["spec"] |= {"tolerations": list(own), **spec}
    return manifest


class Binder(Client):
    """A client that has the permission to bind."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.root = root

    @property
    def token(self) -> str:
        return (self.root / "bind.token").read_text().strip()

    def bind(self, name: str, **fields: Any) -> api.BindResponse:
        reference = name if "/" in name else f"default/{name}"
        permission = (("authorization", f"Bearer {self.token}"),)
        return self.stub.Bind(api.BindRequest(pod=reference, **fields), metadata=permission, timeout=120)

    def taint(
        self, *add: Mapping[str, str], remove: Iterable[Mapping[str, str]] = (), timeout: float = 120
    ) -> api.TaintResponse:
        request = api.TaintRequest(
            add=[api.NodeTaint(**one) for one in add], remove=[api.NodeTaint(**one) for one in remove]
        )
        return self.stub.Taint(request, timeout=timeout)

    def quota(self, namespace: str, cpus: str | None) -> dict[str, tuple[str, str]]:
        told = {} if cpus is None else {"dedicated_cpu": cpus}
        answer = self.stub.SetQuota(api.SetQuotaRequest(namespace=namespace, **told), timeout=120)
        return {one.namespace: (one.dedicated_cpu, one.used) for one in answer.quotas}

    def status(self) -> api.NodeStatusResponse:
        return self.stub.NodeStatus(api.NodeStatusRequest(), timeout=120)

    def pending(self) -> list[str]:
        return [one.name for one in self.state().pending]

    def running(self) -> list[str]:
        return [one.name for one in self.state().pods]

    def available(self, resource: str = "cpu") -> list[str]:
        return [one.available[resource] for one in self.status().numa_nodes]


@contextmanager
def binder(node: Node) -> Iterator[Binder]:
    """A client of the control service that may bind."""
    one = Binder(node.root)
    try:
        yield one
    finally:
        one.channel.close()


def reason(verdict: api.Verdict) -> str:
    """Why a pod was not admitted; empty: it was."""
    assert verdict.admitted is (verdict.reason == "")
    return verdict.reason


@contextmanager
def refused_call(code: grpc.StatusCode, *words: str) -> Iterator[None]:
    """What is asked in here is an error with this code, told in one line that has these words."""
    with pytest.raises(grpc.RpcError) as caught:
        yield
    details = caught.value.details() or ""
    assert caught.value.code() is code, details
    assert "\n" not in details
    for word in words:
        assert word in details


def written(root: Path) -> dict[str, bytes]:
    """All files of a node."""
    return {str(path): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def cpu_entries(root: Path) -> dict[str, dict[str, str]]:
    """Who has CPUs of its own, by the kubelet's file: uid -> container -> list."""
    content = json.loads((root / "cpu_manager_state").read_text())
    entries: dict[str, dict[str, str]] = content.get("entries", {})
    return entries


def listed_cpus(node: Node) -> dict[str, list[list[int]]]:
    """What PodResources tells: by pod, the CPUs of each container."""
    with pod_resources(node) as stub:
        answer = stub.List(resources_api.ListPodResourcesRequest(), timeout=120)
    return {one.name: [list(each.cpu_ids) for each in one.containers] for one in answer.pod_resources}


class _Connection(http.client.HTTPConnection):
    def __init__(self, node: Node) -> None:
        super().__init__("localhost", timeout=120)
        self._node = node

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(120)
        self.sock.connect(str(self._node.http_socket))


def connection(node: Node, *, tcp: bool = False) -> http.client.HTTPConnection:
    """HTTP with a node, over its unix socket or its port."""
    if not tcp:
        return _Connection(node)
    assert node.http_port
    return http.client.HTTPConnection("127.0.0.1", node.http_port, timeout=120)


def page(node: Node, path: str) -> Any:
    """The JSON of a page."""
    dialled = connection(node)
    try:
        dialled.request("GET", path)
        answer = dialled.getresponse()
        assert answer.status == 200
        return json.loads(answer.read())
    finally:
        dialled.close()


def post(
    node: Node, path: str, body: Any, *, token: str | None = None, tcp: bool = False, scheme: str = "Bearer"
) -> tuple[int, Any]:
    """The status and JSON that a post is answered with; a body that is no text or bytes goes as JSON."""
    dialled = connection(node, tcp=tcp)
    headers = {} if token is None else {"Authorization": f"{scheme} {token}"}
    content = body if isinstance(body, str | bytes) else json.dumps(body)
    try:
        dialled.request("POST", path, content, headers)
        answer = dialled.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        dialled.close()


def token_of(node: Node) -> str:
    return (node.root / "bind.token").read_text().strip()
