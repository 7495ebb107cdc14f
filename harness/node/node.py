"""The reference node: what a kubelet does about NUMA alignment, behind the kubelet's own sockets and files."""

import fcntl
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import grpc

from numaproof.errors import UserError
from numaproof.fake_sysfs import Machine
from numaproof.harness.affinity.resource_topology import object_name, resource_topology
from numaproof.harness.affinity.rules import Site
from numaproof.harness.affinity.zones import zones_of
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.api import numaproof_v1_pb2_grpc, podresources_v1_pb2_grpc
from numaproof.harness.cost.costs import Entry
from numaproof.harness.decision.config import NodeConfig
from numaproof.harness.decision.discovery import describe
from numaproof.harness.decision.managers import Managers, NodeDescription
from numaproof.harness.decision.reservations import manager_config, reserve
from numaproof.harness.node.admission import Admissions
from numaproof.harness.node.bind_token import BindToken
from numaproof.harness.node.encode.control import device_message
from numaproof.harness.node.encode.node_json import machine_json, node_json
from numaproof.harness.node.encode.pods_json import pod_list
from numaproof.harness.node.events import EventLog
from numaproof.harness.node.measures import Measures
from numaproof.harness.node.metrics import Metrics
from numaproof.harness.node.plugins import PluginHub
from numaproof.harness.node.plugins.sockets import ListeningSocket, private_directory
from numaproof.harness.node.questions import SwitchboardPort
from numaproof.harness.node.services.binding import BindingPost
from numaproof.harness.node.services.control import MOST_WATCHERS, ControlService
from numaproof.harness.node.services.explaining import ExplainPost
from numaproof.harness.node.services.pod_resources import PodResourcesService
from numaproof.harness.node.services.web import WebServer, json_page
from numaproof.harness.node.snapshot import Admission, ContainerView, Explanation, NodeSnapshot, PodView
from numaproof.harness.node.store import Store
from numaproof.harness.pods.taints import Taint
from numaproof.harness.providers.devices import Device
from numaproof.harness.topology.bitmask import MAX_NODE
from numaproof.harness.topology.provider import HintProvider
from numaproof.harness.topology.verdict import Verdict

# Calls that are served at the same time, and as many over HTTP; a pod whose plugin hangs holds one.
CALLS = 64
# How long calls under way have to end by themselves when the node stops.
STOP_SECONDS = 2

_logger = logging.getLogger(__name__)


