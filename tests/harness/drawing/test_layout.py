"""What drawings say, whoever draws them: amounts, folding, devices by bridge, legends, notes."""

from dataclasses import replace
from itertools import chain

import pytest

from numaproof.fake_sysfs.alter import with_hugepages, without_cpus
from numaproof.fake_sysfs.catalogue import preset
from numaproof.fake_sysfs.machine import CpuKind, NumaNode
from numaproof.harness.drawing.blocks import DeviceGroup, NodeBlock, Picture
from numaproof.harness.drawing.layout import layout
from numaproof.harness.drawing.marks import FREE, RESERVED, SEVERAL, Mark
from numaproof.harness.drawing.scene import DeviceMark, Holding, Scene
from tests.harness.drawing.scenes import GIB, SCENES, plain_machine

POD = Mark("pod", 0)


def nodes(picture: Picture) -> list[NodeBlock]:
    return [node for package in picture.packages for node in package.nodes]


def of_node(groups: tuple[DeviceGroup, ...]) -> list[tuple[str, list[str]]]:
    return [(group.bridge, [device.name for device in group.devices]) for group in groups]


# Amounts


def test_a_bare_machine_is_told_as_it_is() -> None:
    picture = layout(Scene(plain_machine(cores=4)))
    assert [(node.told, node.memory_told) for node in nodes(picture)] == [("4 CPUs", "8 GiB")] * 2
    assert (picture.signs, picture.pods, picture.refused) == ((), (), "")


def test_what_is_free_is_told_of_what_is_counted() -> None:
    """Two of four CPUs of node 0 are a pod's and one is reserved; nobody says whose memory is."""
    scene = Scene(plain_machine(cores=4), (Holding("a", frozenset((1, 2))),), reserved_cpus=frozenset((0,)))
    first, second = nodes(layout(scene))
    assert (first.told, first.memory_told) == ("1 of 4 CPUs free", "8 GiB")
    assert (second.told, second.memory_told) == ("4 of 4 CPUs free", "8 GiB")
    counted = replace(scene, holdings=(Holding("a", memory={1: 3 * GIB}),), reserved_memory={0: GIB})
    assert [node.memory_told for node in nodes(layout(counted))] == ["7 GiB of 8 GiB free", "5 GiB of 8 GiB free"]


def test_more_than_there_is() -> None:
    scene = Scene(plain_machine(), (Holding("a", frozenset((0, 99)), {0: 6 * GIB}), Holding("b", memory={0: 4 * GIB})))
    picture = layout(scene)
    assert nodes(picture)[0].memory_told == "2 GiB more than its 8 GiB held"
    assert picture.pods[0].told == "2 CPUs 0,99; 6 GiB on node 0; not on this machine: CPU 99"


def test_signs_that_occur_are_explained_and_no_others() -> None:
    scene = Scene(
        without_cpus(plain_machine(cores=4), (3,)),
        (
            Holding("a", frozenset((1,)), devices=frozenset(("g",))),
            Holding("b", frozenset((2,)), devices=frozenset(("g",))),
        ),
        (DeviceMark("example.com/gpu", "g", (0,)),),
    )
    assert [mark for mark, _ in layout(scene).signs] == [FREE, Mark("offline"), SEVERAL]
    assert [mark for mark, _ in layout(replace(scene, devices=(), reserved_memory={1: GIB})).signs] == [
        FREE,
        RESERVED,
        Mark("offline"),
    ]


def test_a_pod_that_holds_nothing_has_a_line() -> None:
    assert layout(Scene(plain_machine(), (Holding("default/small"),))).pods[0].told == "nothing of its own"


# Detail


@pytest.mark.parametrize(
    ("count", "cores", "detail"), [(2, 256, "cells"), (2, 257, "bar"), (16, 32, "cells"), (17, 2, "tile")]
)
def test_detail_follows_from_size(count: int, cores: int, detail: str) -> None:
    assert {node.detail for node in nodes(layout(Scene(plain_machine(count, cores))))} == {detail}


def test_a_bar_has_cores_that_are_alike_in_one_piece() -> None:
    """600 CPUs: 100 of a pod, 50 free, 50 of it again, the rest free."""
    held = frozenset((*range(100), *range(150, 200)))
    [first, _] = nodes(layout(Scene(plain_machine(2, 300), (Holding("a", held),))))
    assert [(piece.mark, piece.amount) for piece in first.cpus] == [(POD, 100), (FREE, 50), (POD, 50), (FREE, 100)]


