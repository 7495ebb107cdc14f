"""A rig of real parts: a node and fake plugins as processes in a runtime, spoken to over their sockets."""

import json
import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

import grpc
import yaml

from numaproof.fake_sysfs import Machine
from numaproof.fake_sysfs.alter import without_cpus
from numaproof.fake_sysfs.change import change
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.api import numaproof_v1_pb2_grpc as api_grpc
from numaproof.harness.errors import UserError
from numaproof.harness.rig.explained import decision_lines, given_lines
from numaproof.harness.rig.observe.tools import look
from numaproof.harness.rig.observe.workload import workload_differences
from numaproof.harness.rig.pod_resources import allocatable, listed_pods, one_pod
from numaproof.harness.runtimes.warm.pool import Child, Host
from numaproof.harness.runtimes.warm.trees import HOST
from numaproof.harness.scenario.outcome import Calls, Given, Memory, Outcome
from numaproof.harness.scenario.rig import FakePlugin, RigFailedError
from numaproof.harness.scenario.samples import scraped
from numaproof.harness.waiting import wait_until

_UP_SECONDS = 120
_CALL_SECONDS = 120
# How a plugin loses its list -> the fault; it is met once, so that a node that restarts gets a list to follow.
_LIST_FAULTS = {"fails": "ListAndWatch=error*1", "ends": "ListAndWatch=drop*1"}
# What the node tells until it knows that the list has ended: the end itself, which makes all devices unhealthy, too.
_END_OF_LIST = {
    "fails": (api.EventKind.REGISTERED, api.EventKind.DEVICES),
    "ends": (api.EventKind.REGISTERED, api.EventKind.DEVICES, api.EventKind.DEVICES),
}


