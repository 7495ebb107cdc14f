"""The fake plugins of a node: processes whose devices, health and faults are files and arguments."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, Self

import yaml

from numaproof.errors import UserError
from numaproof.harness.runtimes import Running
from numaproof.harness.runtimes.launcher import Launcher
from numaproof.harness.scenario.record import Calls, DeviceRecord
from numaproof.harness.scenario.rig import FakePlugin, RigFailedError
from numaproof.harness.waiting import wait_until_nothing

_UP_SECONDS = 120
# How a plugin loses its list -> the fault; it is met once, so that a node that restarts gets a list to follow.
_LIST_FAULTS = {"fails": "ListAndWatch=error*1", "ends": "ListAndWatch=drop*1"}
# How often its devices change until the node knows that the list has ended: the end makes all of them unhealthy, too.
_CHANGES = {"fails": 1, "ends": 2}


@dataclass(frozen=True, slots=True)
class PluginEvent:
    """Something that a node has noticed of a plugin."""

    resource: str
    what: Literal["registered", "devices changed"]


class PluginWatcher(Protocol):
    """What a fleet asks of the node that its plugins register with.

    A kubelet can answer too: devices by its checkpoint (of those that are unhealthy it tells nothing), events by its
    metric kubelet_device_plugin_registration_total and its log.
    """

    @property
    def plugin_directory(self) -> Path:
        """Where plugins register."""

    def on_restart(self, call: Callable[[], None]) -> None:
        """Have something called whenever the node is up again."""

    def devices_seen(self) -> Mapping[str, Mapping[str, bool]]:
        """Resource -> device -> whether it is healthy to the node, of every resource whose devices it was told.

        Unhealthy devices may be missing.
        """

    def moment(self) -> int:
        """Now, as `plugin_events` takes it; 0 is the node's start."""

    def plugin_events(self, since: int) -> Sequence[PluginEvent]:
        """What the node has noticed of plugins since a moment, in order."""