def test_many_nodes_that_are_alike_are_one_and_touched_ones_are_not() -> None:
    """80 nodes: of the sixth a pod has a CPU; 5 and 74 are left on its sides."""
    scene = Scene(plain_machine(80, 4), (Holding("a", frozenset((20,))),))
    found = nodes(layout(scene))
    assert [len(node.ids) for node in found] == [5, 1, 74]
    assert [node.short for node in found] == ["20/20", "3/4", "296/296"]
    assert [sum(piece.amount for piece in node.cpus) for node in found] == [20, 4, 296]
    assert [node.memory_short for node in found] == ["40 GiB", "8 GiB", "592 GiB"]


def test_nodes_without_cpus_stand_apart() -> None:
    packages = layout(Scene(preset("gb200"))).packages
    assert [package.name for package in packages] == ["package 0", "package 1", "without CPUs"]
    assert [node.name for node in packages[2].nodes][:3] == ["NUMA node 2", "NUMA nodes 3-9", "NUMA node 10"]


def test_a_node_that_is_in_no_package_or_in_two() -> None:
    machine = without_cpus(plain_machine(3, 2), (2, 3))
    assert [package.name for package in layout(Scene(machine)).packages] == [
        "package 0",
        "in no package: all CPUs are offline",
        "package 2",
    ]
    wide = replace(machine, cpus=tuple(replace(cpu, node=0) for cpu in machine.cpus), nodes=(NumaNode(0, GIB),))
    assert [package.name for package in layout(Scene(wide)).packages] == ["packages 0,2"]


# Devices


def test_devices_behind_one_bridge_are_together() -> None:
    [first, second] = nodes(layout(Scene(preset("dgx-h100"))))
    # NVIDIA's guide to the DGX H100: a ConnectX-7 beside each GPU, behind the same switch.
    for node in (first, second):
        pairs = [names for bridge, names in of_node(node.devices) if bridge]
        assert sum([name.split()[0] for name in names] == ["gpu", "nic"] for names in pairs) == 4
    shown = list(chain.from_iterable(names for node in (first, second) for _, names in of_node(node.devices)))
    assert len(set(shown)) == len(shown) == 8 + 12


def test_devices_of_plugins_replace_those_that_are_guessed() -> None:
    offered = (
        DeviceMark("example.com/gpu", "g0", (0,)),
        DeviceMark("other.com/gpu", "g1", (1,), healthy=False),
        DeviceMark("example.com/nic", "n0", (0, 1)),
        DeviceMark("example.com/nic", "n1", ()),
        DeviceMark("example.com/nic", "n2", (9,)),
    )
    picture = layout(Scene(preset("dgx-h100"), devices=offered))
    assert [of_node(node.devices) for node in nodes(picture)] == [
        [("", ["example.com/gpu g0"])],
        [("", ["other.com/gpu g1"])],
    ]
    assert [node.devices[0].devices[0].healthy for node in nodes(picture)] == [True, False]
    assert [(name, of_node(groups)) for name, groups in picture.elsewhere] == [
        ("of several NUMA nodes", [("", ["nic n0 on nodes 0-1"])]),
        ("of NUMA nodes that this machine does not have", [("", ["nic n2 on node 9"])]),
        ("of no NUMA node", [("", ["nic n1"])]),
    ]


def test_many_devices_of_a_resource_are_counted_by_holder() -> None:
    offered = tuple(DeviceMark("example.com/vf", f"vf{n}", (0,), healthy=n != 40) for n in range(48))
    scene = Scene(plain_machine(), (Holding("a", devices=frozenset(f"vf{n}" for n in range(5))),), offered)
    [group] = nodes(layout(scene))[0].devices
    assert [(one.name, one.mark, one.count, one.healthy) for one in group.devices] == [
        ("5 x vf", POD, 5, True),
        ("42 x vf", FREE, 42, True),
        ("1 x vf", FREE, 1, False),
    ]


@pytest.mark.parametrize("name", SCENES)
def test_no_device_is_lost(name: str) -> None:
    scene = SCENES[name]
    if not scene.devices:
        return
    picture = layout(scene)
    groups = [group for node in nodes(picture) for group in node.devices]
    groups += [group for _, found in picture.elsewhere for group in found]
    assert sum(device.count for group in groups for device in group.devices) == len(scene.devices)


# Notes


def test_what_is_special_about_a_machine_is_noted() -> None:
    machine = replace(
        with_hugepages(plain_machine(cores=4), 1, 1048576, 4),
        isolated=(2, 3),
        spare_nodes=(7,),
        kinds=(CpuKind("atom", (2, 3), 1000), CpuKind("core", (0, 1), 2000)),
    )
    picture = layout(Scene(machine))
    assert picture.notes == (
        "kinds of cores: CPU 2-3 atom, CPU 0-1 core",
        "isolated by the kernel: CPU 2-3",
        "possible, but not online: NUMA node 7",
    )
    assert [node.hugepages for node in nodes(picture)] == ["", "4 x 1 GiB"]
