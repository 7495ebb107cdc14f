"""Sockets that servers of ours listen on."""

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.api import deviceplugin_v1beta1_pb2_grpc as api_grpc
from numaproof.harness.node.plugins.sockets import ListeningSocket, target
from tests.places import short_directory
from tests.waiting import wait_until


class Answers(api_grpc.RegistrationServicer):
    """Says yes."""

    def Register(self, request: api.RegisterRequest, context: grpc.ServicerContext) -> api.Empty:  # noqa: N802
        return api.Empty()


@pytest.mark.parametrize("name", ["k.sock", "100%41.sock", "a#b?c.sock", "ü &;.sock"])
def test_a_socket_may_have_any_name(name: str) -> None:
    with short_directory() as root, ThreadPoolExecutor(1) as pool:
        server = grpc.server(pool)
        api_grpc.add_RegistrationServicer_to_server(Answers(), server)
        listening = ListeningSocket(server, root / name)
        assert [path.name for path in root.iterdir()] == [name]
        with grpc.insecure_channel(target(root / name)) as channel:
            api_grpc.RegistrationStub(channel).Register(api.RegisterRequest(), timeout=60, wait_for_ready=True)
        listening.remove()
        assert list(root.iterdir()) == []
        server.stop(None).wait()


def test_a_socket_never_refuses_from_the_moment_it_is_seen() -> None:
    with short_directory() as root, ThreadPoolExecutor(2) as pool:
        for n in range(5):
            path = root / f"{n}.sock"

            def dial_when_seen(path: Path = path) -> None:
                wait_until(path.exists, "the socket")
                with socket.socket(socket.AF_UNIX) as client:
                    client.connect(str(path))

            dialled = pool.submit(dial_when_seen)
            server = grpc.server(pool)
            ListeningSocket(server, path)
            dialled.result(timeout=60)
            server.stop(None).wait()


def test_a_name_that_another_has_taken_over_is_left_to_it() -> None:
    with short_directory() as root, ThreadPoolExecutor(1) as pool:
        first, second = grpc.server(pool), grpc.server(pool)
        old = ListeningSocket(first, root / "k.sock")
        new = ListeningSocket(second, root / "k.sock")
        first.stop(None).wait()
        old.remove()
        assert (root / "k.sock").is_socket()
        new.remove()
        assert list(root.iterdir()) == []
        second.stop(None).wait()