class FakePluginFleet:
    """Fake plugins, from `with`, at which they start, to its end; their files are below `root`."""

    def __init__(self, launcher: Launcher, root: Path, plugins: Collection[FakePlugin], node: PluginWatcher) -> None:
        self._launcher = launcher
        self._root = root
        self._plugins = {plugin.resource: plugin for plugin in plugins}
        self._node = node
        self._processes: dict[str, Running] = {}
        self._listless: set[str] = set()  # the running plugins whose list the node does not follow
        node.on_restart(self._follow_again)
        for plugin in plugins:
            devices = [
                {"id": one.id, "links": dict(one.links), **({} if one.numa is None else {"numa": list(one.numa)})}
                for one in plugin.devices
            ]
            self._file(plugin, "devices").write_text(yaml.safe_dump(devices))
            if isinstance(plugin.costs, Mapping):
                self._file(plugin, "costs").write_text(yaml.safe_dump(dict(plugin.costs)))
            self._file(plugin, "health").write_text("".join(f"{one.id}\n" for one in plugin.devices if not one.healthy))

    def __enter__(self) -> Self:
        try:
            since = self._node.moment()
            for resource in self._plugins:
                self._start(resource)
            self._wait_until_seen(self._untold(), since)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *reason: object) -> None:
        with ExitStack() as ending:  # one that cannot be ended does not save the others
            for process in self._processes.values():
                ending.callback(process.__exit__)
            self._processes.clear()

    def restart(self, resource: str) -> None:
        """End a plugin, if it runs, and start it again; it registers again."""
        since = self._node.moment()
        if resource in self._processes:
            self._processes.pop(resource).__exit__()
        self._start(resource)
        self._wait_until_seen({resource}, since)

    def stop(self, resource: str) -> None:
        """End a plugin, and wait until the node knows; `restart` brings it back."""
        self._listless.discard(resource)
        self._processes.pop(resource).__exit__()

        def healthy() -> list[str]:
            seen = self._node.devices_seen().get(resource, {})
            return [f"{device} is healthy" for device, is_healthy in seen.items() if is_healthy]

        wait_until_nothing(healthy, timeout=_UP_SECONDS, what=f"the node to miss the plugin of {resource}")

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
        self._wait_until_seen()

    def calls(self) -> Calls:
        """Resource -> call -> how often each plugin was called so far."""
        counted = {}
        for resource, plugin in self._plugins.items():
            record = self._file(plugin, "record")
            # The plugin may be writing: what stands behind the last newline is not a line yet.
            lines = record.read_text().rpartition("\n")[0].splitlines() if record.exists() else []
            counted[resource] = Counter(json.loads(line)["call"] for line in lines)
        return counted

    def devices(self) -> tuple[DeviceRecord, ...]:
        """All devices as they stand; those of a plugin that does not run are not healthy."""
        return tuple(
            DeviceRecord(resource, one.id, one.numa or (), health[one.id] and resource in self._processes)
            for resource, plugin in self._plugins.items()
            for health in [self._health(plugin)]
            for one in plugin.devices
        )

    def _file(self, plugin: FakePlugin, kind: str) -> Path:
        return self._root / f"{plugin.resource.replace('/', '_')}.{kind}"

    def _start(self, resource: str) -> None:
        plugin = self._plugins[resource]
        arguments = ["plugin", plugin.kind, "--resource", resource, "--dir", str(self._node.plugin_directory)]
        if plugin.kind == "generic":
            arguments += ["--devices", str(self._file(plugin, "devices"))]
        else:
            arguments += ["--sysfs-root", self._launcher.sysfs_root]
        arguments += ["--preferred", plugin.preferred]
        arguments += ["--record", str(self._file(plugin, "record")), "--health-file", str(self._file(plugin, "health"))]
        arguments += ["--plural"] if plugin.plural else []
        if plugin.costs is not None:
            arguments += ["--costs", "pci" if plugin.costs == "pci" else str(self._file(plugin, "costs"))]
        if plugin.costs == "pci":
            for other in self._plugins.values():
                arguments += ["--costs-to", f"{other.kind}={other.resource}"] if other.kind != "generic" else []
        arguments += ["--pre-start"] if plugin.pre_start else []
        if plugin.list in _LIST_FAULTS:
            self._listless.add(resource)
        for fault in (*plugin.faults, *filter(None, [_LIST_FAULTS.get(plugin.list)])):
            arguments += ["--fault", fault]
        self._processes[resource] = self._launcher.start([*self._launcher.numaproof, *arguments])

    def _follow_again(self) -> None:
        """A node that is up again follows all lists that there are: the faults of those that ended are met."""
        self._listless.clear()
        self._wait_until_seen(self._untold(), since=0)

    def _untold(self) -> set[str]:
        """The running plugins of which the node's devices do not tell that they are registered."""
        return self._listless | {one for one in self._processes if not self._plugins[one].devices}

    def _wait_until_seen(self, registering: Collection[str] = (), since: int = 0) -> None:
        """Until the node has registered some plugins since a moment, and knows the devices of all lists it follows."""
        unregistered = set(registering)
        followed = sorted(self._processes.keys() - self._listless)

        def left() -> str:
            self._check_processes()
            if unregistered:
                events = self._node.plugin_events(since)
                unregistered.difference_update([one for one in unregistered if self._is_registered(one, events)])
            if unregistered:
                return f"of {', '.join(sorted(unregistered))} only {[f'{e.resource} {e.what}' for e in events]}"
            seen = self._node.devices_seen() if followed else {}
            texts = [_difference(one, self._health(self._plugins[one]), seen.get(one)) for one in followed]
            return "; ".join(filter(None, texts))

        # Not too often: a look costs the node as much as an admission.
        what = f"the node to see the plugins of {', '.join(sorted(self._processes))}"
        wait_until_nothing(left, timeout=_UP_SECONDS, what=what, interval=0.03)

    def _is_registered(self, resource: str, events: Sequence[PluginEvent]) -> bool:
        """Whether a plugin has registered, and if its list has ended, the node knows that."""
        happened = [event.what for event in events if event.resource == resource]
        if "registered" not in happened:
            return False
        changes = happened[happened.index("registered") :].count("devices changed")
        return resource not in self._listless or changes >= _CHANGES[self._plugins[resource].list]

    def _check_processes(self) -> None:
        """RigFailedError if a plugin has ended by itself."""
        for resource, process in self._processes.items():
            if process.poll() is not None:
                raise RigFailedError(f"the plugin of {resource} ended: {process.output().strip()}")

    def _health(self, plugin: FakePlugin) -> dict[str, bool]:
        """The health of a plugin's devices, as the plugin was told."""
        sick = set(self._file(plugin, "health").read_text().split())
        return {device.id: device.id not in sick for device in plugin.devices}


def _difference(resource: str, told: Mapping[str, bool], seen: Mapping[str, bool] | None) -> str:
    """How the devices that a node sees differ from those that a plugin was told to have; empty: not at all."""
    if seen is None:
        return f"no devices of {resource}" if told else ""
    wrong = [f"{one} of {resource} as {_word(seen.get(one))}" for one in told if seen.get(one, False) != told[one]]
    wrong += [f"{one} of {resource}, which is not a device of its plugin" for one in seen.keys() - told.keys()]
    return ", ".join(wrong)


def _word(healthy: bool | None) -> str:
    return "missing" if healthy is None else "healthy" if healthy else "unhealthy"
