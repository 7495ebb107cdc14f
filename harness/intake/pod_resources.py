"""What a running kubelet tells of who holds what, and of what there is: PodResources v1, over its unix socket."""

import socket as sockets
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import grpc

from numaproof.errors import UserError
from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.api import podresources_v1_pb2 as api
from numaproof.harness.api import podresources_v1_pb2_grpc as api_grpc
from numaproof.harness.intake.contradictions import contradictions
from numaproof.harness.intake.state import KubeletState
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory.state import Block
from numaproof.harness.vocabulary import ContainerKey

SECONDS = 10.0  # that an answer may take
_LONGEST_PATH = 107  # bytes of a unix socket's path
_OPTIONS = (
    # Servers written in Go refuse a socket's path as the name of a host.
    ("grpc.default_authority", "localhost"),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
    # The kubelet's own limit for this service.
    ("grpc.max_receive_message_length", 16 << 20),
)
_OLD = "a kubelet before 1.20, or the socket of something else; --kubelet-root reads its files"
Answer = TypeVar("Answer")


def read_pod_resources(socket: str, seconds: float = SECONDS) -> KubeletState:
    """Who holds what by the List of a running kubelet, pods under their names; a UserError if nobody answers."""
    _check_socket(socket, seconds)
    notes: list[str] = []
    with grpc.insecure_channel(f"unix:{Path(socket).absolute()}", options=_OPTIONS) as channel:
        stub = api_grpc.PodResourcesListerStub(channel)
        try:
            pods = _answer(stub.List, api.ListPodResourcesRequest(), seconds)
        except grpc.RpcError as error:
            raise UserError(f"{socket}: {_problem(error, seconds)}") from None
        try:
            there: api.AllocatableResourcesResponse | None = _answer(
                stub.GetAllocatableResources, api.AllocatableResourcesRequest(), seconds
            )
        except grpc.RpcError as error:
            there = None
            notes.append(f"{socket}: GetAllocatableResources: {_problem(error, seconds)}; what is free is not told")
    return _state(socket, pods, there, notes)


def _check_socket(socket: str, seconds: float) -> None:
    """Connect once without gRPC, whose errors do not tell what is wrong with a socket."""
    try:
        path = str(Path(socket).absolute())
        if not stat.S_ISSOCK(Path(path).stat().st_mode):
            raise UserError(f"{socket}: is not a socket; give the kubelet's pod-resources/kubelet.sock")
        if len(path.encode(errors="surrogateescape")) > _LONGEST_PATH:
            raise UserError(f"{socket}: a socket's path has at most {_LONGEST_PATH} bytes; link it under a shorter one")
        with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as probe:
            probe.settimeout(seconds)
            probe.connect(path)
    except FileNotFoundError:
        raise UserError(f"{socket}: there is no such socket; a kubelet has it in pod-resources/kubelet.sock") from None
    except PermissionError:
        raise UserError(f"{socket}: may not be opened (permission denied); run this as root") from None
    except ConnectionRefusedError:
        raise UserError(f"{socket}: nobody answers there; is the kubelet running?") from None
    except (TimeoutError, BlockingIOError):
        raise UserError(f"{socket}: nobody answers there within {seconds:g} s; is the kubelet well?") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{socket}: cannot be opened ({getattr(error, 'strerror', None) or error})") from None


def _answer(call: Callable[..., Answer], request: object, seconds: float) -> Answer:
    return call(request, timeout=seconds)


def _problem(error: grpc.RpcError, seconds: float) -> str:
    code = error.code() if isinstance(error, grpc.Call) else None
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return f"serves no PodResources v1 ({_OLD})"
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return f"nobody answers there within {seconds:g} s; is the kubelet well?"
    details = " ".join(str(error.details() if isinstance(error, grpc.Call) else error).split())[:120]
    return f"does not answer as a kubelet does ({code.name if code else 'no status'}: {details})"


def _state(
    socket: str,
    pods: api.ListPodResourcesResponse,
    there: api.AllocatableResourcesResponse | None,
    notes: list[str],
) -> KubeletState:
    cpus: dict[ContainerKey, frozenset[int]] = {}
    memory: dict[ContainerKey, tuple[Block, ...]] = {}
    devices: dict[ContainerKey, dict[str, tuple[Device, ...]]] = {}
    names = {}
    for pod in pods.pod_resources:
        uid = f"{pod.namespace}/{pod.name}"
        names[uid] = uid
        for container in pod.containers:
            key = uid, container.name
            if container.cpu_ids:
                cpus[key] = frozenset(container.cpu_ids)
            if blocks := _blocks(container.memory):
                memory[key] = blocks
            if found := _devices(container.devices):
                devices[key] = found
    cpus = _exclusive(cpus, socket, notes)
    listed = _devices(there.devices) if there else {}
    state = KubeletState(
        cpu_policy="static" if cpus else _policy(there and there.cpu_ids, "static", "none"),
        cpus=cpus,
        memory_policy="Static" if memory else _policy(there and there.memory, "Static", "None"),
        memory=memory,
        devices=devices,
        registered={resource: tuple(one.id for one in found) for resource, found in listed.items()},
        pod_names=names,
        listed=listed,
        allocatable_cpus=frozenset(there.cpu_ids) if there and there.cpu_ids else None,
        allocatable_memory=_blocks(there.memory) if there and there.memory else None,
        live=True,
    )
    missing = sum(
        one.id not in state.registered.get(resource, ())
        for held in devices.values()
        for resource, found in held.items()
        for one in found
        if there
    )
    if missing:
        notes.append(f"{socket}: {missing} devices in use are not among those that can be given: sick, or gone")
    return replace(state, notes=(*notes, *contradictions(state)))


def _policy(allocatable: object, static: str, none: str) -> str | None:
    """The policy that what there is to give shows: with the policy none a kubelet lists nothing; None: not told."""
    return None if allocatable is None else static if allocatable else none


def _blocks(messages: Iterable[api.ContainerMemory]) -> tuple[Block, ...]:
    return tuple(
        Block(tuple(sorted({node.ID for node in one.topology.nodes})), one.memory_type, one.size)
        for one in messages
        if one.size and one.topology.nodes
    )


def _devices(messages: Iterable[api.ContainerDevices]) -> dict[str, tuple[Device, ...]]:
    """Devices by resource; one of several NUMA nodes is listed once for each of them."""
    nodes: dict[str, dict[str, set[int]]] = {}
    for one in messages:
        for name in one.device_ids:
            nodes.setdefault(one.resource_name, {}).setdefault(name, set()).update(
                node.ID for node in one.topology.nodes if node.ID >= 0
            )
    return {
        resource: tuple(Device(name, tuple(sorted(where)) or None) for name, where in sorted(found.items()))
        for resource, found in nodes.items()
    }


def _exclusive(
    listed: Mapping[ContainerKey, frozenset[int]], socket: str, notes: list[str]
) -> dict[ContainerKey, frozenset[int]]:
    """Without the CPUs that pods share: kubelets before 1.22 list the shared pool for everyone who runs there."""
    pods: dict[frozenset[int], set[str]] = {}
    for (uid, _container), cpus in listed.items():
        pods.setdefault(cpus, set()).add(uid)
    shared = {cpus for cpus, uids in pods.items() if len(uids) > 1}
    for cpus in sorted(shared, key=min):
        notes.append(
            f"{socket}: CPUs {format_cpulist(cpus)[:80]} are listed for {len(pods[cpus])} pods: they count as shared"
            " (a kubelet before 1.22)"
        )
    return {key: cpus for key, cpus in listed.items() if cpus not in shared}
