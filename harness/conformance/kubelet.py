"""Plays the kubelet: takes registrations, dials plugins back, restarts, refuses, and finds plugins in its registry."""

import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn, Self

import grpc
from google.protobuf.message import Message

from numaproof.errors import UserError
from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.api import deviceplugin_v1beta1_pb2_grpc as api_grpc
from numaproof.harness.api import pluginregistration_v1_pb2 as watched
from numaproof.harness.api import pluginregistration_v1_pb2_grpc as watched_grpc
from numaproof.harness.conformance.connection import Connection, channel_to, recorded_call
from numaproof.harness.conformance.exchange import Happened, Recorder, Registered
from numaproof.harness.conformance.happenings import Happening, Method, Probe, Session
from numaproof.harness.socket_files import sockets_in, wipe_sockets

DIAL_SECONDS = 10  # the kubelet's
_DIAL_SLICE_SECONDS = 0.5
_NO_GENERATION = -1
_INFO_SECONDS, _NOTIFY_SECONDS = 1, 5  # the kubelet's
_OVERLAP_SECONDS = 3  # an end that is under way when Register arrives gets this long to reach us
_RESTART_PAUSE_SECONDS = 0.5
_SCAN_SECONDS = 0.1
_AGAIN_SECONDS = 1.0
_DOT_SECONDS = 3.0  # a name with a dot may be one under which a socket is made; one that stays is meant so


