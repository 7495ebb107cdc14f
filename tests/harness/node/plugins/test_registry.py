"""Plugins that wait below plugins_registry/ to be asked."""

from pathlib import Path

from numaproof.harness.api import pluginregistration_v1_pb2 as registration
from tests.harness.node.plugins.listener import heard_hub
from tests.harness.node.plugins.small_plugin import SmallPlugin, device
from tests.places import short_directory
from tests.waiting import wait_until

GPU = "example.com/gpu"


def named(plugin: SmallPlugin, resource: str = GPU, **info: str) -> SmallPlugin:
    """The plugin, introducing itself by this resource."""
    plugin.info.name = resource
    for key, value in info.items():
        setattr(plugin.info, key, value)
    return plugin


def statuses(plugin: SmallPlugin) -> list[registration.RegistrationStatus]:
    """What the plugin was told about its registration."""
    return [request for request in plugin.requests if isinstance(request, registration.RegistrationStatus)]


def test_a_socket_that_appears_is_registered_and_one_that_vanishes_is_let_go() -> None:
    with short_directory() as root, heard_hub(root) as (hub, heard):
        (root / "reg" / "sub").mkdir()
        with named(SmallPlugin(root / "reg" / "sub" / "g.sock", device("a", 1))) as plugin:
            wait_until(lambda: heard.healthy(GPU) == {"a"}, "the list")
            wait_until(lambda: statuses(plugin), "the notification")
            assert statuses(plugin)[0] == registration.RegistrationStatus(plugin_registered=True)
            assert hub.allocate(GPU, ["a"]).envs == {"DEVICES": "a"}
            plugin.path.unlink()
            wait_until(lambda: not heard.healthy(GPU), "the end of the registration")
            assert hub.resources() == (GPU,)
        with named(SmallPlugin(root / "reg" / "g.sock", device("b", 1))):
            wait_until(lambda: heard.healthy(GPU) == {"b"}, "the list of the plugin's successor")


def test_a_plugin_that_restarts_at_the_same_path_is_registered_again() -> None:
    with short_directory() as root, heard_hub(root) as (_, heard):
        path = root / "reg" / "g.sock"
        with named(SmallPlugin(path, device("a"))):
            wait_until(lambda: heard.healthy(GPU) == {"a"}, "the first list")
            with named(SmallPlugin(root / "reg" / ".g.sock", device("b"))) as successor:
                successor.path.rename(path)
                wait_until(lambda: heard.healthy(GPU) == {"b"}, "the list after the restart")


def test_a_refused_plugin_is_told_why_and_may_try_again() -> None:
    with (
        short_directory() as root,
        heard_hub(root) as (_, heard),
        named(SmallPlugin(root / "reg" / "g.sock", device("a")), type="CSIPlugin") as plugin,
    ):
        wait_until(lambda: statuses(plugin), "the refusal")
        assert statuses(plugin)[0] == registration.RegistrationStatus(
            plugin_registered=False,
            error=f"no handler registered for plugin type: CSIPlugin at socket {plugin.path}",
        )
        plugin.info.type = "DevicePlugin"
        wait_until(lambda: heard.healthy(GPU) == {"a"}, "the list after the next attempt")
        assert any("CSIPlugin" in line for line in heard.lines)


def test_what_a_plugin_of_the_registry_says_is_checked() -> None:
    def refusal(plugin: SmallPlugin) -> str:
        with plugin:
            wait_until(lambda: statuses(plugin), "the refusal")
        assert not statuses(plugin)[0].plugin_registered
        return statuses(plugin)[0].error

    with short_directory() as root, short_directory() as elsewhere, heard_hub(root) as (hub, _):
        registry = root / "reg"
        assert (
            refusal(named(SmallPlugin(registry / "a"), "gpu"))
            == 'plugin validation failed with err: the ResourceName "gpu" is invalid'
        )
        old = named(SmallPlugin(registry / "b"))
        old.info.supported_versions[:] = ["v1alpha", "v1"]
        assert "manager version, v1beta1, is not among plugin supported versions [v1alpha v1]" in refusal(old)
        with SmallPlugin(elsewhere / "g.sock") as outside:
            assert "leads out of" in refusal(named(SmallPlugin(registry / "c"), endpoint=str(outside.path)))
            (registry / "link").symlink_to(outside.path)
            assert "leads out of" in refusal(named(SmallPlugin(registry / "d"), endpoint=str(registry / "link")))
        assert "not an absolute path" in refusal(named(SmallPlugin(registry / "e"), endpoint="g.sock"))
        assert hub.resources() == ()


def test_the_service_may_live_on_another_socket() -> None:
    with (
        short_directory() as root,
        heard_hub(root) as (hub, heard),
        SmallPlugin(root / "dp" / "g.sock", device("a")) as service,
        named(SmallPlugin(root / "reg" / "g-reg.sock", device("b")), endpoint=str(root / "dp" / "g.sock")),
    ):
        wait_until(lambda: heard.healthy(GPU) == {"a"}, "the list of the other socket")
        assert hub.plugins()[0].endpoint == str(service.path)


def test_hidden_sockets_and_files_are_not_asked() -> None:
    def hidden(path: Path) -> SmallPlugin:
        return named(SmallPlugin(path, device("hidden")), "example.com/hidden")

    with short_directory() as root, heard_hub(root) as (hub, heard):
        (root / "reg" / ".dir").mkdir()
        (root / "reg" / "file").write_text("")
        with hidden(root / "reg" / ".g.sock") as dotted, hidden(root / "reg" / ".dir" / "g.sock") as below:
            with named(SmallPlugin(root / "reg" / "g.sock", device("a"))):
                wait_until(lambda: heard.healthy(GPU), "the plugin that wants to be seen")
            assert dotted.requests == below.requests == []
            assert hub.resources() == (GPU,)
