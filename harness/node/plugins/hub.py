"""The node's switchboard for device plugins: who is registered, which devices they have, and the calls to them."""

import itertools
import logging
import threading
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

import grpc

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.api import deviceplugin_v1beta1_pb2_grpc as api_grpc
from numaproof.harness.cost.costs import Entry
from numaproof.harness.node.plugins.connection import PluginConnection
from numaproof.harness.node.plugins.dispatcher import Dispatcher
from numaproof.harness.node.plugins.registration import (
    RegistrationError,
    check_resource_name,
    check_socket,
    check_version,
    socket_of,
)
from numaproof.harness.node.plugins.registry import RegistryWatcher
from numaproof.harness.node.plugins.sockets import ListeningSocket, private_directory
from numaproof.harness.providers.devices import Device
from numaproof.harness.socket_files import wipe_sockets
from numaproof.harness.topology.provider import AllocationError

SOCKET_NAME = "kubelet.sock"
# Plugins that hang while they register each hold one thread for as long as we dial.
REGISTRATION_THREADS = 32

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PluginView:
    """A registered plugin as others may see it."""

    resource: str
    endpoint: str
    connected: bool
    options: api.DevicePluginOptions
    plural: bool
    devices: tuple[Device, ...]


@dataclass(slots=True, eq=False)
class _Plugin:
    """A resource's plugin; guarded by the hub's lock. Another object is another plugin, even at the same path."""

    resource: str
    # The order in which registrations arrived: the newest wins.
    number: int
    # None: known from before the node's start, and not seen since.
    connection: PluginConnection | None
    devices: tuple[Device, ...] = ()
    connected: bool = False


