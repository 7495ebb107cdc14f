"""Plugins that do not register by themselves but put a socket into plugins_registry/ and wait to be asked."""

import os
import stat
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from numaproof.harness.api import pluginregistration_v1_pb2 as api
from numaproof.harness.api import pluginregistration_v1_pb2_grpc as api_grpc
from numaproof.harness.node.plugins.connection import CHANNEL_OPTIONS, PluginConnection
from numaproof.harness.node.plugins.registration import (
    RegistrationError,
    check_resource_name,
    check_versions,
    socket_at,
)
from numaproof.harness.node.plugins.sockets import target
from numaproof.harness.node.plugins.status import status_text

PLUGIN_TYPE = "DevicePlugin"
# The kubelet's patience with a plugin's answers, and between two attempts.
GET_INFO_SECONDS = 1.0
NOTIFY_SECONDS = 5.0
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 122.0
POLL_SECONDS = 0.1


@dataclass(slots=True, eq=False)
class _Candidate:
    """A socket that lies in the registry, and the thread that cares for it."""

    path: Path
    # A new socket at the same path is another plugin.
    identity: tuple[int, int, int]
    gone: threading.Event = field(default_factory=threading.Event)


def _sockets_below(directory: Path) -> Iterator[tuple[Path, tuple[int, int, int]]]:
    """All sockets below a directory that are meant to be seen, with their identities."""
    try:
        with os.scandir(directory) as entries:
            found = list(entries)
    except OSError:
        return  # gone since it was seen, or not ours to read
    for entry in found:
        if entry.name.startswith("."):
            continue
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            continue  # gone since the directory was listed
        if stat.S_ISDIR(status.st_mode):
            yield from _sockets_below(Path(entry.path))
        elif stat.S_ISSOCK(status.st_mode):
            yield Path(entry.path), (status.st_dev, status.st_ino, status.st_mtime_ns)


class RegistryWatcher:
    """Asks every socket below a directory who it is, registers the device plugins, and lets go of those that vanish."""

    def __init__(
        self,
        registry: Path,
        *,
        within: Path,
        register: Callable[[str, Path, Path], PluginConnection],
        log: Callable[[str], None],
    ) -> None:
        """`register` takes a resource, a socket and the directory to which it is confined (`within`)."""
        self._registry = registry
        self._within = within
        self._register = register
        self._log = log
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._candidates: dict[Path, _Candidate] = {}
        self._attendants: list[threading.Thread] = []
        self._channels: set[grpc.Channel] = set()
        self._thread = threading.Thread(target=self._watch, name="plugins_registry", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop watching; what is registered stays registered."""
        with self._lock:
            self._stopping.set()
            channels = list(self._channels)
        self._thread.join()
        for candidate in self._candidates.values():
            candidate.gone.set()
        for channel in channels:
            channel.close()

    def join(self) -> None:
        """Wait until no thread of the watcher runs; call close() before."""
        for thread in self._attendants:
            thread.join()

    def _watch(self) -> None:
        while not self._stopping.wait(POLL_SECONDS):
            present = dict(_sockets_below(self._registry))
            for path, candidate in list(self._candidates.items()):
                if present.get(path) != candidate.identity:
                    candidate.gone.set()
                    del self._candidates[path]
            for path, identity in present.items():
                if path not in self._candidates:
                    self._candidates[path] = _Candidate(path, identity)
                    attendant = threading.Thread(
                        target=self._attend, args=(self._candidates[path],), name=f"registry {path.name}", daemon=True
                    )
                    attendant.start()
                    self._attendants.append(attendant)
            self._attendants = [thread for thread in self._attendants if thread.is_alive()]

    def _attend(self, candidate: _Candidate) -> None:
        """Register one socket's plugin, however often it takes, and deregister it when the socket is gone."""
        pause = FIRST_PAUSE_SECONDS
        while not candidate.gone.is_set():
            try:
                connection = self._introduce(candidate.path)
            except RegistrationError as error:
                if not candidate.gone.is_set():
                    self._log(f"{candidate.path}: {error}; next attempt in {pause:g} s")
                candidate.gone.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            else:
                candidate.gone.wait()
                if not self._stopping.is_set():
                    # That ends the stream of its devices, and so its plugin's registration.
                    connection.close()

    def _introduce(self, path: Path) -> PluginConnection:
        channel = grpc.insecure_channel(target(path), options=CHANNEL_OPTIONS)
        with self._lock:
            if self._stopping.is_set():
                channel.close()
                raise RegistrationError("the node is stopping")
            self._channels.add(channel)
        try:
            return self._ask(api_grpc.RegistrationStub(channel), path)
        except grpc.RpcError as error:
            raise RegistrationError(f"the plugin at the socket does not answer: {status_text(error)}") from error
        except ValueError as error:
            raise RegistrationError("the node is stopping") from error
        finally:
            with self._lock:
                self._channels.discard(channel)
            channel.close()

    def _ask(self, plugin: api_grpc.RegistrationStub, path: Path) -> PluginConnection:
        """Who are you, may you, you are (not) registered."""
        info = plugin.GetInfo(api.InfoRequest(), timeout=GET_INFO_SECONDS, wait_for_ready=True)
        try:
            connection = self._accept(info, path)
        except RegistrationError as error:
            self._notify(plugin, path, api.RegistrationStatus(plugin_registered=False, error=str(error)))
            raise
        self._notify(plugin, path, api.RegistrationStatus(plugin_registered=True))
        return connection

    def _notify(self, plugin: api_grpc.RegistrationStub, path: Path, status: api.RegistrationStatus) -> None:
        """Tell the plugin; what it makes of that changes nothing."""
        try:
            plugin.NotifyRegistrationStatus(status, timeout=NOTIFY_SECONDS)
        except (grpc.RpcError, ValueError) as error:
            text = status_text(error) if isinstance(error, grpc.RpcError) else "the node is stopping"
            self._log(f"{path}: failed to send the registration status: {text}")

    def _accept(self, info: api.PluginInfo, path: Path) -> PluginConnection:
        if info.type != PLUGIN_TYPE:
            raise RegistrationError(f"no handler registered for plugin type: {info.type} at socket {path}")
        try:
            check_versions(info.supported_versions)
            check_resource_name(info.name)
            # The service may live on another socket than its introduction.
            endpoint = socket_at(info.endpoint or str(path), self._within)
        except RegistrationError as error:
            raise RegistrationError(f"plugin validation failed with err: {error}") from error
        try:
            return self._register(info.name, endpoint, self._within)
        except RegistrationError as error:
            raise RegistrationError(f"plugin registration failed with err: {error}") from error
