"""The reference node as node under test: a process, spoken to over its sockets.

The only part of the harness outside of the node that speaks its private control service and knows its paths.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import grpc
import yaml

from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.api import numaproof_v1_pb2_grpc as api_grpc
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import Block
from numaproof.harness.rig.decided import decision_records
from numaproof.harness.rig.explained import explanation_lines, given_lines
from numaproof.harness.rig.metrics_page import read_metrics
from numaproof.harness.rig.observe.tool_views import View
from numaproof.harness.rig.observe.workload import Workload
from numaproof.harness.rig.plugin_fleet import PluginEvent
from numaproof.harness.rig.pod_resources import allocatable, listed_pods, one_pod
from numaproof.harness.runtimes import Running
from numaproof.harness.runtimes.launcher import Launcher
from numaproof.harness.scenario.outcome import ChosenCost, Confined, Outcome
from numaproof.harness.scenario.rig import RigFailedError
from numaproof.harness.waiting import wait_until_nothing

_UP_SECONDS = 120
_CALL_SECONDS = 120
_NOTICED: Mapping[int, Literal["registered", "devices changed"]] = {
    api.EventKind.REGISTERED: "registered",
    api.EventKind.DEVICES: "devices changed",
}
# That it will not have what it was given -> the reason that a story calls it by.
_REFUSALS: Mapping[grpc.StatusCode, str] = {
    grpc.StatusCode.INVALID_ARGUMENT: "Invalid",
    grpc.StatusCode.FAILED_PRECONDITION: "Conflict",
    grpc.StatusCode.NOT_FOUND: "NotFound",
    grpc.StatusCode.PERMISSION_DENIED: "Forbidden",
}


class ReferenceNode:
    """A reference node with a configuration, from `with` to its end; its files are below `root`."""

    offers = frozenset({"explain", "affinity"})

    def __init__(self, launcher: Launcher, root: Path, config: Mapping[str, Any], semantics: str) -> None:
        self._launcher = launcher
        self._root = root / "node"
        self._config = root / "config.yaml"
        self._semantics = semantics
        self._process: Running | None = None
        self._printed = ""  # before it was restarted
        self._channels = ExitStack()
        self._uids: dict[str, str] = {}  # pod name -> uid, of what was admitted
        self._on_restart: list[Callable[[], None]] = []
        self._root.mkdir(mode=0o700)
        self._config.write_text(yaml.safe_dump(dict(config)))

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *reason: object) -> None:
        self._stop()

    # ---- NodeUnderTest

    def admit(self, manifest: Mapping[str, Any]) -> Outcome:
        """Give a pod to the node."""
        request = api.AdmitRequest(manifest=json.dumps(manifest), trace=True)

        def answered() -> Outcome:
            answer = self._control.Admit(request, timeout=_CALL_SECONDS)
            outcome = _outcome(answer.verdict, answer.pod)
            if outcome.admitted or outcome.waits:
                self._uids[answer.pod.name] = answer.pod.uid
            return replace(outcome, cost=_cost(answer), decided=decision_records(answer.decisions))

        return self._answer("admit", answered)

    def bind(self, name: str, numa_node_id: str | None, cpu_affinity: str | None, *, permitted: bool = True) -> Outcome:
        """Give a pod that waits its NUMA node or its CPUs, with or without the permission; None: not told."""
        pod = self._uids.get(name, f"default/{name}")
        request = api.BindRequest(pod=pod, numa_node_id=numa_node_id, cpu_affinity=cpu_affinity, trace=True)
        token = (self._root / "bind.token").read_text().strip()
        permission = (("authorization", f"Bearer {token}"),) if permitted else ()

        def answered() -> Outcome:
            answer = self._control.Bind(request, timeout=_CALL_SECONDS, metadata=permission)
            return replace(_outcome(answer.verdict, answer.pod), decided=decision_records(answer.decisions))

        return self._answer("bind", answered)

    def taint(self, add: Sequence[str], remove: Sequence[str]) -> Outcome:
        """Change the node's taints: KEY=VALUE:EFFECT; to remove, KEY or KEY:EFFECT. It tells who is evicted."""
        request = api.TaintRequest(add=map(_taint, add), remove=map(_taint, remove))

        def answered() -> Outcome:
            gone = set(self._control.Taint(request, timeout=_CALL_SECONDS).evicted)
            names = tuple(name for name, uid in self._uids.items() if uid in gone)
            for name in names:
                del self._uids[name]
            return Outcome(True, evicted=names)

        return self._answer("change its taints", answered)

    def set_quota(self, dedicated_cpu: str | None) -> Outcome:
        """Limit the dedicated CPUs of all pods together; None: any number."""
        request = api.SetQuotaRequest(namespace="default", dedicated_cpu=dedicated_cpu)

        def answered() -> Outcome:
            self._control.SetQuota(request, timeout=_CALL_SECONDS)
            return Outcome(True)

        return self._answer("set a quota", answered)

    def pending(self) -> Mapping[str, Mapping[str, Assignment]]:
        """Pod name -> container name -> what it holds, of all pods that wait to be bound."""
        return {pod.name: _containers(pod) for pod in self._state().pending}

    def explain(self, manifest: Mapping[str, Any]) -> list[str]:
        """What the node decided about a pod that it was just given, and why, in lines."""
        held = self._pod(manifest["metadata"]["name"])
        if held is not None:
            return list(given_lines(held))
        request = api.ExplainRequest(manifest=json.dumps(manifest))
        lines: list[str] = []

        def answered() -> Outcome:
            lines.extend(explanation_lines(self._control.Explain(request, timeout=_CALL_SECONDS)))
            return Outcome(True)

        refused = self._answer("explain", answered).message
        return [*lines, *filter(None, [refused])]

    def remove(self, name: str) -> None:
        """Take a pod away; one that was not admitted holds nothing, and nothing happens."""
        if uid := self._uids.pop(name, None):
            with self._asked_to("remove"):
                self._control.Remove(api.RemoveRequest(pod=uid), timeout=_CALL_SECONDS)

    def restart(self) -> None:
        """End the node hard and start it again; its plugins register again."""
        self._stop()
        self._restarted()

    def lose_device_checkpoint(self) -> None:
        """End the node hard, take its device checkpoint away, and start it again."""
        self._stop()
        (self.plugin_directory / "kubelet_internal_checkpoint").unlink()
        self._restarted()

    def assignments(self) -> Mapping[str, Mapping[str, Assignment]]:
        """Pod name -> container name -> what it was given, of all pods that the node holds."""
        return {pod.name: _containers(pod) for pod in self._state().pods}

    def metrics(self) -> Mapping[str, float]:
        """The node's metrics: sample, as `samples.sample_name` spells it -> value."""
        try:
            return read_metrics(self._root / "http.sock", _CALL_SECONDS)
        except OSError as error:
            raise RigFailedError(f"the node did not show its metrics ({error})") from error

    def pod_resources(self) -> Mapping[str, Mapping[str, Assignment]]:
        """What PodResources lists: pod name -> container name -> what it was given."""
        with self._asked_to("list its pods"):
            return listed_pods(self._resources, _CALL_SECONDS)

    def pod_resources_of(self, name: str) -> Mapping[str, Assignment] | None:
        """What PodResources gets of one pod; None: it knows no such pod."""
        with self._asked_to(f"get the pod {name}"):
            return one_pod(self._resources, name, _CALL_SECONDS)

    def allocatable(self) -> Assignment:
        """What PodResources calls allocatable."""
        with self._asked_to("show what is allocatable"):
            return allocatable(self._resources, _CALL_SECONDS)

    def log(self) -> str:
        """All that it has printed since it started first."""
        return self._printed + (self._process.output() if self._process is not None else "")

    # ---- What the fleet of plugins asks (plugin_fleet.PluginWatcher)

    @property
    def plugin_directory(self) -> Path:
        """Where plugins register."""
        return self._root / "device-plugins"

    def on_restart(self, call: Callable[[], None]) -> None:
        """Have something called whenever the node is up again."""
        self._on_restart.append(call)

    def devices_seen(self) -> Mapping[str, Mapping[str, bool]]:
        """Resource -> device -> whether it is healthy to the node, of every resource whose devices it was told."""
        plugins = self._state().plugins
        return {one.resource: {device.id: device.healthy for device in one.devices} for one in plugins if one.devices}

    def moment(self) -> int:
        """Now, as `plugin_events` takes it; 0 is the node's start."""
        return self._state().last_event

    def plugin_events(self, since: int) -> Sequence[PluginEvent]:
        """What the node has noticed of plugins since a moment, in order."""
        last = self._state().last_event
        found = []
        if last > since:
            with self._asked_to("tell its events"):
                events = self._control.Watch(api.WatchRequest(after=since), timeout=_CALL_SECONDS)
                for event in events:  # without gaps: the last one comes
                    if event.kind in _NOTICED:
                        found.append(PluginEvent(event.resource, _NOTICED[event.kind]))
                    if event.number >= last:
                        break
                events.cancel()
        return found

    # ---- What the surroundings ask (surroundings.ObservedNode)

    @property
    def running(self) -> Running:
        """Its process: where it runs, commands can be executed."""
        assert self._process is not None, "the node was started"
        return self._process

    def machine_seen(self) -> View:
        """The machine, as the node sees it."""
        with self._asked_to("show its machine"):
            seen = self._control.Machine(api.MachineRequest(), timeout=_CALL_SECONDS)
        return View(
            {node.id: tuple(node.cpus) for node in seen.nodes},
            {node.id: node.memory >> 20 for node in seen.nodes},
            {node.id: tuple(node.distances) for node in seen.nodes},
        )

    def workloads(self, name: str) -> tuple[Workload, ...] | None:
        """What is to be started of a pod; None: the node does not hold it."""
        pod = self._pod(name)
        return None if pod is None else workloads_of(pod)

    # ---- Its process

    def _start(self) -> None:
        arguments = ("node", "--root", str(self._root), "--config", str(self._config), "--semantics", self._semantics)
        command = (*self._launcher.numaproof, *arguments, "--sysfs-root", self._launcher.sysfs_root)
        self._process = process = self._launcher.start(command)

        def unready() -> str:
            printed = process.output()
            return "" if "ready:" in printed or process.poll() is not None else f"it printed {printed!r}"

        wait_until_nothing(unready, timeout=_UP_SECONDS, what="the node to be ready")
        if process.poll() is not None:
            raise RigFailedError(f"the node ended: {process.output().strip()}")
        control = self._channels.enter_context(_channel(self._root / "control.sock"))
        self._control = api_grpc.ControlStub(control)
        self._resources = self._channels.enter_context(_channel(self._root / "pod-resources/kubelet.sock"))

    def _stop(self) -> None:
        self._channels.close()
        if self._process is not None:
            process, self._process = self._process, None
            process.__exit__()
            self._printed += process.output()

    def _restarted(self) -> None:
        self._start()
        for call in self._on_restart:
            call()

    @contextmanager
    def _asked_to(self, what: str) -> Iterator[None]:
        """A call that the node does not answer well is told in a line, with what the node printed last."""
        try:
            yield
        except grpc.RpcError as error:
            printed = self._process.output().strip().splitlines() if self._process is not None else []
            said = f"{error.code().name}: {error.details()}" if isinstance(error, grpc.Call) else str(error)
            raise RigFailedError(f"the node did not {what} ({said}); it printed last: {printed[-1:]}") from error

    def _answer(self, what: str, call: Callable[[], Outcome]) -> Outcome:
        """What comes of a call; that the node will not have what it was given is an answer, too."""
        with self._asked_to(what):
            try:
                return call()
            except grpc.RpcError as error:
                if isinstance(error, grpc.Call) and error.code() in _REFUSALS:
                    return Outcome(False, _REFUSALS[error.code()], error.details())
                raise

    def _state(self) -> api.StateResponse:
        with self._asked_to("show its state"):
            return self._control.State(api.StateRequest(), timeout=_CALL_SECONDS)

    def _pod(self, name: str) -> api.Pod | None:
        return next((pod for pod in self._state().pods if pod.name == name), None)