class Node:
    """A node from `with` to its end; what it decided is on disk, and a node on the same root goes on from there."""

    def __init__(
        self,
        config: NodeConfig,
        machine: Machine,
        root: Path,
        *,
        http_port: int | None = None,  # None: /metrics and the like on the unix socket only; 0: any free port
        grace_seconds: float = 300,  # how long a plugin that is gone may take to come back
        deadline_seconds: float = 30,  # how long a plugin may take to answer
        name: str = "",  # empty: it takes pods of any spec.nodeName, and is called as its machine
        quotas: Mapping[str, Fraction] | None = None,  # dedicated CPUs by namespace, until told otherwise
        providers: Callable[[], Iterable[HintProvider]] = tuple,  # new ones for each start, after the kubelet's own
        log: Callable[[str], None] = _logger.warning,
    ) -> None:
        self.config = config
        self.machine = machine
        self.root = root.absolute()
        self._http_port = http_port
        self._grace = grace_seconds
        self._deadline = deadline_seconds
        self._name = name
        self._quotas = quotas or {}
        self._providers = providers
        self._log = log
        self._parts: ExitStack | None = None

    @property
    def device_plugins(self) -> Path:
        """The directory where plugins register."""
        return self.root / "device-plugins"

    @property
    def control_socket(self) -> Path:
        """The socket of the control service."""
        return self.root / "control.sock"

    @property
    def pod_resources_socket(self) -> Path:
        """The socket of PodResources."""
        return self.root / "pod-resources" / "kubelet.sock"

    @property
    def http_socket(self) -> Path:
        """The unix socket of /metrics, /healthz, /pods, /node and the others."""
        return self.root / "http.sock"

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._build(stack)
            self._parts = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._parts is not None:
            self._parts.close()
            self._parts = None

    def restart(self) -> None:
        """Stop and start again, as after an update of the kubelet."""
        self.__exit__(None, None, None)
        self.__enter__()

    def _build(self, stack: ExitStack) -> None:
        private_directory(self.root)
        stack.callback(_locked(self.root))
        description = _aligned_nodes(self.config, describe(self.machine))
        reservations = reserve(self.config, description)
        for note in (*self.config.notes, *reservations.notes):
            self._log(note)
        store = Store(self.root)
        loaded = store.load(self.config.cpu_policy, self.config.memory_policy)
        self._events = EventLog()
        self._hub = PluginHub(
            self.device_plugins,
            self.root / "plugins_registry",
            on_devices=self._on_devices,
            on_gone=self._on_gone,
            on_registration=self._on_registration,
            on_costs=self._on_costs,
            expected=tuple(loaded.devices.registered) if loaded.devices else (),
            grace_seconds=self._grace,
            deadline_seconds=self._deadline,
            log=self._log,
        )
        port = SwitchboardPort(self._hub)
        managers = Managers(
            description, manager_config(self.config, reservations.cpus), port, providers=self._providers()
        )
        self._metrics = Metrics()
        self._admissions = Admissions(
            config=self.config,
            managers=managers,
            port=port,
            plugins=self._hub,
            store=store,
            reservations=reservations,
            site=Site(self._name, zones_of(description, reservations), self._name or object_name(self.machine.name)),
            measures=Measures(self._metrics, self.config, {row[0]: row[2] for row in description.cpu_rows}),
            events=self._events,
            log=self._log,
        )
        self._admissions.start(loaded, self._quotas)
        # Calls that wait for a plugin end when the hub does; none may outlive the lock on the root.
        executor = ThreadPoolExecutor(CALLS + MOST_WATCHERS, thread_name_prefix="call")
        asked = ThreadPoolExecutor(CALLS, thread_name_prefix="page")
        stack.callback(executor.shutdown)
        stack.callback(asked.shutdown)
        stack.enter_context(self._hub)
        self._serve(stack, executor, asked, reservations.cpus)

    def _serve(
        self, stack: ExitStack, executor: ThreadPoolExecutor, asked: ThreadPoolExecutor, reserved_cpus: frozenset[int]
    ) -> None:
        token = BindToken(self.root)
        private_directory(self.pod_resources_socket.parent)
        resources = PodResourcesService(self._admissions, self._metrics)
        _serve_at(
            self.pod_resources_socket,
            stack,
            executor,
            lambda server: podresources_v1_pb2_grpc.add_PodResourcesListerServicer_to_server(resources, server),
        )
        control = ControlService(
            admissions=self._admissions,
            plugins=self._hub,
            events=self._events,
            machine=self.machine,
            reserved_cpus=reserved_cpus,
            token=token,
        )
        _serve_at(
            self.control_socket,
            stack,
            executor,
            lambda server: numaproof_v1_pb2_grpc.add_ControlServicer_to_server(control, server),
        )
        pages = {
            "/metrics": lambda: ("text/plain; version=0.0.4", self._metrics.text()),
            "/healthz": lambda: ("text/plain", "ok"),
            "/pods": lambda: json_page(pod_list(self.snapshot())),
            "/node": lambda: json_page(node_json(self.snapshot())),
            "/noderesourcetopology": lambda: json_page(resource_topology(self.snapshot().topology)),
            "/machine": lambda: json_page(machine_json(self.machine)),
        }
        posts = (BindingPost(self._admissions, token), ExplainPost(self._admissions))
        web = WebServer(self.http_socket, self._http_port, pages, posts, executor=asked, log=self._log)
        self.http_port = web.port
        stack.callback(web.close)
        stack.callback(self._events.close)

    # What the node is asked

    def admit(self, manifest: str | Mapping[str, Any]) -> Verdict:
        """Decide about a pod; when this returns, the answer is durable. A UserError if it is not a pod's manifest."""
        return self._admissions.admit(manifest).verdict

    def admit_pod(self, manifest: str | Mapping[str, Any]) -> Admission:
        """The same, with what the pod was given and how that came about."""
        return self._admissions.admit(manifest)

    def remove(self, reference: str) -> str:
        """Free all that a pod has, by its uid or namespace/name; the answer is its uid."""
        return self._admissions.remove(reference)

    def bind(self, reference: str, numa_node_id: str | None = None, cpu_affinity: str | None = None) -> Verdict:
        """Give a pod that waits its NUMA node, its CPUs or both; a refusal leaves it as it was."""
        return self._admissions.bind(reference, numa_node_id, cpu_affinity).verdict

    def change_taints(self, add: Iterable[Taint] = (), remove: Iterable[Taint] = ()) -> tuple[str, ...]:
        """Change the node's taints; the answer are the uids of the pods that had to go."""
        return self._admissions.change_taints(add, remove)[1]

    def set_quota(self, namespace: str, amount: Fraction | None) -> None:
        """Limit the dedicated CPUs of a namespace; None: no longer."""
        self._admissions.set_quota(namespace, amount)

    def explain(self, manifest: str | Mapping[str, Any]) -> Explanation:
        """How a pod would be decided about now, step by step; changes nothing."""
        return self._admissions.explain(manifest)

    def start_container(self, reference: str, container: str) -> ContainerView:
        """A container of an admitted pod starts again, with what it had."""
        return self._admissions.start_container(reference, container)

    def snapshot(self) -> NodeSnapshot:
        """All that the node holds now."""
        return self._admissions.snapshot()

    def assignments(self) -> tuple[PodView, ...]:
        """What every admitted pod was given."""
        return self.snapshot().pods

    def healthy_devices(self) -> Mapping[str, frozenset[str]]:
        """The healthy devices of every registered resource."""
        return self.snapshot().healthy

    def metrics(self) -> str:
        """The metrics, as Prometheus text."""
        return self._metrics.text()

    # What plugins tell, one thing at a time

    def _on_devices(self, resource: str, devices: tuple[Device, ...]) -> None:
        self._admissions.devices_listed(resource, devices)
        self._events.add(api.Event(kind=api.DEVICES, resource=resource, devices=map(device_message, devices)))

    def _on_costs(self, resource: str, entries: tuple[Entry, ...]) -> None:
        self._admissions.costs_told(resource, entries)

    def _on_gone(self, resource: str) -> None:
        self._admissions.plugin_gone(resource)
        self._events.add(api.Event(kind=api.PLUGIN_GONE, resource=resource))

    def _on_registration(self, resource: str, refusal: str | None) -> None:
        if refusal is None:
            self._metrics.registrations.add(resource)
            self._events.add(api.Event(kind=api.REGISTERED, resource=resource))
        else:
            self._events.add(api.Event(kind=api.REFUSED, resource=resource, message=refusal))


