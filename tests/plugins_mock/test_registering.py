"""A fake plugin and the kubelets that come and go: it serves, registers, and registers again, each time once."""

import os
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.api import deviceplugin_v1beta1_pb2_grpc as api_grpc
from numaproof.plugins_mock import MockDevice, MockPlugin
from tests.places import short_directory
from tests.plugins_mock.kubelet import Registrations, dial, kubelet
from tests.plugins_mock.serving import DEVICES, RESOURCE, SECONDS, first_list, lowest
from tests.waiting import wait_until


def test_serves_before_it_registers_and_registers_with_every_new_kubelet() -> None:
    with short_directory() as directory, MockPlugin(RESOURCE, DEVICES, directory, preferred=lowest()) as plugin:
        for _ in range(3):
            with kubelet(directory) as seen:
                request = seen.wait_for(1)
                assert (request.version, request.resource_name) == ("v1beta1", RESOURCE)
                assert request.options.get_preferred_allocation_available
                with dial(directory / request.endpoint) as channel:
                    assert len(first_list(api_grpc.DevicePluginStub(channel))) == 3
        assert plugin.registrations == 3
    assert not plugin.socket.exists()


def test_a_wiped_socket_is_served_again() -> None:
    with short_directory() as directory, kubelet(directory) as seen, MockPlugin(RESOURCE, DEVICES, directory) as plugin:
        seen.wait_for(1)
        wait_until(lambda: plugin.registrations == 1, "the end of the first registration")
        plugin.socket.unlink()
        seen.wait_for(2)
        with dial(plugin.socket) as channel:
            assert len(first_list(api_grpc.DevicePluginStub(channel))) == 3


def test_the_old_stream_has_ended_when_it_registers_again() -> None:
    with (
        short_directory() as directory,
        kubelet(directory) as first,
        MockPlugin(RESOURCE, DEVICES, directory) as plugin,
    ):
        first.wait_for(1)
        ended = threading.Event()
        with dial(plugin.socket) as channel:
            stream = api_grpc.DevicePluginStub(channel).ListAndWatch(api.Empty(), timeout=SECONDS)
            next(iter(stream))
            stream.add_callback(ended.set)
            with kubelet(directory) as second:
                second.wait_for(1)
                assert ended.wait(SECONDS)


def test_a_refused_registration_is_tried_again() -> None:
    with (
        short_directory() as directory,
        kubelet(directory, refusals=2) as seen,
        MockPlugin(RESOURCE, DEVICES, directory) as plugin,
    ):
        seen.wait_for(3)
        wait_until(lambda: plugin.registrations == 1, "an accepted registration")


def test_a_kubelet_that_wipes_sockets_just_then_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Path.rename
    wiped: list[Path] = []

    def wipe_first(path: Path, target: Path) -> Path:
        if not wiped:
            wiped.append(path)
            path.unlink()
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", wipe_first)
    with short_directory() as directory, MockPlugin("example.com/gpu", [MockDevice("a")], directory) as plugin:
        assert wiped
        assert plugin.socket.is_socket()


def test_a_kubelet_that_starts_when_the_socket_is_found_wiped_is_registered_with_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Just as the plugin finds its own socket gone, a kubelet starts over the socket that a killed one had left.

    Looking at files is all that the plugin does meanwhile, so that is where the test puts the kubelet's start, and
    what it counts looks by.
    """
    stat = Path.stat
    started: list[Registrations] = []
    looks = 0
    with short_directory() as directory, ExitStack() as ending:
        with kubelet(directory) as killed:
            plugin = ending.enter_context(MockPlugin(RESOURCE, DEVICES, directory))
            killed.wait_for(1)
            wait_until(lambda: plugin.registrations == 1, "the end of the first registration")
        assert (directory / "kubelet.sock").exists()

        def look(path: Path, **options: Any) -> os.stat_result:
            nonlocal looks
            looks += path == directory / "kubelet.sock"
            try:
                return stat(path, **options)
            except FileNotFoundError:
                if path == plugin.socket and not started:
                    started.append(ending.enter_context(kubelet(directory)))
                raise

        monkeypatch.setattr(Path, "stat", look)
        plugin.socket.unlink()
        wait_until(lambda: plugin.registrations == 2, "the registration with the new kubelet")
        before = looks
        wait_until(lambda: looks > before + 6, "a few looks more")
        assert len(started[0].seen) == 1
