"""Registrations that the hub does not take, and what they leave behind: nothing."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.harness.node.plugins.listener import heard_hub
from tests.harness.node.plugins.refusal import refusal_of
from tests.harness.node.plugins.small_plugin import SmallPlugin, device, register
from tests.places import short_directory
from tests.waiting import wait_until

GPU = "example.com/gpu"


@pytest.mark.parametrize(
    ("resource", "endpoint", "version", "text"),
    [
        (GPU, "g.sock", "v1alpha1", 'requested API version "v1alpha1" is not supported by kubelet'),
        ("gpu", "g.sock", "v1beta1", 'the ResourceName "gpu" is invalid'),
        (GPU, "../dp/g.sock", "v1beta1", "is not a file name"),
        (GPU, "", "v1beta1", "is not a file name"),
        (GPU, "g\0.sock", "v1beta1", "is not a file name"),
        (GPU, "x" * 107, "v1beta1", "is longer than the 107 bytes"),
        (GPU, "kubelet.sock", "v1beta1", "code = Unimplemented"),
    ],
)
def test_bad_registrations_change_nothing(resource: str, endpoint: str, version: str, text: str) -> None:
    with (
        short_directory() as root,
        heard_hub(root) as (hub, heard),
        SmallPlugin(root / "dp" / "g.sock", device("a")) as plugin,
    ):
        plugin.register(GPU)
        wait_until(lambda: heard.healthy(GPU), "the list of the good plugin")
        before = list(heard.events)
        assert text in refusal_of(lambda: plugin.register(resource, endpoint, version))
        wait_until(lambda: len(heard.events) > len(before), "the report of the refusal")
        assert [event[:2] for event in heard.events[len(before) :]] == [("registration", resource)]
        assert any(text in line for line in heard.lines)
        assert hub.resources() == (GPU,)
        assert hub.allocate(GPU, ["a"]).envs == {"DEVICES": "a"}
        assert heard.healthy(GPU) == {"a"}


def test_a_plugin_that_does_not_serve_is_refused() -> None:
    with short_directory() as root, heard_hub(root, dial_seconds=0.5) as (hub, heard):
        assert "failed to get device plugin options" in refusal_of(lambda: register(root / "dp", GPU, "missing.sock"))
        wait_until(lambda: heard.events, "the report of the refusal")
        assert hub.resources() == ()


def test_a_link_out_of_the_directory_is_refused() -> None:
    with (
        short_directory() as root,
        short_directory() as elsewhere,
        heard_hub(root) as (hub, heard),
        SmallPlugin(elsewhere / "g.sock", device("a")),
        SmallPlugin(root / "dp" / "g.sock", device("b")),
    ):
        directory = root / "dp"
        (directory / "out.sock").symlink_to(elsewhere / "g.sock")
        assert "leads out of" in refusal_of(lambda: register(directory, GPU, "out.sock"))
        assert "is not a file name" in refusal_of(lambda: register(directory, GPU, str(elsewhere / "g.sock")))
        assert hub.resources() == ()
        (directory / "in.sock").symlink_to("g.sock")
        register(directory, GPU, "in.sock")
        wait_until(lambda: heard.healthy(GPU) == {"b"}, "the list by a link within the directory")


def test_a_link_out_of_the_directory_that_appears_during_the_dial_is_refused() -> None:
    with (
        short_directory() as root,
        short_directory() as elsewhere,
        heard_hub(root) as (hub, _),
        SmallPlugin(elsewhere / "g.sock", device("a")) as plugin,
        ThreadPoolExecutor(1) as pool,
    ):
        refused = pool.submit(refusal_of, lambda: register(root / "dp", GPU, "late.sock"))
        wait_until(lambda: [t for t in threading.enumerate() if t.name.startswith("registration")], "the call's thread")
        (root / "dp" / "late.sock").symlink_to(plugin.path)
        assert "leads out of" in refused.result(timeout=60)
        assert hub.resources() == ()


def test_garbage_on_the_socket_changes_nothing() -> None:
    with (
        short_directory() as root,
        heard_hub(root) as (hub, heard),
        SmallPlugin(root / "dp" / "g.sock", device("a")) as plugin,
    ):
        for garbage in (
            b"",
            b"\0" * 70_000,
            b"GET / HTTP/1.1\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff",
        ):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(root / "dp" / "kubelet.sock"))
                try:
                    client.sendall(garbage)
                    client.shutdown(socket.SHUT_WR)
                except OSError:
                    continue  # the server had enough before all was sent
        assert hub.resources() == ()
        plugin.register(GPU)
        wait_until(lambda: heard.healthy(GPU), "the list of a good plugin")
        assert [event[0] for event in heard.events] == ["registration", "devices"]


def test_a_plugin_whose_socket_speaks_something_else_is_refused() -> None:
    with short_directory() as root, heard_hub(root, dial_seconds=0.5) as (hub, _):
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(root / "dp" / "mute.sock"))
            server.listen()
            assert "DeadlineExceeded" in refusal_of(lambda: register(root / "dp", GPU, "mute.sock"))
        assert hub.resources() == ()