class ServedRig:
    """A node on a machine with its plugins, from `with` to its end."""

    def __init__(
        self,
        host: Host,
        tree: Path,
        machine: Machine,
        root: Path,
        config: Mapping[str, Any],
        plugins: tuple[FakePlugin, ...],
    ) -> None:
        self._host = host
        self._tree = tree
        self._machine = machine  # what everybody should see; not what the tree says, which may be wrong
        self._channel: grpc.Channel | None = None
        self._resources_channel: grpc.Channel | None = None
        self._lives = 0
        self._root = root
        self._plugins = {plugin.resource: plugin for plugin in plugins}
        self._children: dict[str, Child] = {}
        self._names: dict[str, str] = {}  # pod name -> uid, of what was admitted
        # Of running plugins whose list the node does not follow: resource -> the last event before they started.
        self._listless: dict[str, int] = {}
        root.mkdir()
        (root / "node").mkdir(mode=0o700)
        (root / "config.yaml").write_text(yaml.safe_dump(dict(config)))
        for plugin in plugins:
            devices = [
                {"id": one.id, "links": dict(one.links), **({} if one.numa is None else {"numa": list(one.numa)})}
                for one in plugin.devices
            ]
            self._file(plugin, "devices").write_text(yaml.safe_dump(devices))
            self._file(plugin, "health").write_text("".join(f"{one.id}\n" for one in plugin.devices if not one.healthy))

    def __enter__(self) -> Self:
        try:
            self._start_node()
            for resource in self._plugins:
                self._start_plugin(resource)
            self._wait_for_plugins()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *reason: object) -> None:
        with ExitStack() as ending:  # one that cannot be ended does not save the others
            ending.callback(shutil.rmtree, self._root, ignore_errors=True)
            for child in self._children.values():
                ending.callback(child.kill)
            self._children.clear()
            ending.callback(self._close_channels)

    @property
    def node(self) -> "ServedNode":
        """The node under test."""
        return ServedNode(self)

    @property
    def plugins(self) -> "ServedPlugins":
        """Its plugins."""
        return ServedPlugins(self)

    @property
    def surroundings(self) -> "ServedRig":
        """Where both are."""
        return self

    def admit(self, manifest: Mapping[str, Any]) -> Outcome:
        """Give a pod to the node."""
        with self._told("admit"):
            answer = self._control().Admit(api.AdmitRequest(manifest=json.dumps(manifest)), timeout=_CALL_SECONDS)
        verdict = answer.verdict
        if not verdict.admitted:
            return Outcome(False, verdict.reason, verdict.message)
        self._names[answer.pod.name] = answer.pod.uid
        return Outcome(True, containers=_containers(answer.pod))

    def explain(self, manifest: Mapping[str, Any]) -> list[str]:
        """What the node decided about a pod that it was just given, and why, in lines."""
        held = next((pod for pod in self._state().pods if pod.name == manifest["metadata"]["name"]), None)
        if held is not None:
            return list(given_lines(held))
        with self._told("explain"):
            request = api.ExplainRequest(manifest=json.dumps(manifest))
            return list(decision_lines(self._control().Explain(request, timeout=_CALL_SECONDS)))

    def remove(self, name: str) -> None:
        """Take a pod away; one that was not admitted holds nothing, and nothing happens."""
        if uid := self._names.pop(name, None):
            with self._told("remove"):
                self._control().Remove(api.RemoveRequest(pod=uid), timeout=_CALL_SECONDS)

    def restart_node(self) -> None:
        """End the node hard and start it again; its plugins register again."""
        self._stop("node")
        self._start_node()
        self._wait_for_plugins()

    def restart_plugin(self, resource: str) -> None:
        """End a plugin, if it runs, and start it again; it registers again."""
        before = self._state().last_event
        if resource in self._children:
            self._stop(resource)
        self._start_plugin(resource)
        self._wait_for_events(before, resource, api.EventKind.REGISTERED)
        self._wait_for_plugins()

    def stop_plugin(self, resource: str) -> None:
        """End a plugin, and wait until the node knows; `restart_plugin` brings it back."""
        self._stop(resource)

        def gone() -> bool:
            return not any(one.healthy for p in self._state().plugins if p.resource == resource for one in p.devices)

        wait_until(gone, timeout=_UP_SECONDS, what=f"the node to miss the plugin of {resource}")

    def lose_device_checkpoint(self) -> None:
        """End the node hard, take its device checkpoint away, and start it again."""
        self._stop("node")
        (self._root / "node/device-plugins/kubelet_internal_checkpoint").unlink()
        self._start_node()
        self._wait_for_plugins()

    def set_health(self, resource: str, ids: Collection[str], healthy: bool) -> None:
        """Change devices' health, and wait until the node knows."""
        file = self._file(self._plugins[resource], "health")
        known = {device.id for device in self._plugins[resource].devices}
        if unknown := sorted(set(ids) - known):
            raise UserError(f"health: {resource} has no device {unknown[0]!r}; it has: {', '.join(sorted(known))}")
        unhealthy = set(file.read_text().split())
        unhealthy = unhealthy - set(ids) if healthy else unhealthy | set(ids)
        file.with_suffix(".new").write_text("".join(f"{one}\n" for one in sorted(unhealthy)))
        file.with_suffix(".new").rename(file)
        self._wait_for_plugins()

    def offline(self, cpu: int) -> None:
        """Take a CPU offline and restart the node."""
        self._machine = change(self._tree, lambda machine: without_cpus(machine, (cpu,)))
        self.restart_node()

    def look(self) -> list[str]:
        """How the views of the real tools and of the node differ from the machine."""
        with self._told("show its machine"):
            seen = self._control().Machine(api.MachineRequest(), timeout=_CALL_SECONDS)
        return look(self._host, self._machine, seen)

    def start(self, name: str) -> list[str]:
        """Start a pod's containers for real; the answer is how what they see differs from what was decided."""
        pod = next((pod for pod in self._state().pods if pod.name == name), None)
        if pod is None:
            return [f"{name} cannot be started: the node does not hold it"]
        return workload_differences(self._host.runtime, None if self._tree == HOST else self._tree, pod)

    def assignments(self) -> Mapping[str, Mapping[str, Given]]:
        """Pod name -> container name -> what it was given, of all pods that the node holds."""
        return {pod.name: _containers(pod) for pod in self._state().pods}

    def metrics(self) -> Mapping[str, float]:
        """The node's metrics: sample, as `samples.sample_name` spells it -> value."""
        try:
            return scraped(self._root / "node/http.sock", _CALL_SECONDS)
        except OSError as error:
            raise RigFailedError(f"the node did not show its metrics ({error})") from error

    def pod_resources(self) -> Mapping[str, Mapping[str, Given]]:
        """What PodResources lists: pod name -> container name -> what it was given."""
        with self._told("list its pods"):
            return listed_pods(self._resources(), _CALL_SECONDS)

    def pod_resources_of(self, name: str) -> Mapping[str, Given] | None:
        """What PodResources gets of one pod; None: it knows no such pod."""
        with self._told(f"get the pod {name}"):
            return one_pod(self._resources(), name, _CALL_SECONDS)

    def allocatable(self) -> Given:
        """What PodResources calls allocatable."""
        with self._told("show what is allocatable"):
            return allocatable(self._resources(), _CALL_SECONDS)

    def calls(self) -> Calls:
        """Resource -> call -> how often each plugin was called so far."""
        counted = {}
        for resource, plugin in self._plugins.items():
            record = self._file(plugin, "record")
            # The plugin may be writing: what stands behind the last newline is not a line yet.
            lines = record.read_text().rpartition("\n")[0].splitlines() if record.exists() else []
            counted[resource] = Counter(json.loads(line)["call"] for line in lines)
        return counted

    def _file(self, plugin: FakePlugin, kind: str) -> Path:
        return self._root / f"{plugin.resource.replace('/', '_')}.{kind}"

    def _start_node(self) -> None:
        self._lives += 1
        self._listless.clear()
        arguments = ["node", "--root", str(self._root / "node"), "--config", str(self._root / "config.yaml")]
        output = self._root / f"node-{self._lives}.log"
        child = self._host.start([*arguments, "--sysfs-root", self._host.sysfs_root], output)
        self._children["node"] = child
        wait_until(lambda: "ready:" in child.printed() or child.ended(), timeout=_UP_SECONDS, what="the node")
        if child.ended():
            raise RigFailedError(f"the node ended: {child.printed().strip()}")
        self._channel = _channel(self._root / "node/control.sock")
        self._resources_channel = _channel(self._root / "node/pod-resources/kubelet.sock")

    def _start_plugin(self, resource: str) -> None:
        plugin = self._plugins[resource]
        arguments = ["plugin", plugin.kind, "--resource", resource, "--dir", str(self._root / "node/device-plugins")]
        if plugin.kind == "generic":
            arguments += ["--devices", str(self._file(plugin, "devices"))]
        else:
            arguments += ["--sysfs-root", self._host.sysfs_root]
        arguments += ["--preferred", plugin.preferred]
        arguments += ["--record", str(self._file(plugin, "record")), "--health-file", str(self._file(plugin, "health"))]
        arguments += ["--plural"] if plugin.plural else []
        arguments += ["--pre-start"] if plugin.pre_start else []
        if plugin.list in _LIST_FAULTS:
            self._listless[resource] = self._state().last_event
        for fault in (*plugin.faults, *filter(None, [_LIST_FAULTS.get(plugin.list)])):
            arguments += ["--fault", fault]
        self._children[resource] = self._host.start(arguments, self._file(plugin, "log"))

    def _stop(self, name: str) -> None:
        if name == "node":
            self._close_channels()
        self._listless.pop(name, None)
        self._children.pop(name).kill()

    def _close_channels(self) -> None:
        for channel in (self._channel, self._resources_channel):
            if channel is not None:
                channel.close()

    def _resources(self) -> grpc.Channel:
        assert self._resources_channel is not None, "the node was started"
        return self._resources_channel

    def _control(self) -> api_grpc.ControlStub:
        assert self._channel is not None, "the node was started"
        return api_grpc.ControlStub(self._channel)

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """A call that the node does not answer well is told in a line, with what the node printed last."""
        try:
            yield
        except grpc.RpcError as error:
            printed = self._children["node"].printed().strip().splitlines() if "node" in self._children else []
            said = f"{error.code().name}: {error.details()}" if isinstance(error, grpc.Call) else str(error)
            raise RigFailedError(f"the node did not {what} ({said}); it printed last: {printed[-1:]}") from error

    def _state(self) -> api.StateResponse:
        with self._told("show its state"):
            return self._control().State(api.StateRequest(), timeout=_CALL_SECONDS)

    def _wait_for_plugins(self) -> None:
        """Until the node follows the lists of all plugins that run, or knows that there is none to follow."""
        for resource, started in self._listless.items():
            self._wait_for_events(started, resource, *_END_OF_LIST[self._plugins[resource].list])
        following = self._children.keys() - self._listless.keys()
        plugins = {resource: plugin for resource, plugin in self._plugins.items() if resource in following}

        def waited_for() -> list[str]:
            for resource in plugins:
                if self._children[resource].ended():
                    raise RigFailedError(
                        f"the plugin of {resource} ended: {self._children[resource].printed().strip()}"
                    )
            seen = {plugin.resource: plugin for plugin in self._state().plugins if plugin.connected}
            return sorted(
                resource
                for resource, plugin in plugins.items()
                if resource not in seen
                or {one.id: one.healthy for one in seen[resource].devices} != self._health(plugin)
            )

        # Not too often: a look costs the node as much as an admission.
        what = f"the lists of {sorted(plugins)}"
        wait_until(lambda: not waited_for(), timeout=_UP_SECONDS, what=what, interval=0.03)

    def _health(self, plugin: FakePlugin) -> dict[str, bool]:
        """The health of a plugin's devices, as the plugin was told."""
        sick = set(self._file(plugin, "health").read_text().split())
        return {device.id: device.id not in sick for device in plugin.devices}

    def _wait_for_events(self, after: int, resource: str, *kinds: "api.EventKind.ValueType") -> None:
        """Until these things have happened to a resource since, one after the other."""
        left = list(kinds)
        events = self._control().Watch(api.WatchRequest(after=after, kinds=set(kinds)), timeout=_UP_SECONDS)
        with self._told(f"tell the events of {resource}"):
            for event in events:
                if event.resource == resource and event.kind == left[0]:
                    left.pop(0)
                if not left:
                    events.cancel()
                    return
        raise RigFailedError(f"the node ended its events before all of {resource} were told")


