"""A rig whose programs are all plain ones: the parts do not ask who starts them."""

from pathlib import Path

from numaproof.harness.rig.reference_node import ReferenceNode
from numaproof.harness.rig.rig import LiveRig
from numaproof.harness.runtimes.launcher import PlainLauncher
from numaproof.harness.runtimes.local import ProcessRuntime
from numaproof.harness.runtimes.trees import Trees, machine_of
from numaproof.harness.scenario.rig import FakeDevice, FakePlugin
from tests.harness.commands.stories import NUMAPROOF
from tests.harness.scenario.fake_rig import given_of
from tests.places import short_directory

MACHINE = "pack:2 [numa(memory=4GB)] core:4 pu:1"
GPU = "example.com/gpu"
REPOSITORY = str(Path(__file__).parents[3])
CONFIG = {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0", "topologyManagerPolicy": "single-numa-node"}


def pod(name: str) -> dict[str, object]:
    wanted = {"cpu": "2", "memory": "64Mi", GPU: "1"}
    container = {"name": "app", "resources": {"requests": wanted, "limits": wanted}}
    return {"metadata": {"name": name, "uid": name}, "spec": {"containers": [container]}}


def test_pods_plugins_and_restarts() -> None:
    plugin = FakePlugin(GPU, "generic", (FakeDevice("g1", (1,)),), "none", False, False, "kept", ())
    with short_directory() as place:
        runtime, tree = ProcessRuntime(), Trees(place / "trees").of(MACHINE)
        environment = {"PYTHONPATH": REPOSITORY}
        launcher = PlainLauncher(runtime, tree, isolated=False, numaproof=NUMAPROOF, environment=environment)
        root = place / "r"
        root.mkdir()
        node = ReferenceNode(launcher, root, CONFIG, "current")
        with LiveRig(node, [plugin], root, launcher, runtime, tree, machine_of(MACHINE)) as rig:
            given = given_of({4, 5}, (), {GPU: {"g1": (1,)}})
            assert rig.node.admit(pod("first")).containers == {"app": given}
            assert rig.plugins.calls()[GPU]["Allocate"] == 1
            rig.plugins.stop(GPU)
            rig.plugins.restart(GPU)
            rig.node.restart()
            assert rig.node.assignments() == {"first": {"app": given}}
            assert rig.node.allocatable().devices == given_of(devices={GPU: {"g1": (1,)}}).devices
            rig.node.remove("first")
            assert rig.node.admit(pod("second")).admitted
        assert not root.exists()
