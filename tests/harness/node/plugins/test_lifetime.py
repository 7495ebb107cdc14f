"""The hub from its start to its stop, and what others find meanwhile."""

import socket
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import grpc
import pytest

from numaproof.errors import UserError
from numaproof.harness.node.plugins import PluginHub
from tests.harness.node.plugins.listener import Listener, heard_hub
from tests.harness.node.plugins.small_plugin import SmallPlugin, device, register
from tests.places import short_directory
from tests.waiting import wait_until

GPU = "example.com/gpu"


def test_the_hub_stops_while_a_plugin_keeps_it_waiting() -> None:
    with short_directory() as root, ThreadPoolExecutor(1) as pool, socket.socket(socket.AF_UNIX) as mute:
        with heard_hub(root, dial_seconds=3600) as (_, heard):
            mute.bind(str(root / "dp" / "mute.sock"))
            mute.listen()
            mute.settimeout(60)
            waiting = pool.submit(register, root / "dp", GPU, "mute.sock")
            connection, _ = mute.accept()
        connection.close()
        assert isinstance(waiting.exception(timeout=60), grpc.RpcError)
        assert heard.events == []
        assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("registration")]


def test_a_restart_wipes_the_sockets_and_takes_registrations_again() -> None:
    with short_directory() as root:
        directory = root / "dp"
        with (
            heard_hub(root) as (_, heard),
            SmallPlugin(directory / "g.sock", device("a")) as plugin,
        ):
            plugin.register(GPU)
            wait_until(lambda: heard.healthy(GPU), "the list")
            (directory / "kubelet_internal_checkpoint").write_text("{}")
            inode = (directory / "kubelet.sock").stat().st_ino
            with heard_hub(root) as (hub, heard_again):
                # The plugin's socket is wiped with the old kubelet.sock; files are not.
                assert sorted(path.name for path in directory.iterdir()) == [
                    "kubelet.sock",
                    "kubelet_internal_checkpoint",
                ]
                assert (directory / "kubelet.sock").stat().st_ino != inode
                with SmallPlugin(directory / "g.sock", device("b")) as returned:
                    returned.register(GPU)
                    wait_until(lambda: heard_again.healthy(GPU) == {"b"}, "the list after the restart")
                    assert hub.allocate(GPU, ["b"]).envs == {"DEVICES": "b"}


def test_closing_tells_the_listener_nothing_and_leaves_nothing() -> None:
    with short_directory() as root, ExitStack() as plugins:
        with heard_hub(root) as (_, heard):
            plugin = plugins.enter_context(SmallPlugin(root / "dp" / "g.sock", device("a")))
            plugin.register(GPU)
            wait_until(lambda: heard.healthy(GPU), "the list")
            assert any("list of" in thread.name for thread in threading.enumerate())
        assert not [thread.name for thread in threading.enumerate() if "list of" in thread.name]
        assert heard.healthy(GPU) == {"a"}
        assert [path.name for path in (root / "dp").iterdir()] == ["g.sock"]


def test_sockets_and_directories_are_private() -> None:
    with short_directory() as root:
        (root / "dp").mkdir(mode=0o755)
        with heard_hub(root):
            assert {name: stat.S_IMODE((root / name).stat().st_mode) for name in ("dp", "reg", "dp/kubelet.sock")} == {
                "dp": 0o700,
                "reg": 0o700,
                "dp/kubelet.sock": 0o600,
            }


def test_a_directory_that_cannot_be_used_is_a_clear_error() -> None:
    with short_directory() as root:
        (root / "file").write_text("")
        with (
            pytest.raises(UserError, match=r"file/dp: cannot be made a private directory \(Not a directory\)"),
            hub_at(root / "file" / "dp"),
        ):
            pass
        with (
            pytest.raises(UserError, match="too long for a unix socket's path, which holds 107"),
            hub_at(root / ("x" * 100)),
        ):
            pass


def hub_at(directory: Path) -> PluginHub:
    listener = Listener()
    return PluginHub(
        directory,
        None,
        on_devices=lambda resource, devices: listener.events.append((resource, devices)),
        on_gone=lambda resource: listener.events.append((resource,)),
    )