def _aligned_nodes(config: NodeConfig, description: NodeDescription) -> NodeDescription:
    """The machine with the nodes that fit into the kubelet's masks; others are refused where masks are needed."""
    beyond = [node for node in description.node_ids if node > MAX_NODE]
    aligned = config.topology_policy != "none" and config.enabled("TopologyManager")
    if beyond and (aligned or config.memory_policy == "Static"):
        raise UserError(
            f"the machine has a NUMA node {beyond[0]}, and masks end at {MAX_NODE}; use topologyManagerPolicy none and "
            "memoryManagerPolicy None, or a machine with lower node ids"
        )
    return replace(description, node_ids=tuple(node for node in description.node_ids if node <= MAX_NODE))


def _locked(root: Path) -> Callable[[], None]:
    """Make the root this node's alone; the answer lets go of it."""
    descriptor = os.open(root / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise UserError(f"{root}: another node runs there; stop it, or give this one a root of its own") from None
    return lambda: os.close(descriptor)


def _serve_at(
    path: Path, stack: ExitStack, executor: ThreadPoolExecutor, add_service: Callable[[grpc.Server], None]
) -> None:
    server = grpc.server(executor)
    add_service(server)
    socket = ListeningSocket(server, path)

    def stop() -> None:
        socket.remove()
        server.stop(STOP_SECONDS).wait()

    stack.callback(stop)