def workloads_of(pod: api.Pod) -> tuple[Workload, ...]:
    """What runs of a pod once it is started: its sidecars and its containers; init containers have ended.

    Those of a bound pod have what its cgroup has, all of them the same, unless a manager gave them a part of it.
    """
    cgroup = pod.binding
    return tuple(
        Workload(
            one.name,
            tuple(one.cpus or cgroup.cpuset_cpus),
            tuple(sorted({node for block in one.memory for node in block.nodes} or cgroup.cpuset_mems)),
            one.response,
        )
        for one in pod.containers
        if one.restartable or not one.init
    )


def _outcome(verdict: api.Verdict, pod: api.Pod) -> Outcome:
    if not verdict.admitted:
        return Outcome(False, verdict.reason, verdict.message)
    confined = None
    if pod.HasField("binding"):
        confined = Confined(frozenset(pod.binding.cpuset_cpus), frozenset(pod.binding.cpuset_mems))
    return Outcome(True, containers=_containers(pod), confined=confined)


def _cost(answer: api.AdmitResponse) -> ChosenCost | None:
    return ChosenCost(answer.cost.cost, answer.cost.optimal) if answer.HasField("cost") else None


def _taint(text: str) -> api.NodeTaint:
    """The taint of KEY=VALUE:EFFECT, KEY:EFFECT or KEY; whether it makes sense the node says."""
    front, _, effect = text.partition(":")
    key, _, value = front.partition("=")
    return api.NodeTaint(key=key, value=value, effect=effect)


def _containers(pod: api.Pod) -> dict[str, Assignment]:
    """What the containers of a pod were given; those that hold nothing are there too."""
    return {
        container.name: Assignment(
            cpus=frozenset(container.cpus),
            memory=tuple(Block(tuple(sorted(block.nodes)), block.resource, block.size) for block in container.memory),
            devices={
                held.resource: tuple(
                    Device(one.id, _nodes(one)) for one in sorted(held.devices, key=lambda one: one.id)
                )
                for held in container.devices
            },
        )
        for container in pod.containers
    }


def _nodes(device: api.Device) -> tuple[int, ...] | None:
    return tuple(sorted(device.topology.nodes)) if device.HasField("topology") else None


def _channel(path: Path) -> grpc.Channel:
    return grpc.insecure_channel(f"unix:{path}", options=[("grpc.enable_http_proxy", 0)])