class FakeKubelet:
    """A kubelet with a directory of its own; accepts what a real one refuses, so that the rest can be judged too."""

    def __init__(
        self,
        recorder: Recorder,
        session: Session,
        directory: Path,
        registry: Path,
        *,
        seconds: float,
        refusals: int = 0,
    ) -> None:
        self._recorder = recorder
        self._session = session
        self._directory = directory
        self._registry = registry
        self._seconds = seconds
        self._refusals = refusals
        self._lock = threading.Lock()
        self._connections: dict[str, Connection] = {}
        self._refused: set[str] = set()
        self._accepted = 0
        self._arrived = 0
        self._servers: list[grpc.Server] = []
        self._late: list[threading.Thread] = []
        self._generation = 0  # of the kubelet: what an earlier one began, a later one does not take over
        self._retired = False
        self._stopping = threading.Event()
        self._known: dict[str, tuple[int, int]] = {}  # sockets of the registry that were dealt with
        self._first_seen: dict[str, float] = {}
        self._watcher = threading.Thread(target=self._watch_registry, daemon=True, name=f"registry of {session}")

    def __enter__(self) -> Self:
        # Sockets are dialled through these: a path of /proc is short, whatever the directory's path and the name are.
        self._directory_fd = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)
        self._registry_fd = os.open(self._registry, os.O_RDONLY | os.O_DIRECTORY)
        return self

    def __exit__(self, *reason: object) -> None:
        self._stopping.set()
        self._end_servers()
        if self._watcher.is_alive():
            self._watcher.join()
        for thread in self._late:
            thread.join()
        self._drop_connections()
        os.close(self._directory_fd)
        os.close(self._registry_fd)

    # What a session looks at

    @property
    def accepted(self) -> int:
        """How many registrations were accepted and connected."""
        with self._lock:
            return self._accepted

    @property
    def arrived(self) -> int:
        """How many registrations arrived, refused ones too."""
        with self._lock:
            return self._arrived

    @property
    def all_came_again(self) -> bool:
        """Whether each resource that was refused is connected now."""
        with self._lock:
            return self._refused <= self._connections.keys()

    def connections(self) -> Mapping[str, Connection]:
        """The current connection of each resource."""
        with self._lock:
            return dict(self._connections)

    def finish(self) -> None:
        """The session is over: streams may end, and no new one is opened."""
        with self._lock:
            self._generation += 1
        self._tell(Happening.CONNECTIONS_END)
        self.expect_ends()

    def retire(self) -> None:
        """The subject is about to be ended: nothing that it still registers is followed any more."""
        with self._lock:
            self._retired = True
        self.finish()

    def expect_ends(self) -> None:
        """Whatever stream ends from now on, we gave the reason."""
        for connection in self.connections().values():
            connection.expect_end()

    # Its life

    def start(self) -> None:
        """Listen as kubelet.sock; the name appears when the socket listens, not before."""
        server = grpc.server(ThreadPoolExecutor(16), options=[("grpc.so_reuseport", 0)])
        api_grpc.add_RegistrationServicer_to_server(_Registration(self), server)
        early = Path(f"/proc/self/fd/{self._directory_fd}/.kubelet.new")
        early.unlink(missing_ok=True)
        server.add_insecure_port(f"unix:{early}")
        server.start()
        self._servers.append(server)
        early.rename(early.with_name("kubelet.sock"))
        if not self._watcher.is_alive():
            self._watcher.start()
        self._tell(Happening.KUBELET_STARTED)

    def restart(self) -> None:
        """As a kubelet restarts: its connections end, a little later all sockets are wiped, and it listens at once."""
        self.finish()
        self._end_servers()
        self._drop_connections()
        self._stopping.wait(_RESTART_PAUSE_SECONDS)
        wipe_sockets(self._directory)
        self._tell(Happening.KUBELET_RESTARTS)
        self.start()
        with self._lock:
            self._known.clear()

    def replace(self) -> None:
        """A new kubelet.sock while the old streams are open: whoever registers now overlaps, or ends them first."""
        self.expect_ends()
        self._tell(Happening.KUBELET_SOCKET_REPLACED)
        self.start()

    def _end_servers(self) -> None:
        while self._servers:
            self._servers.pop().stop(grace=0).wait()

    def _drop_connections(self) -> None:
        with self._lock:
            dropped, self._connections = list(self._connections.values()), {}
        for connection in dropped:
            connection.close()

    def _tell(self, what: Happening, details: str = "") -> None:
        self._recorder.add(Happened(self._session, self._recorder.now(), what, details))

    def adopt_socket(self, socket: Path) -> None:
        """Take a plugin's socket as registered, under no name."""
        connection = Connection(self._recorder, self._session, "", str(socket), self._seconds)
        if error := connection.dial(self._seconds):
            connection.close()
            raise UserError(f"{socket}: {error}; is the plugin running?")
        connection.call(Method.OPTIONS, api.Empty(), Probe.REGISTER)
        self._adopt(connection, self._generation)

    # Registration by Register

    def register(self, request: api.RegisterRequest) -> str:
        """Deal with a registration; the answer is why it is refused, empty when it is not."""
        refuse, generation = self._count_arrival(request.resource_name)
        overlaps = self._wait_for_old(request.resource_name)
        if refuse:
            self._note(request, accepted=False)
            return "refused by numaproof: what does the plugin do now?"
        # A path in the endpoint is a violation, which its check tells; its last part is where the socket is.
        connection = self._connection(request.resource_name, self._directory_fd, request.endpoint)
        error = self._dial_back(connection, generation)
        if error is None:
            return ""
        self._note(request, accepted=True, dial_error=error, overlaps=overlaps)
        if error:
            thread = threading.Thread(target=self._connect_late, args=(connection, generation), daemon=True)
            self._late.append(thread)
            thread.start()
        else:
            self._adopt(connection, generation)
        return ""

    def _count_arrival(self, resource: str) -> tuple[bool, int]:
        """Count a registration; whether it is to be refused, and which kubelet it came to."""
        with self._lock:
            self._arrived += 1
            refuse = self._refusals > 0
            if refuse:
                self._refusals -= 1
                self._refused.add(resource)
            return refuse, _NO_GENERATION if self._retired else self._generation

    def _dial_back(self, connection: Connection, generation: int) -> str | None:
        """Why the plugin does not answer, empty when it does; None, and closed, when the kubelet that asks is gone.

        The end of a kubelet is often the end of the subject too: what did not answer then says nothing about it.
        """
        end = time.monotonic() + DIAL_SECONDS
        error = connection.dial(_DIAL_SLICE_SECONDS)
        while error and self._is_current(generation) and time.monotonic() < end:
            error = connection.dial(_DIAL_SLICE_SECONDS)
        if not error:
            connection.call(Method.OPTIONS, api.Empty(), Probe.REGISTER)
        elif not self._is_current(generation):
            connection.close()
            return None
        return f"nobody answered at its socket within {DIAL_SECONDS} s" if error else ""

    def _is_current(self, generation: int) -> bool:
        with self._lock:
            return generation == self._generation

    def _connection(self, resource: str, directory_fd: int, endpoint: str) -> Connection:
        socket = f"/proc/self/fd/{directory_fd}/{Path(endpoint).name}"
        return Connection(self._recorder, self._session, resource, socket, self._seconds)

    def _wait_for_old(self, resource: str) -> bool:
        """Whether the resource's old stream is still open."""
        old = self.connections().get(resource)
        return bool(old and old.stream and not old.stream.ended.wait(_OVERLAP_SECONDS))

    def _note(
        self, request: api.RegisterRequest, *, accepted: bool, dial_error: str = "", overlaps: bool = False
    ) -> None:
        self._recorder.add(
            Registered(
                self._session,
                self._recorder.now(),
                request.resource_name,
                request.version,
                request.endpoint,
                request.options,
                Method.REGISTER,
                accepted,
                dial_error,
                overlaps,
            )
        )

    def _connect_late(self, connection: Connection, generation: int) -> None:
        end = time.monotonic() + self._seconds
        while not self._stopping.is_set() and time.monotonic() < end:
            if not connection.dial(1):
                self._adopt(connection, generation)
                return
        connection.close()

    def _adopt(self, connection: Connection, generation: int) -> None:
        """Follow a plugin's lists from now on, unless the kubelet that it registered with is gone."""
        with self._lock:
            is_late = generation != self._generation
            if not is_late:
                connection.watch(Probe.REGISTERED)
                old = self._connections.get(connection.resource)
                self._connections[connection.resource] = connection
                self._accepted += 1
        if is_late:
            connection.close()
        elif old:
            old.close()

    # Registration by plugins_registry

    def _watch_registry(self) -> None:
        while not self._stopping.wait(_SCAN_SECONDS):
            for name, identity in sockets_in(self._registry).items():
                with self._lock:
                    is_new = self._known.get(name) != identity
                    first = self._first_seen.setdefault(name, time.monotonic())
                if not self._servers or not is_new or (name[0] == "." and time.monotonic() - first < _DOT_SECONDS):
                    continue
                if self._register_found(name):
                    with self._lock:
                        self._known[name] = identity
                else:
                    self._stopping.wait(_AGAIN_SECONDS)

    def _register_found(self, name: str) -> bool:
        """Register the plugin behind a socket of the registry; whether that is settled."""
        self._tell(Happening.REGISTRY_SOCKET, name)
        with channel_to(f"/proc/self/fd/{self._registry_fd}/{name}") as channel:
            stub = watched_grpc.RegistrationStub(channel)
            info = self._ask(stub.GetInfo, Method.GET_INFO, watched.InfoRequest(), Probe.FOUND, _INFO_SECONDS)
            if info is None:
                # Too slow for a kubelet; the rest is to be judged all the same.
                info = self._ask(stub.GetInfo, Method.GET_INFO, watched.InfoRequest(), Probe.PATIENT, self._seconds)
            if not isinstance(info, watched.PluginInfo):
                return False
            refuse, generation = self._count_arrival(info.name)
            overlaps = self._wait_for_old(info.name)
            connection = self._connection(info.name, self._directory_of(info.endpoint), info.endpoint or name)
            error = "" if refuse else self._dial_back(connection, generation)
            if error is None:
                return False
            self._recorder.add(
                Registered(
                    self._session,
                    self._recorder.now(),
                    info.name,
                    ",".join(info.supported_versions),
                    info.endpoint or name,
                    None,
                    Method.GET_INFO,
                    not refuse,
                    error,
                    overlaps,
                )
            )
            answer = watched.RegistrationStatus(plugin_registered=not refuse, error="refused" if refuse else "")
            probe = Probe.REFUSE if refuse else Probe.ACCEPT
            notify = stub.NotifyRegistrationStatus
            self._ask(notify, Method.NOTIFY, answer, probe, _NOTIFY_SECONDS)
        if refuse or error:
            connection.close()
            return False
        self._adopt(connection, generation)
        return True

    def _ask(
        self, method: Callable[..., Message], name: Method, request: Message, probe: Probe, seconds: float
    ) -> Message | None:
        return recorded_call(self._recorder, self._session, "", probe, method, name, request, seconds)

    def _directory_of(self, endpoint: str) -> int:
        """Where an endpoint's socket is, whatever the plugin calls the directory; none: it is the registry's own."""
        in_registry = not endpoint or Path(endpoint).parent.name in {"plugins_registry", self._registry.name}
        return self._registry_fd if in_registry else self._directory_fd


class _Registration(api_grpc.RegistrationServicer):
    def __init__(self, kubelet: FakeKubelet) -> None:
        self._kubelet = kubelet

    def Register(self, request: api.RegisterRequest, context: grpc.ServicerContext) -> api.Empty:  # noqa: N802
        """The one call of the kubelet."""
        refusal = self._kubelet.register(request)
        if refusal:
            _abort(context, refusal)
        return api.Empty()


def _abort(context: grpc.ServicerContext, text: str) -> NoReturn:
    context.abort(grpc.StatusCode.UNKNOWN, text)
    raise AssertionError("abort always raises")