class ServedNode:
    """The node of a rig."""

    offers = frozenset({"explain"})

    def __init__(self, rig: ServedRig) -> None:
        self.admit = rig.admit
        self.explain = rig.explain
        self.remove = rig.remove
        self.assignments = rig.assignments
        self.metrics = rig.metrics
        self.pod_resources_of = rig.pod_resources_of
        self.pod_resources = rig.pod_resources
        self.allocatable = rig.allocatable
        self.lose_device_checkpoint = rig.lose_device_checkpoint
        self.restart = rig.restart_node


class ServedPlugins:
    """The plugins of a rig."""

    def __init__(self, rig: ServedRig) -> None:
        self.restart, self.stop = rig.restart_plugin, rig.stop_plugin
        self.set_health, self.calls = rig.set_health, rig.calls


def _containers(pod: api.Pod) -> dict[str, Given]:
    """What the containers of a pod were given; those that hold nothing are there too."""
    return {
        container.name: Given(
            frozenset(container.cpus),
            tuple(Memory(block.resource, block.size, tuple(sorted(block.nodes))) for block in container.memory),
            {held.resource: {one.id: _nodes(one) for one in held.devices} for held in container.devices},
        )
        for container in pod.containers
    }


def _nodes(device: api.Device) -> tuple[int, ...] | None:
    return tuple(sorted(device.topology.nodes)) if device.HasField("topology") else None


def _channel(path: Path) -> grpc.Channel:
    return grpc.insecure_channel(f"unix:{path}", options=[("grpc.enable_http_proxy", 0)])
