"""A fake device plugin: a real gRPC server that registers with a kubelet, and again whenever the kubelet is new."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

import grpc

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.api import deviceplugin_v1beta1_pb2_grpc as api_grpc
from numaproof.harness.api import pluginregistration_v1_pb2_grpc as registration_grpc
from numaproof.harness.api import preferredallocations_draft_pb2_grpc as draft_grpc
from numaproof.harness.vocabulary import LONGEST_SOCKET_PATH
from numaproof.plugins_mock.answers import Respond, plain_response
from numaproof.plugins_mock.costs import MockCost
from numaproof.plugins_mock.devices import Inventory, MockDevice
from numaproof.plugins_mock.errors import PluginError
from numaproof.plugins_mock.faults import Fault, FaultPlan
from numaproof.plugins_mock.service import (
    PLURAL_PATHS,
    Call,
    DevicePluginService,
    PluginState,
    PluralPath,
    Preferred,
    PreferredAllocationsService,
    WatchedService,
    options,
)

_REGISTER_SECONDS = 30
_RETRY_SECONDS = 0.5
_WIPED_TRIES = 5
_WORKERS = 64  # each stream and each hanging call holds one


class MockPlugin:
    """Serves from `with` to its end; registers in the background as soon as, and whenever, there is a new kubelet."""

    def __init__(
        self,
        resource: str,
        devices: Iterable[MockDevice],
        directory: Path,
        *,
        registry: Path | None = None,  # plugins_registry: be found there instead of registering
        endpoint: str | None = None,  # None: a name made of the resource's
        faults: Mapping[str, Sequence[Fault]] | None = None,
        respond: Respond | None = None,
        preferred: Preferred | None = None,
        plural: bool = False,  # serve the draft GetPreferredAllocations too
        costs: Iterable[MockCost] = (),  # with any, the draft is served, be it without sets
        plural_paths: Collection[PluralPath] = PLURAL_PATHS,
        pre_start: bool = False,
        poll_seconds: float = 0.05,
        on_call: Callable[[Call], None] | None = None,
        log: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.resource = resource
        self._kubelet = directory / "kubelet.sock"
        self._registry = registry
        self._plan = FaultPlan(faults or {})
        name = endpoint or "".join(c if c.isalnum() or c in ".-" else "_" for c in resource) + ".sock"
        dot = "." if self._plan.look("Register", "dot") else ""
        self.socket = (registry or directory) / (dot + name)
        if len(os.fsencode(self.socket)) + len(".new") > LONGEST_SOCKET_PATH:
            raise PluginError(f"{self.socket}: longer than a unix socket's path may be; use a shorter directory")
        self._lock = threading.Lock()
        self._calls: list[Call] = []
        self._on_call = on_call
        known = tuple(costs)
        self._state = PluginState(
            inventory=Inventory(devices),
            plan=self._plan,
            respond=respond or plain_response(resource),
            preferred=preferred,
            plural=tuple(plural_paths) if plural or known else (),
            sets=plural,
            resource=resource,
            costs=known,
            pre_start=pre_start,
            on_call=self._record,
            on_refusal=self._refused,
        )
        self._poll_seconds = poll_seconds
        self._log = log
        self._stopping = threading.Event()
        self._refusals: list[bool] = []
        self._registrations = 0
        self._known: tuple[int, int] | None = None  # the kubelet that knows us; None: none does
        self._given_up = False
        self._servers: list[_Serving] = []
        self._registrar = threading.Thread(target=self._keep_registered, name=f"registrar of {resource}", daemon=True)

    def __enter__(self) -> Self:
        if not self._plan.look("Register", "early"):
            self._serve()
        self._registrar.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._stopping.set()
        self._registrar.join()
        self._end_servers()
        if not self._plan.look("Stop", "leave-socket"):
            self.socket.unlink(missing_ok=True)

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every call so far, in the order of arrival."""
        with self._lock:
            return tuple(self._calls)

    @property
    def registrations(self) -> int:
        """How often a kubelet has accepted this plugin's registration."""
        with self._lock:
            return self._registrations

    @property
    def devices(self) -> tuple[MockDevice, ...]:
        """The devices as they are now."""
        return self._state.inventory.current()

    def set_health(self, device_id: str, healthy: bool) -> None:
        """Flip a device's health; every open stream gets the new list."""
        self._state.inventory.set_health(device_id, healthy)

    def set_devices(self, devices: Iterable[MockDevice]) -> None:
        """Offer other devices; every open stream gets the new list."""
        self._state.inventory.replace(devices)

    def _record(self, call: Call) -> None:
        with self._lock:
            self._calls.append(call)
        if self._on_call:
            self._on_call(call)

    def _refused(self, offer_again: bool) -> None:
        with self._lock:
            self._refusals.append(offer_again)

    # Serving

    def _serve(self) -> None:
        for tries_left in reversed(range(_WIPED_TRIES)):
            try:
                serving = _Serving(self._state, self.resource, self.socket, watched=self._registry is not None)
            except _WipedError:
                if not tries_left:
                    raise
            else:
                self._servers.append(serving)
                return

    def _end_servers(self) -> None:
        while self._servers:
            self._servers.pop().end()

    def _restart_server(self) -> None:
        if not self._plan.look("Register", "overlap"):
            self._end_servers()
        self._serve()

    # Registering

    def _keep_registered(self) -> None:
        keep = self._keep_found if self._registry is not None else self._keep_known
        while not self._stopping.is_set():
            try:
                keep()
            except PluginError as error:
                # Somebody took the directory away, perhaps for a moment only.
                self._log(str(error))
                self._stopping.wait(_RETRY_SECONDS)
            self._stopping.wait(self._poll_seconds)

    def _keep_known(self) -> None:
        """Register with a kubelet that does not know us; one that has wiped our socket does not either."""
        kubelet = _identity(self._kubelet)
        wiped = bool(self._servers) and _identity(self.socket) is None
        if kubelet is None or (kubelet == self._known and not wiped) or self._given_up:
            return
        again = self._known is not None
        if again and self._plan.look("Register", "once"):
            return
        slow = self._plan.look("Register", "slow")
        if again and slow:
            self._stopping.wait(slow.number(10))
        if again or wiped:
            self._restart_server()
        # Not what was seen above: a kubelet wipes our socket when it starts, and has one of its own only then.
        kubelet = _identity(self._kubelet)
        accepted = self._register()
        self._known = kubelet if accepted else None
        if not accepted:
            self._given_up = self._plan.look("Register", "give-up") is not None
            self._stopping.wait(_RETRY_SECONDS)

    def _keep_found(self) -> None:
        """With a registry: put the socket back when it is gone, and offer it anew after a refusal."""
        with self._lock:
            refusals, self._refusals = self._refusals, []
        if refusals:
            self._end_servers()
            self.socket.unlink(missing_ok=True)
        if (refusals and refusals[-1]) or (self._servers and _identity(self.socket) is None):
            self._log("offering the socket again")
            self._restart_server()

    def _register(self) -> bool:
        """Whether the kubelet has accepted us."""
        faults = self._plan.take("Register")
        request = api.RegisterRequest(
            version=(faults["version"].value or "v1alpha") if "version" in faults else "v1beta1",
            endpoint=(faults["endpoint"].value or str(self.socket)) if "endpoint" in faults else self.socket.name,
            resource_name=(faults["resource"].value or "gpu") if "resource" in faults else self.resource,
            options=options(self._state),
        )
        if "options" in faults:
            request.options.pre_start_required = not request.options.pre_start_required
        wake = threading.Event()
        with grpc.insecure_channel(f"unix:{self._kubelet}", options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
            call = api_grpc.RegistrationStub(channel).Register.future(request, timeout=_REGISTER_SECONDS)
            call.add_done_callback(lambda _: wake.set())
            end = time.monotonic() + 2 * _REGISTER_SECONDS
            while not wake.wait(0.02) and time.monotonic() < end:
                if self._stopping.is_set():
                    call.cancel()
            code, details = call.code(), call.details()
        if not self._servers:
            self._serve()  # the fault of registering first
        if code == grpc.StatusCode.OK:
            self._log(f"registered {request.resource_name} at {request.endpoint}")
            with self._lock:
                self._registrations += 1
            return True
        self._log(f"registration failed: {code.name}: {details}")
        return False


class _WipedError(PluginError):
    """The socket vanished before it had its name: a kubelet that starts removes the sockets that it finds."""


class _Serving:
    """One server on the plugin's socket, until `end`."""

    def __init__(self, state: PluginState, resource: str, socket: Path, *, watched: bool) -> None:
        self._stopping = threading.Event()
        self._state = state
        self._server = grpc.server(ThreadPoolExecutor(_WORKERS), options=[("grpc.max_receive_message_length", -1)])
        api_grpc.add_DevicePluginServicer_to_server(DevicePluginService(state, self._stopping), self._server)
        draft = PreferredAllocationsService(state, self._stopping)
        if "proposal" in state.plural:
            draft_grpc.add_DevicePluginServicer_to_server(draft, self._server)
        if "numaproof" in state.plural:
            draft_grpc.add_PreferredAllocationsServicer_to_server(draft, self._server)
        if watched:
            service = WatchedService(state, self._stopping, resource, str(socket))
            registration_grpc.add_RegistrationServicer_to_server(service, self._server)
        # A socket that can be seen but does not listen yet makes whoever watches the directory fail: it gets its
        # name when it listens. The dot keeps the kubelet's watcher away from it meanwhile.
        early = socket.with_name(f".{socket.name.lstrip('.')}.new")
        early.unlink(missing_ok=True)
        try:
            self._server.add_insecure_port(f"unix:{early}")
            self._server.start()
            early.rename(socket)
        except FileNotFoundError as error:
            self.end()
            raise _WipedError(f"{socket}: cannot serve there ({error.strerror}); is the directory there?") from error
        except (OSError, RuntimeError) as error:
            self.end()
            told = f" ({error.strerror})" if isinstance(error, OSError) else ""  # else it is gRPC's words for all cases
            raise PluginError(f"{socket}: cannot serve there{told}; is the directory there and writable?") from error

    def end(self) -> None:
        """End every stream and call, then the server."""
        self._stopping.set()
        self._state.inventory.wake()
        self._server.stop(grace=5).wait()


def _identity(socket: Path) -> tuple[int, int] | None:
    """What tells one socket from its successor at the same path; the inode's number alone may be used again."""
    with contextlib.suppress(OSError):
        seen = socket.stat()
        return (seen.st_ino, seen.st_mtime_ns)
    return None
