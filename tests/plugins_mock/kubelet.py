"""A small kubelet for tests: takes registrations on a real socket, and dials plugins back."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.api import deviceplugin_v1beta1_pb2_grpc as api_grpc
from tests.waiting import wait_until


class Registrations(api_grpc.RegistrationServicer):
    """Remembers who registered; refuses the first `refusals` of them."""

    def __init__(self, refusals: int = 0) -> None:
        self._lock = threading.Lock()
        self._refusals = refusals
        self._seen: list[api.RegisterRequest] = []

    def Register(self, request: api.RegisterRequest, context: grpc.ServicerContext) -> api.Empty:  # noqa: N802
        with self._lock:
            self._seen.append(request)
            self._refusals -= 1
            refuse = self._refusals >= 0
        if refuse:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "refused by the test")
        return api.Empty()

    @property
    def seen(self) -> list[api.RegisterRequest]:
        with self._lock:
            return list(self._seen)

    def wait_for(self, count: int) -> api.RegisterRequest:
        """The last registration, once there are `count`."""
        wait_until(lambda: len(self.seen) >= count, f"registration number {count}")
        return self.seen[-1]


@contextmanager
def kubelet(directory: Path, refusals: int = 0) -> Iterator[Registrations]:
    """A kubelet that has just started in `directory`: old sockets are gone, its own is new."""
    for path in directory.glob("*.sock"):
        path.unlink(missing_ok=True)
    registrations = Registrations(refusals)
    server = grpc.server(ThreadPoolExecutor(8))
    api_grpc.add_RegistrationServicer_to_server(registrations, server)
    early = directory / ".kubelet.new"
    server.add_insecure_port(f"unix:{early}")
    server.start()
    early.rename(directory / "kubelet.sock")
    try:
        yield registrations
    finally:
        server.stop(grace=0).wait()


@contextmanager
def dial(socket: Path) -> Iterator[grpc.Channel]:
    """A channel to a plugin's socket."""
    with grpc.insecure_channel(
        f"unix:{socket}", options=[("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
    ) as channel:
        yield channel
