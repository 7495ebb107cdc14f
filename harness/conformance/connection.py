"""The kubelet's side of one plugin: a channel to its socket, recorded calls, recorded streams."""

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator
from enum import Enum

import grpc
from google.protobuf.message import Message

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.api import deviceplugin_v1beta1_pb2_grpc as api_grpc
from numaproof.harness.api import preferredallocations_draft_pb2_grpc as draft_grpc
from numaproof.harness.conformance.exchange import Called, Ended, Listed, Opened, Recorder
from numaproof.harness.conformance.happenings import Method, Probe, Session

_OPTIONS = [
    ("grpc.use_local_subchannel_pool", 1),  # a restarted plugin is not met with the back-off of its predecessor
    ("grpc.max_receive_message_length", -1),  # a list over the kubelet's limit is to be measured, not refused
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
]
_HANGING_SECONDS = 2  # for a call that hung once: it is not waited for that long again
_numbers = itertools.count(1)


class Service(Enum):
    """A service at a plugin's socket."""

    PLUGIN = "v1beta1.DevicePlugin"
    DRAFT = "numaproof.v1.PreferredAllocations"  # the draft call, in a service that announces it
    PROPOSAL = "v1beta1.DevicePlugin, with the draft call"


@contextlib.contextmanager
def channel_to(socket: str) -> Iterator[grpc.Channel]:
    """A channel to a unix socket."""
    with grpc.insecure_channel(f"unix:{socket}", options=_OPTIONS) as channel:
        yield channel


def recorded_call(
    recorder: Recorder,
    session: Session,
    resource: str,
    probe: Probe,
    method: Callable[..., Message],
    name: Method,
    request: Message,
    seconds: float,
) -> Message | None:
    """The answer to a call, None when it failed or took too long; recorded either way."""
    started = recorder.now()
    response: Message | None = None
    code, details = "OK", ""
    try:
        response = method(request, timeout=seconds)
    except grpc.RpcError as error:
        code = error.code().name if isinstance(error, grpc.Call) else "UNKNOWN"
        details = (error.details() or "") if isinstance(error, grpc.Call) else str(error)
    except ValueError as error:  # the channel was closed meanwhile
        code, details = "CANCELLED", str(error)
    recorder.add(
        Called(session, started, resource, name, probe, request, response, code, details, recorder.now() - started)
    )
    return response


class Stream:
    """A ListAndWatch stream, followed until its end."""

    def __init__(
        self, recorder: Recorder, session: Session, resource: str, stub: api_grpc.DevicePluginStub, probe: Probe
    ):
        self.number = next(_numbers)
        self._recorder = recorder
        self._session = session
        self._resource = resource
        self._lock = threading.Lock()
        self._lists: list[api.ListAndWatchResponse] = []
        self._healthy: frozenset[str] = frozenset()
        self._missing: frozenset[str] = frozenset()
        self._expected = False
        self.ended = threading.Event()
        recorder.add(Opened(session, recorder.now(), resource, self.number, probe))
        self._call = stub.ListAndWatch(api.Empty())
        self._reader = threading.Thread(target=self._follow, daemon=True, name=f"stream {self.number}")
        self._reader.start()

    def lists(self) -> list[api.ListAndWatchResponse]:
        """The messages so far."""
        with self._lock:
            return list(self._lists)

    def missing(self) -> frozenset[str]:
        """The ids of devices that this stream has called healthy, and no longer does."""
        with self._lock:
            return self._missing

    def expect_end(self) -> None:
        """From now on its end is nothing to be blamed for."""
        with self._lock:
            self._expected = True

    def cancel(self) -> None:
        """End it from our side."""
        self.expect_end()
        self._call.cancel()
        self._reader.join()

    def _follow(self) -> None:
        code, details = "OK", ""
        try:
            for response in self._call:
                size = response.ByteSize()
                self._recorder.add(
                    Listed(self._session, self._recorder.now(), self._resource, self.number, response, size)
                )
                # Worked out once for each message, however often somebody asks: a list may have 100,000 devices.
                healthy = frozenset(device.ID for device in response.devices if device.health == "Healthy")
                with self._lock:
                    self._lists.append(response)
                    self._missing = (self._missing | self._healthy) - healthy
                    self._healthy = healthy
        except grpc.RpcError:
            code, details = self._call.code().name, self._call.details() or ""
        with self._lock:
            expected = self._expected
        self._recorder.add(
            Ended(self._session, self._recorder.now(), self._resource, self.number, code, details, expected)
        )
        self.ended.set()


class Connection:
    """A channel to a registered plugin."""

    def __init__(self, recorder: Recorder, session: Session, resource: str, socket: str, seconds: float) -> None:
        self._recorder = recorder
        self._session = session
        self._seconds = seconds
        self.resource = resource
        self._channel = grpc.insecure_channel(f"unix:{socket}", options=_OPTIONS)
        self._stub = api_grpc.DevicePluginStub(self._channel)
        self._services: dict[Service, object] = {
            Service.PLUGIN: self._stub,
            Service.DRAFT: draft_grpc.PreferredAllocationsStub(self._channel),
            Service.PROPOSAL: draft_grpc.DevicePluginStub(self._channel),
        }
        self.stream: Stream | None = None
        self._hanging: set[Method] = set()  # calls that were not answered in time

    def dial(self, seconds: float) -> str:
        """Why the plugin's socket does not answer within so many seconds; empty: it does."""
        ready = grpc.channel_ready_future(self._channel)
        try:
            ready.result(timeout=seconds)
        except grpc.FutureTimeoutError:
            ready.cancel()
            return f"nobody answered at its socket within {seconds:g} s"
        return ""

    def call(
        self,
        name: Method,
        request: Message,
        probe: Probe,
        seconds: float | None = None,
        service: Service = Service.PLUGIN,
    ) -> Message | None:
        """Make a call of one of the plugin's services; None when it failed."""
        method = getattr(self._services[service], name)
        limit = self._seconds if seconds is None else seconds
        if name in self._hanging:
            limit = min(limit, _HANGING_SECONDS)
        started = self._recorder.now()
        answer = recorded_call(self._recorder, self._session, self.resource, probe, method, name, request, limit)
        if answer is None and self._recorder.now() - started >= limit:
            self._hanging.add(name)
        return answer

    def watch(self, probe: Probe) -> Stream:
        """Open a ListAndWatch stream; it becomes the current one."""
        self.stream = Stream(self._recorder, self._session, self.resource, self._stub, probe)
        return self.stream

    def expect_end(self) -> None:
        """The current stream may end now."""
        if self.stream:
            self.stream.expect_end()

    def close(self) -> None:
        """End the stream and the channel."""
        if self.stream:
            self.stream.cancel()
        self._channel.close()