class PluginHub:
    """Serves kubelet.sock, follows every plugin that registers, and calls them on behalf of the node.

    Listeners are called one at a time, in the order of events, by a thread that holds no lock: `on_devices` with a
    resource and its complete list (all unhealthy when the plugin's stream has ended), `on_gone` when the grace period
    after that is over, `on_registration` with a resource and the refusal, None if it was accepted; `on_costs`, right
    before `on_devices` with other devices than before, with all that the plugin says they cost, () if it does not.
    """

    def __init__(
        self,
        directory: Path,
        registry: Path | None,
        *,
        on_devices: Callable[[str, tuple[Device, ...]], None],
        on_gone: Callable[[str], None],
        on_registration: Callable[[str, str | None], None] = lambda _resource, _refusal: None,
        on_costs: Callable[[str, tuple[Entry, ...]], None] = lambda _resource, _entries: None,
        expected: Collection[str] = (),
        grace_seconds: float = 300,
        deadline_seconds: float = 30,
        dial_seconds: float = 10,
        log: Callable[[str], None] = _logger.warning,
    ) -> None:
        """`expected`: resources from before a restart; without a new registration they go after the grace period."""
        # Absolute, because gRPC reads a relative name differently; a link on the way is the user's choice.
        self._directory = directory.absolute()
        self._registry = registry.absolute() if registry is not None else None
        self._on_devices = on_devices
        self._on_gone = on_gone
        self._on_registration = on_registration
        self._on_costs = on_costs
        self._grace = grace_seconds
        self._deadline = deadline_seconds
        self._dial = dial_seconds
        self._log = log
        self._lock = threading.Lock()
        self._closed = False
        self._numbers = itertools.count()
        self._plugins = {resource: _Plugin(resource, next(self._numbers), None) for resource in expected}
        # Connections that are not, or no longer, a plugin's of _plugins, but whose threads may still run.
        self._others: set[PluginConnection] = set()
        self._dispatcher = Dispatcher("plugin events")
        self._executor = ThreadPoolExecutor(REGISTRATION_THREADS, thread_name_prefix="registration")
        self._server = grpc.server(self._executor)
        api_grpc.add_RegistrationServicer_to_server(_Registration(self), self._server)
        self._socket: ListeningSocket | None = None
        self._watcher: RegistryWatcher | None = None

    def __enter__(self) -> Self:
        private_directory(self._directory)
        wipe_sockets(self._directory)
        with self._lock:
            for plugin in self._plugins.values():
                self._expire_later(plugin)
        if self._registry is not None:
            private_directory(self._registry)
            self._watcher = RegistryWatcher(
                self._registry, within=self._registry.parent, register=self.register, log=self._log
            )
        self._socket = ListeningSocket(self._server, self._directory / SOCKET_NAME)
        self._dispatcher.start()
        if self._watcher is not None:
            self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Drop all plugins without telling the listeners: the node stops, the devices have not changed."""
        with self._lock:
            self._closed = True
            connections = {plugin.connection for plugin in self._plugins.values() if plugin.connection is not None}
            connections |= self._others
        if self._socket is not None:
            self._socket.remove()
        if self._watcher is not None:
            self._watcher.close()
        stopped = self._server.stop(None)
        for connection in connections:
            connection.close()
        stopped.wait()
        self._executor.shutdown()
        if self._watcher is not None:
            self._watcher.join()
        for connection in connections:
            connection.join()
        self._dispatcher.close()

    def register_by_name(self, request: api.RegisterRequest) -> None:
        """Do what a Register call asks for, or raise RegistrationError and leave everything as it is."""
        try:
            check_version(request.version)
            check_resource_name(request.resource_name)
            path = socket_of(request.endpoint, self._directory)
        except RegistrationError as error:
            self._refuse(request.resource_name, str(error))
            raise
        self.register(request.resource_name, path, self._directory)

    def register(self, resource: str, path: Path, within: Path) -> PluginConnection:
        """Dial a plugin and make it the resource's; RegistrationError, and nothing changed, if it does not answer."""
        connection = PluginConnection(resource, path, deadline_seconds=self._deadline, log=self._log)
        try:
            number = self._begin(connection)
            connection.dial(self._dial)
            # The socket may have been put there after the first look.
            check_socket(path, within)
            replaced = self._install(_Plugin(resource, number, connection, connected=True))
        except RegistrationError as error:
            connection.close()
            with self._lock:
                self._others.discard(connection)
            self._refuse(resource, str(error))
            raise
        if replaced is not None:
            replaced.close()
        return connection

    def _begin(self, connection: PluginConnection) -> int:
        """Have the connection closed with the hub from now on; the answer is the registration's number."""
        with self._lock:
            if self._closed:
                raise RegistrationError("the node is stopping")
            self._others.add(connection)
            return next(self._numbers)

    def _install(self, plugin: _Plugin) -> PluginConnection | None:
        """Make `plugin` the resource's, start to follow its list, and give back the connection of its predecessor."""
        connection = plugin.connection
        assert connection is not None
        with self._lock:
            if self._closed:
                raise RegistrationError("the node is stopping")
            before = self._plugins.get(plugin.resource)
            if before is not None and before.number > plugin.number:
                raise RegistrationError(f"a newer plugin for {plugin.resource} has registered meanwhile")
            if before is not None:
                # Until the new one has sent a list, what is known of the devices stays as it is.
                plugin.devices = before.devices
            self._plugins[plugin.resource] = plugin
            self._others.discard(connection)
            replaced = before.connection if before is not None and before.connected else None
            if replaced is not None:
                self._others.add(replaced)
            self._dispatcher.post(lambda: self._on_registration(plugin.resource, None))
            connection.follow(
                listed=lambda devices, costs: self._listed(plugin, devices, costs),
                ended=lambda reason: self._ended(plugin, reason),
            )
        return replaced

    def _refuse(self, resource: str, reason: str) -> None:
        with self._lock:
            if self._closed:
                return
            self._dispatcher.post(lambda: self._on_registration(resource, reason))
        self._log(f"registration of {resource!r} is refused: {reason}")

    def _is_current(self, plugin: _Plugin) -> bool:
        """Whether what the plugin says still counts; the lock is held."""
        return not self._closed and self._plugins.get(plugin.resource) is plugin

    def _listed(self, plugin: _Plugin, devices: tuple[Device, ...], costs: tuple[Entry, ...] | None) -> None:
        with self._lock:
            if not self._is_current(plugin):
                return
            plugin.devices = devices
            if costs is not None:
                self._dispatcher.post(lambda: self._on_costs(plugin.resource, costs))
            self._dispatcher.post(lambda: self._on_devices(plugin.resource, devices))

    def _ended(self, plugin: _Plugin, reason: str) -> None:
        connection = plugin.connection
        assert connection is not None
        connection.close()
        with self._lock:
            if not self._is_current(plugin):
                self._others.discard(connection)
                return
            devices = tuple(replace(device, healthy=False) for device in plugin.devices)
            plugin.devices = devices
            plugin.connected = False
            self._dispatcher.post(lambda: self._on_devices(plugin.resource, devices))
            self._expire_later(plugin)
        self._log(
            f"{plugin.resource}: the stream of the device list has ended: {reason}; its {len(devices)} devices count"
            f" as unhealthy, and the resource goes in {self._grace:g} s unless the plugin registers again"
        )

    def _expire_later(self, plugin: _Plugin) -> None:
        """Remove the resource after the grace period, unless another plugin has it then; the lock is held."""

        def expire() -> None:
            with self._lock:
                if self._is_current(plugin):
                    del self._plugins[plugin.resource]
                    self._dispatcher.post(lambda: self._on_gone(plugin.resource))

        self._dispatcher.post_after(self._grace, expire)

    def _connection(self, resource: str, unknown: str) -> PluginConnection:
        with self._lock:
            plugin = self._plugins.get(resource)
            if plugin is None:
                raise AllocationError(unknown)
            if plugin.connection is None:
                raise AllocationError(f"endpoint {resource} has been stopped")
            return plugin.connection

    def _known(self, resource: str) -> PluginConnection | None:
        with self._lock:
            plugin = self._plugins.get(resource)
            return plugin.connection if plugin is not None else None

    def resources(self) -> tuple[str, ...]:
        """The resources that plugins have registered for, those within their grace period included."""
        with self._lock:
            return tuple(sorted(self._plugins))

    def plugins(self) -> tuple[PluginView, ...]:
        """All plugins, ordered by resource."""
        with self._lock:
            known = [plugin for _, plugin in sorted(self._plugins.items())]
            return tuple(
                PluginView(
                    resource=plugin.resource,
                    endpoint=str(plugin.connection.path) if plugin.connection is not None else "",
                    connected=plugin.connected,
                    options=plugin.connection.options if plugin.connection is not None else api.DevicePluginOptions(),
                    plural=plugin.connection is not None and plugin.connection.plural,
                    devices=plugin.devices,
                )
                for plugin in known
            )

    def offers(self, resource: str) -> bool:
        """Whether the resource's plugin wants to be asked which devices it prefers."""
        connection = self._known(resource)
        return connection is not None and connection.options.get_preferred_allocation_available

    def preferred(self, resource: str, available: list[str], must_include: list[str], size: int) -> list[str]:
        """The devices that the plugin would take; none when it has no opinion."""
        connection = self._connection(resource, f"endpoint not found in cache for a registered resource: {resource}")
        return connection.preferred(available, must_include, size)

    def offers_plural(self, resource: str) -> bool:
        """Whether the resource's plugin serves the plural draft."""
        connection = self._known(resource)
        return connection is not None and connection.plural

    def preferred_sets(
        self, resource: str, available: list[str], must_include: list[str], size: int
    ) -> list[list[str]]:
        """All sets of devices that the plugin would be glad of."""
        connection = self._connection(resource, f"endpoint not found in cache for a registered resource: {resource}")
        return connection.preferred_sets(available, must_include, size)

    def allocate(self, resource: str, ids: Iterable[str]) -> api.ContainerAllocateResponse:
        """What a container needs in order to use these devices."""
        return self._connection(resource, f"unknown Device Plugin {resource}").allocate(ids)

    def pre_start_required(self, resource: str) -> bool:
        """Whether the resource's plugin wants to be told before a container starts."""
        connection = self._known(resource)
        return connection is not None and connection.options.pre_start_required

    def pre_start(self, resource: str, ids: Iterable[str]) -> None:
        """Tell the plugin that a container with these devices is about to start."""
        connection = self._connection(resource, f"endpoint not found in cache for a registered resource: {resource}")
        connection.pre_start(ids)


class _Registration(api_grpc.RegistrationServicer):
    """The service behind kubelet.sock."""

    def __init__(self, hub: PluginHub) -> None:
        self._hub = hub

    def Register(self, request: api.RegisterRequest, context: grpc.ServicerContext) -> api.Empty:  # noqa: N802
        try:
            self._hub.register_by_name(request)
        except RegistrationError as error:
            # UNKNOWN is what a Go server, such as the kubelet, makes of an error without a code.
            context.abort(grpc.StatusCode.UNKNOWN, str(error))
        return api.Empty()
