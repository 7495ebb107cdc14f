"""The plugins of a scenario on a machine: its own devices where they are those of the story, others elsewhere."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from numaproof import fake_sysfs
from numaproof.errors import UserError
from numaproof.fake_sysfs import Machine
from numaproof.harness.scenario.model import PluginSpec
from numaproof.harness.scenario.plugins import fake_plugin
from numaproof.harness.scenario.rig import FakePlugin
from numaproof.harness.scenario.sizes import sizes_of

POWER = fake_sysfs.preset("power9-ac922")  # CPUs on the nodes 0 and 8; no network card has virtual functions
LIKE_DGX1 = PluginSpec("nvidia.com/gpu", sysfs="gpu", like="dgx1-v100", preferred="links")


def made(words: PluginSpec, machine: Machine) -> FakePlugin:
    return fake_plugin(words, machine, sizes_of(machine, memory_static=False), "x.yaml")


def with_functions(tmp_path: Path, *counts: int) -> Machine:
    """Two NUMA nodes with so many virtual functions of a network card on each."""
    roots: list[Any] = [
        {
            "root": f"0000:{bus}",
            "node": node,
            "devices": [{"address": f"{bus}:00.0", "class": "nic", "vfs": {"count": count, "first": f"{bus}:02.0"}}],
        }
        for node, (bus, count) in enumerate(zip(("18", "98"), counts, strict=True))
    ]
    file = tmp_path / "m.yaml"
    file.write_text(yaml.safe_dump({"packages": 2, "cores": 4, "threads": 1, "memory": "4GiB", "pci": roots}))
    return fake_sysfs.parse_machine(str(file))


def test_a_machine_with_the_devices_of_the_story_offers_its_own() -> None:
    plugin = made(LIKE_DGX1, fake_sysfs.preset("dgx1-v100"))
    assert plugin.kind == "gpu"  # it finds them, and their links, in sysfs
    assert [one.numa for one in plugin.devices] == [(0,)] * 4 + [(1,)] * 4


@pytest.mark.parametrize("name", ["power9-ac922", "dgx-h100", "epyc-7742-nps1"])
def test_elsewhere_others_with_the_same_ids_and_links_stand_in(name: str) -> None:
    dgx = fake_sysfs.preset("dgx1-v100")
    machine = fake_sysfs.preset(name)
    plugin = made(LIKE_DGX1, machine)
    first, second, *_ = sizes_of(machine, memory_static=False).cpu_nodes
    assert plugin.kind == "generic"
    assert [one.numa for one in plugin.devices] == [(first,)] * 4 + [(second,)] * 4
    assert [one.id for one in plugin.devices] == [one.id for one in made(LIKE_DGX1, dgx).devices]
    links = {frozenset((one.id, other)): count for one in plugin.devices for other, count in one.links}
    assert links == {frozenset((link.a, link.b)): link.count for link in dgx.links}


def test_what_stands_in_may_be_told() -> None:
    told = PluginSpec("r/gpu", sysfs="gpu", like="dgx-a100", devices=({"id": "a", "numa": [1], "healthy": True},))
    assert [(one.id, one.numa) for one in made(told, POWER).devices] == [("a", (8,))]
    assert made(told, fake_sysfs.preset("dgx-a100")).kind == "gpu"


@pytest.mark.parametrize(
    ("counts", "kind", "offered"),
    [
        ((2, 2), "nic", ["0000:18:02.0", "0000:18:02.1", "0000:98:02.0", "0000:98:02.1"]),
        ((2, 4), "generic", ["0000:18:02.0", "0000:18:02.1", "0000:98:02.0", "0000:98:02.1"]),  # two of the four
        ((2, 1), "generic", ["vf-00-00", "vf-00-01", "vf-01-00", "vf-01-01"]),  # too few on the second node
    ],
)
def test_so_many_a_node_of_the_machine_s_own(tmp_path: Path, counts: Any, kind: str, offered: list[str]) -> None:
    plugin = made(PluginSpec("r/vf", sysfs="nic", per_numa="2"), with_functions(tmp_path, *counts))
    assert (plugin.kind, [one.id for one in plugin.devices]) == (kind, offered)
    assert [one.numa for one in plugin.devices] == [(0,), (0,), (1,), (1,)]


def test_devices_are_named_by_the_position_of_their_node() -> None:
    assert [(one.id, one.numa) for one in made(PluginSpec("r/nic", per_numa="1"), POWER).devices] == [
        ("nic-00-00", (0,)),
        ("nic-01-00", (8,)),
    ]


def test_a_machine_without_what_only_its_tree_can_have() -> None:
    with pytest.raises(UserError, match=r"^x\.yaml: power9-ac922 has no nic to offer in its PCI tree; say so"):
        made(PluginSpec("r/vf", sysfs="nic"), POWER)
