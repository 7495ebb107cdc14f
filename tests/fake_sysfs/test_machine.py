"""The model: equal machines are equal whatever the order, and impossible ones are refused in one line."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.machine import (
    Access,
    Bar,
    Cache,
    Cpu,
    CpuKind,
    DeviceLink,
    DeviceNode,
    Hugepages,
    Machine,
    NetInterface,
    NumaNode,
    PciDevice,
    PciRoot,
    SideCache,
)
from numaproof.fake_sysfs.pci import following_address, split_address

GPU = PciDevice("0000:02:00.0", 0x10DE, 0x20B0, 0x030200, numa_node=1)
NIC = PciDevice(
    "0000:00:03.0",
    0x15B3,
    0x101B,
    0x020000,
    numa_node=0,
    total_vfs=2,
    vfs=(PciDevice("0000:00:03.1", 0x15B3, 0x101C, 0x020000, numa_node=0),),
    net=(NetInterface("eth0", "02:00:00:00:00:01"),),
)
PORT = PciDevice("0000:00:01.0", 0x8086, 1, 0x060400, bus_range=(2, 4), children=(GPU,))
MACHINE = Machine(
    "small",
    cpus=(Cpu(0, 0, 0, 0, 0), Cpu(1, 1, 0, 0, 0), Cpu(2, 0, 0, 1, 1), Cpu.offline(3, 1)),
    nodes=(NumaNode(0, 1 << 30), NumaNode(1, 1 << 30, (Hugepages(2048, 4),))),
    caches=(Cache(3, "Unified", 1 << 20, (0, 1), 0), Cache(3, "Unified", 1 << 20, (2,), 1)),
    pci=(PciRoot(0, 0, (NIC, PORT)),),
    links=(DeviceLink("0000:00:03.0", "0000:02:00.0", 2),),
    spare_nodes=(5,),
    isolated=(1, 3),
)


def test_order_says_nothing() -> None:
    other = replace(
        MACHINE,
        cpus=MACHINE.cpus[::-1],
        nodes=MACHINE.nodes[::-1],
        isolated=MACHINE.isolated[::-1],
        caches=MACHINE.caches[::-1],
        pci=(PciRoot(0, 0, (PORT, NIC)),),
        links=(DeviceLink("0000:02:00.0", "0000:00:03.0", 2),),
    )
    assert other == MACHINE
    assert hash(other) == hash(MACHINE)


def test_what_a_machine_tells() -> None:
    assert MACHINE.node_ids == (0, 1)
    assert MACHINE.cpu_ids == (0, 1, 2)
    assert MACHINE.package_ids == (0, 1)
    assert MACHINE.cpus_of(1) == (2,)
    assert MACHINE.cpus_by_node() == {0: (0, 1), 1: (2,)}
    assert [device.address for device in MACHINE.devices()] == [
        "0000:00:01.0",
        "0000:00:03.0",
        "0000:00:03.1",
        "0000:02:00.0",
    ]


def test_distances_are_10_and_20_unless_given() -> None:
    assert [node.distances for node in MACHINE.nodes] == [(10, 20), (20, 10)]


def test_no_pages_and_no_word_of_them_are_the_same() -> None:
    assert NumaNode(0, 1024, (Hugepages(2048, 0),)) == NumaNode(0, 1024)


def _with_device(**changes: Any) -> Machine:
    return replace(MACHINE, links=(), pci=(PciRoot(0, 0, (replace(NIC, **changes),)),))


def _with_port(**changes: Any) -> Machine:
    return replace(MACHINE, links=(), pci=(PciRoot(0, 0, (replace(PORT, **changes),)),))


def _with_node(**changes: Any) -> Machine:
    return replace(MACHINE, nodes=(MACHINE.nodes[0], replace(MACHINE.nodes[1], **changes)))


def _vf(address: str, **changes: Any) -> PciDevice:
    return replace(NIC.vfs[0], address=address, **changes)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: replace(MACHINE, name=""), "name"),
        (lambda: replace(MACHINE, name="a\nb"), "one line"),
        (lambda: replace(MACHINE, cpu_model=" x"), "cpu_model ' x'"),
        (lambda: replace(MACHINE, mhz=0), "mhz 0"),
        (lambda: replace(MACHINE, nodes=()), "no NUMA node"),
        (lambda: replace(MACHINE, nodes=(*MACHINE.nodes, NumaNode(1, 0, (), (1, 2, 3)))), "node 1: is there twice"),
        (lambda: replace(MACHINE, spare_nodes=(1,)), "node 1: is both online and spare"),
        (lambda: replace(MACHINE, spare_nodes=(4096,)), "node 4096: an id must lie in 0-1023"),
        (lambda: _with_node(distances=(10,)), r"node 1: distances \[10\]: 1 for 2 nodes"),
        (lambda: _with_node(distances=(10, 256)), "node 1: distance 256"),
        (lambda: _with_node(memory=1000), "node 1: memory 1000: must be bytes, a multiple of 1024"),
        (lambda: _with_node(memory=-1024), "node 1: memory -1024"),
        (
            lambda: _with_node(hugepages=(Hugepages(64, 1),)),
            "hugepages of 64 kB: the machine has pages of 2048, 1048576",
        ),
        (lambda: _with_node(hugepages=(Hugepages(2048, 513),)), "more than the node's memory"),
        (lambda: _with_node(hugepages=(Hugepages(2048, -1),)), "-1 hugepages"),
        (lambda: _with_node(hugepages=(Hugepages(2048, 1), Hugepages(2048, 2))), "hugepage size 2048: is there twice"),
        (lambda: _with_node(access=Access((7,))), r"initiator 7: is not a node of this machine \(nodes 0-1\)"),
        (lambda: _with_node(access=Access((0,), -1)), "must not be negative"),
        (lambda: _with_node(side_caches=(SideCache(0, 1),)), "memory side cache"),
        (lambda: replace(MACHINE, hugepage_sizes=(0,)), "hugepage size 0"),
        (lambda: replace(MACHINE, cpus=(*MACHINE.cpus, Cpu(1, 5, 0, 0, 0))), "cpu 1: is there twice"),
        (lambda: replace(MACHINE, cpus=(*MACHINE.cpus, Cpu(4, 5, 0, 0, 9))), r"cpu 4: node 9: .*\(nodes 0-1\)"),
        (lambda: replace(MACHINE, cpus=(*MACHINE.cpus, Cpu(1 << 20, 5, 0, 0, 0))), "cpu 1048576: an id must lie in"),
        (lambda: replace(MACHINE, cpus=(*MACHINE.cpus, Cpu(4, 0, 1, 0, 0))), "core 0 of package 0 lies on die 0 and 1"),
        (lambda: replace(MACHINE, cpus=(*MACHINE.cpus, Cpu(4, -1, 0, 0, 0))), "cpu 4: core -1"),
        (lambda: replace(MACHINE, cpus=(*MACHINE.cpus, Cpu(4, 0, 0, 0, 0, online=False))), "cpu 4: is offline"),
        (lambda: replace(MACHINE, cpus=(Cpu.offline(0, 0),), caches=()), "no CPU online"),
        (lambda: replace(MACHINE, caches=(Cache(3, "Unified", 1024, (3,), 0),)), "cpu 3: is not an online CPU"),
        (lambda: replace(MACHINE, caches=(*MACHINE.caches, Cache(3, "Unified", 0, (1,), 2))), "must not overlap"),
        (lambda: replace(MACHINE, caches=(*MACHINE.caches, Cache(3, "Unified", 0, (2,), 0))), "the id is used twice"),
        (lambda: replace(MACHINE, caches=(Cache(3, "Unified", 1000, (1,), 1),)), "size 1000"),
        (lambda: replace(MACHINE, caches=(Cache(0, "Unified", 1024, (1,), 1),)), "the level counts from 1"),
        (lambda: replace(MACHINE, caches=(Cache(1, "Unified", 1024, (), 1),)), "is shared by no CPU"),
        (lambda: replace(MACHINE, kinds=(CpuKind("core", (0, 3), 1),)), "cpu kind core: cpu 3: is not online"),
        (lambda: replace(MACHINE, kinds=(CpuKind("a", (0,), 1), CpuKind("b", (0,), 1))), "of another kind already"),
        (lambda: replace(MACHINE, kinds=(CpuKind("../a", (0,), 1),)), "needs a plain name"),
        (
            lambda: replace(MACHINE, isolated=(1, 4, 5, 9)),
            "isolated: cpu 4-5,9: is not a CPU of this machine; name some of 0-3",
        ),
        (lambda: replace(MACHINE, isolated=(0, 1, 2, 3)), "isolated: cpu 0-3: are all CPUs; leave the kernel one"),
        (lambda: replace(MACHINE, isolated=(2, 2)), "isolated cpu 2: is there twice"),
        (lambda: _with_device(total_vfs=0), "0000:00:03.0: 1 virtual functions: the device has at most 0"),
        (lambda: _with_device(vfs=(_vf("0000:00:03.0"),)), "PCI function 0000:00:03.0: is there twice"),
        (lambda: _with_device(vfs=(_vf("0000:00:03.1", total_vfs=1),)), "is a virtual function"),
        (lambda: _with_device(numa_node=7), "0000:00:03.0: numa_node 7: is not a node"),
        (lambda: _with_device(numa_node=-2), "numa_node -2"),
        (lambda: _with_device(address="00:03.0"), "00:03.0: is not a PCI address; write it as 0000:00:03.0"),
        (lambda: _with_device(address="0000:00:03.8"), "is not a PCI address"),
        (
            lambda: _with_device(address="0000:00:0A.0", vfs=()),
            "0000:00:0A.0: is not a PCI address; write it as 0000:00:0a.0",
        ),
        (lambda: _with_device(address="0001:00:03.0"), "does not lie behind its bridge"),
        (lambda: _with_device(children=(GPU,)), "has devices behind it, but no range of buses"),
        (lambda: _with_device(vendor=1 << 16), "vendor and device ids have 16 bits"),
        (lambda: _with_device(class_code=1 << 24), "the class 24"),
        (lambda: _with_device(driver="a/b"), "driver 'a/b'"),
        (lambda: _with_device(iommu_group=-1), "iommu_group -1"),
        (lambda: _with_device(infiniband=("..",)), "RDMA device '..'"),
        (lambda: _with_device(net=(NetInterface("a/b", "02:00:00:00:00:01"),)), "network interface 'a/b'"),
        (lambda: _with_device(net=(NetInterface("eth0", "zz"),)), "eth0: address 'zz'"),
        (lambda: _with_device(net=(NetInterface("eth0", "02:00", mtu=0),)), "mtu above 0"),
        (lambda: _with_device(net=NIC.net * 2), "network interface eth0: is there twice"),
        (lambda: _with_device(nodes=(DeviceNode("../x/y", 1, 1),)), r"device node '\.\./x/y'"),
        (lambda: _with_device(bars=(Bar(1, 1, 1),) * 14), "14 bars: at most 13"),
        (lambda: _with_port(bus_range=(3, 4)), "0000:02:00.0: does not lie behind its bridge"),
        (lambda: _with_port(bus_range=(0, 4)), "bus_range 00-04"),
        (lambda: replace(MACHINE, pci=(PciRoot(0, 256),), links=()), "host bridge"),
        (
            lambda: replace(MACHINE, pci=(PciRoot(0, 0), PciRoot(0, 0)), links=()),
            "host bridge pci0000:00: is there twice",
        ),
        (lambda: replace(MACHINE, pci=()), "0000:00:03.0 is not a PCI function of this machine"),
        (lambda: replace(MACHINE, links=(DeviceLink(NIC.address, GPU.address, 0),)), "by at least one link"),
        (lambda: replace(MACHINE, links=(DeviceLink(GPU.address, GPU.address, 1),)), "joins two devices"),
        (lambda: replace(MACHINE, links=MACHINE.links * 2), "is there twice"),
    ],
)
def test_an_impossible_machine_is_refused_in_one_line(make: Callable[[], Machine], words: str) -> None:
    with pytest.raises(MachineError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_addresses_count_on_as_routing_ids_do() -> None:
    assert following_address("0000:07:00.7", 1) == "0000:07:01.0"
    assert following_address("0000:07:1f.7", 1) == "0000:08:00.0"
    assert split_address("07:00.1") == (0, 7, 0, 1)
    with pytest.raises(ValueError, match="ff:1f"):
        following_address("0000:ff:1f.7", 1)
