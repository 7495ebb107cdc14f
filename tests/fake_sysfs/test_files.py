"""The files of a small machine, written out by hand: every row of what tools read from sysfs and procfs."""

import posixpath
from collections.abc import Mapping
from dataclasses import replace

import pytest

from numaproof.fake_sysfs.content import Directory, FileContent, Link
from numaproof.fake_sysfs.files import files
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

GPU = PciDevice(
    "0000:02:00.0",
    0x10DE,
    0x20B0,
    0x030200,
    0x10DE,
    0x144E,
    numa_node=1,
    driver="nvidia",
    nodes=(DeviceNode("drm/card0", 226, 0),),
    bars=(Bar(0xF0000000, 0xF0FFFFFF, 0x40200),),
)
VF = PciDevice("0000:00:03.1", 0x15B3, 0x101C, 0x020000, numa_node=0, driver="vfio-pci", iommu_group=7)
NIC = PciDevice(
    "0000:00:03.0",
    0x15B3,
    0x101B,
    0x020000,
    driver="mlx5_core",
    total_vfs=8,
    vfs=(VF,),
    net=(NetInterface("eth0", "02:00:00:00:00:01", 9000, 100000),),
    infiniband=("mlx5_0",),
)
PORT = PciDevice("0000:00:01.0", 0x8086, 0x2030, 0x060400, numa_node=1, bus_range=(2, 4), children=(GPU,))
# Cores of two threads (0,34), (1,35); the package is node 0, node 1 has one CPU, node 4 memory alone; 33 is offline.
MACHINE = Machine(
    "small",
    cpus=(
        Cpu(0, 0, 0, 0, 0),
        Cpu(34, 0, 0, 0, 0),
        Cpu(1, 1, 1, 0, 0),
        Cpu(35, 1, 1, 0, 0),
        Cpu(2, 3, 0, 1, 1),
        Cpu.offline(33, 1),
    ),
    nodes=(
        NumaNode(0, 8 << 30, (Hugepages(2048, 512),), (10, 21, 17)),
        NumaNode(1, 4 << 30, (Hugepages(2048, 1), Hugepages(1048576, 2)), (21, 10, 28)),
        NumaNode(4, 1 << 30, (), (17, 28, 10), Access((0,), 120, 130, 40000, 20000), (SideCache(1, 4096),)),
    ),
    caches=(
        Cache(1, "Data", 32 << 10, (0, 34), 0, 64, 8),
        Cache(1, "Instruction", 64 << 10, (0, 34), 0),
        Cache(3, "Unified", 16 << 20, (0, 1, 34, 35), 5, 64, 16),
    ),
    pci=(PciRoot(0, 0, (PORT, NIC)), PciRoot(1, 0x80)),
    links=(DeviceLink("0000:02:00.0", "0000:00:03.0", 2),),
    spare_nodes=(5,),
    kinds=(CpuKind("atom", (2,), 1500),),
    isolated=(1, 2, 33, 35),
    cpu_model="Some CPU",
    cpu_vendor="GenuineIntel",
    mhz=2500,
)
CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"
ROOT = "sys/devices/pci0000:00"


@pytest.fixture(scope="module")
def tree() -> Mapping[str, FileContent]:
    return files(MACHINE)


LINES = {
    f"{CPU}/online": "0-2,34-35",
    f"{CPU}/offline": "33",
    f"{CPU}/possible": "0-2,33-35",
    f"{CPU}/present": "0-2,33-35",
    f"{CPU}/isolated": "1-2,33,35",
    f"{CPU}/kernel_max": "8191",
    "proc/cmdline": "BOOT_IMAGE=/boot/vmlinuz root=/dev/sda1 ro isolcpus=1-2,33,35",
    f"{CPU}/cpu0/online": "1",
    f"{CPU}/cpu33/online": "0",
    f"{CPU}/cpu35/topology/core_id": "1",
    f"{CPU}/cpu35/topology/physical_package_id": "0",
    f"{CPU}/cpu35/topology/die_id": "1",
    f"{CPU}/cpu35/topology/thread_siblings": "8,00000002",
    f"{CPU}/cpu35/topology/thread_siblings_list": "1,35",
    f"{CPU}/cpu35/topology/core_cpus": "8,00000002",
    f"{CPU}/cpu35/topology/core_cpus_list": "1,35",
    f"{CPU}/cpu35/topology/die_cpus": "8,00000002",
    f"{CPU}/cpu35/topology/die_cpus_list": "1,35",
    f"{CPU}/cpu35/topology/core_siblings": "c,00000003",
    f"{CPU}/cpu35/topology/core_siblings_list": "0-1,34-35",
    f"{CPU}/cpu35/topology/package_cpus": "c,00000003",
    f"{CPU}/cpu35/topology/package_cpus_list": "0-1,34-35",
    f"{CPU}/cpu35/topology/cluster_cpus": "8,00000002",
    f"{CPU}/cpu35/topology/cluster_cpus_list": "1,35",
    f"{CPU}/cpu2/topology/core_siblings": "0,00000004",
    f"{CPU}/cpu0/cache/index0/id": "0",
    f"{CPU}/cpu0/cache/index0/level": "1",
    f"{CPU}/cpu0/cache/index0/type": "Data",
    f"{CPU}/cpu0/cache/index0/size": "32K",
    f"{CPU}/cpu0/cache/index0/shared_cpu_map": "4,00000001",
    f"{CPU}/cpu0/cache/index0/shared_cpu_list": "0,34",
    f"{CPU}/cpu0/cache/index0/coherency_line_size": "64",
    f"{CPU}/cpu0/cache/index0/number_of_sets": "64",
    f"{CPU}/cpu0/cache/index0/physical_line_partition": "1",
    f"{CPU}/cpu0/cache/index0/ways_of_associativity": "8",
    f"{CPU}/cpu34/cache/index1/type": "Instruction",
    f"{CPU}/cpu34/cache/index2/type": "Unified",
    f"{CPU}/cpu34/cache/index2/id": "5",
    f"{CPU}/cpu34/cache/index2/size": "16384K",
    f"{CPU}/cpu1/cache/index0/level": "3",
    f"{CPU}/cpu0/cpufreq/cpuinfo_max_freq": "2500000",
    f"{CPU}/cpu2/cpufreq/cpuinfo_max_freq": "1500000",
    "sys/devices/cpu_atom/cpus": "2",
    f"{NODE}/online": "0-1,4",
    f"{NODE}/possible": "0-1,4-5",
    f"{NODE}/has_cpu": "0-1",
    f"{NODE}/has_memory": "0-1,4",
    f"{NODE}/has_normal_memory": "0-1,4",
    f"{NODE}/node0/cpumap": "c,00000003",
    f"{NODE}/node0/cpulist": "0-1,34-35",
    f"{NODE}/node1/cpulist": "2",
    f"{NODE}/node4/cpumap": "0,00000000",
    f"{NODE}/node4/cpulist": "",
    f"{NODE}/node1/distance": "21 10 28",
    f"{NODE}/node0/hugepages/hugepages-2048kB/nr_hugepages": "512",
    f"{NODE}/node0/hugepages/hugepages-2048kB/free_hugepages": "512",
    f"{NODE}/node0/hugepages/hugepages-2048kB/surplus_hugepages": "0",
    f"{NODE}/node0/hugepages/hugepages-1048576kB/nr_hugepages": "0",
    f"{NODE}/node1/hugepages/hugepages-1048576kB/nr_hugepages": "2",
    f"{NODE}/node4/access0/initiators/read_latency": "120",
    f"{NODE}/node4/access0/initiators/write_bandwidth": "20000",
    f"{NODE}/node4/memory_side_cache/index1/size": "4096",
    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "513",
    "sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages": "0",
    "sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages": "2",
    f"{ROOT}/0000:00:03.0/vendor": "0x15b3",
    f"{ROOT}/0000:00:03.0/device": "0x101b",
    f"{ROOT}/0000:00:03.0/class": "0x020000",
    f"{ROOT}/0000:00:03.0/numa_node": "-1",
    f"{ROOT}/0000:00:03.0/local_cpulist": "0-2,34-35",
    f"{ROOT}/0000:00:03.0/local_cpus": "c,00000007",
    f"{ROOT}/0000:00:03.0/sriov_totalvfs": "8",
    f"{ROOT}/0000:00:03.0/sriov_numvfs": "1",
    f"{ROOT}/0000:00:03.0/net/eth0/address": "02:00:00:00:00:01",
    f"{ROOT}/0000:00:03.0/net/eth0/mtu": "9000",
    f"{ROOT}/0000:00:03.0/net/eth0/speed": "100000",
    f"{ROOT}/0000:00:03.1/local_cpulist": "0-1,34-35",
    f"{ROOT}/0000:00:01.0/0000:02:00.0/subsystem_vendor": "0x10de",
    f"{ROOT}/0000:00:01.0/0000:02:00.0/subsystem_device": "0x144e",
    f"{ROOT}/0000:00:01.0/0000:02:00.0/modalias": "pci:v000010DEd000020B0sv000010DEsd0000144Ebc03sc02i00",
    f"{ROOT}/0000:00:01.0/0000:02:00.0/numa_node": "1",
    f"{ROOT}/0000:00:01.0/0000:02:00.0/local_cpulist": "2",
    f"{ROOT}/0000:00:01.0/0000:02:00.0/drm/card0/dev": "226:0",
}


@pytest.mark.parametrize("path", LINES)
def test_a_file_says(path: str, tree: Mapping[str, FileContent]) -> None:
    assert tree[path] == f"{LINES[path]}\n".encode()


def test_where_no_cpu_is_isolated_the_list_is_an_empty_line_and_the_command_line_silent() -> None:
    found = files(replace(MACHINE, isolated=()))
    assert found[f"{CPU}/isolated"] == b"\n"
    assert found["proc/cmdline"] == b"BOOT_IMAGE=/boot/vmlinuz root=/dev/sda1 ro\n"


LINKS = {
    f"{CPU}/cpu33/node1": "../../node/node1",
    f"{NODE}/node0/cpu34": "../../cpu/cpu34",
    f"{NODE}/node1/cpu33": "../../cpu/cpu33",
    f"{NODE}/node4/access0/initiators/node0": "../../../node0",
    "sys/bus/event_source/devices/cpu_atom": "../../../devices/cpu_atom",
    "sys/bus/pci/devices/0000:02:00.0": "../../../devices/pci0000:00/0000:00:01.0/0000:02:00.0",
    "sys/bus/pci/devices/0000:00:03.1": "../../../devices/pci0000:00/0000:00:03.1",
    f"{ROOT}/0000:00:03.0/virtfn0": "../0000:00:03.1",
    f"{ROOT}/0000:00:03.1/physfn": "../0000:00:03.0",
    f"{ROOT}/0000:00:03.1/driver": "../../../bus/pci/drivers/vfio-pci",
    f"{ROOT}/0000:00:03.1/iommu_group": "../../../kernel/iommu_groups/7",
    "sys/kernel/iommu_groups/7/devices/0000:00:03.1": "../../../../devices/pci0000:00/0000:00:03.1",
    "sys/bus/pci/drivers/nvidia/0000:02:00.0": "../../../../devices/pci0000:00/0000:00:01.0/0000:02:00.0",
    "sys/class/net/eth0": "../../devices/pci0000:00/0000:00:03.0/net/eth0",
    f"{ROOT}/0000:00:03.0/net/eth0/device": "../..",
    "sys/class/infiniband/mlx5_0": "../../devices/pci0000:00/0000:00:03.0/infiniband/mlx5_0",
    "sys/dev/char/226:0": "../../devices/pci0000:00/0000:00:01.0/0000:02:00.0/drm/card0",
    "sys/class/drm/card0": "../../devices/pci0000:00/0000:00:01.0/0000:02:00.0/drm/card0",
}


@pytest.mark.parametrize("path", LINKS)
def test_a_link_leads(path: str, tree: Mapping[str, FileContent]) -> None:
    assert tree[path] == Link(LINKS[path])


def test_an_offline_cpu_has_no_topology_no_caches_and_is_in_no_mask(tree: Mapping[str, FileContent]) -> None:
    assert {path for path in tree if path.startswith(f"{CPU}/cpu33/")} == {f"{CPU}/cpu33/online", f"{CPU}/cpu33/node1"}


def test_a_host_bridge_without_devices_and_a_vfio_device_are_directories(tree: Mapping[str, FileContent]) -> None:
    assert tree["sys/devices/pci0001:80"] == Directory()
    assert tree[f"{ROOT}/0000:00:03.1/vfio-dev/vfio0"] == Directory()


def test_a_node_tells_its_memory(tree: Mapping[str, FileContent]) -> None:
    content = tree[f"{NODE}/node0/meminfo"]
    assert isinstance(content, bytes)
    assert content.decode().splitlines()[:2] == [
        "Node 0 MemTotal:        8388608 kB",
        "Node 0 MemFree:         7340032 kB",
    ]


def test_the_configuration_space_of_a_bridge_and_of_a_device(tree: Mapping[str, FileContent]) -> None:
    bridge, gpu = (tree[f"{ROOT}/{path}/config"] for path in ("0000:00:01.0", "0000:00:01.0/0000:02:00.0"))
    assert isinstance(bridge, bytes)
    assert isinstance(gpu, bytes)
    assert len(bridge) == len(gpu) == 256
    assert bridge[0x0E] == 1
    assert bridge[0x18:0x1B] == bytes([0, 2, 4])
    assert gpu[:4] == bytes([0xDE, 0x10, 0xB0, 0x20])
    assert gpu[9:12] == bytes([0x00, 0x02, 0x03])
    assert gpu[0x0E] == 0
    assert gpu[0x2C:0x30] == bytes([0xDE, 0x10, 0x4E, 0x14])


def test_the_resource_file_has_thirteen_lines(tree: Mapping[str, FileContent]) -> None:
    content = tree[f"{ROOT}/0000:00:01.0/0000:02:00.0/resource"]
    assert isinstance(content, bytes)
    lines = content.decode().splitlines()
    assert lines[0] == "0x00000000f0000000 0x00000000f0ffffff 0x0000000000040200"
    assert lines[1:] == ["0x0000000000000000 0x0000000000000000 0x0000000000000000"] * 12


def test_proc_has_a_paragraph_for_each_online_cpu_and_the_sum_of_memory(tree: Mapping[str, FileContent]) -> None:
    cpuinfo, meminfo = tree["proc/cpuinfo"], tree["proc/meminfo"]
    assert isinstance(cpuinfo, bytes)
    assert isinstance(meminfo, bytes)
    paragraphs = cpuinfo.decode().split("\n\n")
    assert [text.splitlines()[0] for text in paragraphs[:-1]] == [f"processor\t: {cpu}" for cpu in (0, 1, 2, 34, 35)]
    rows = dict(line.split("\t: ") for line in paragraphs[4].replace("\t\t:", "\t:").splitlines())
    assert rows["model name"] == "Some CPU"
    assert rows["cpu MHz"] == "2500.000"
    assert (rows["physical id"], rows["siblings"], rows["core id"], rows["cpu cores"]) == ("0", "4", "1", "2")
    sums = dict(line.split(":") for line in meminfo.decode().splitlines())
    assert sums["MemTotal"].split() == [str(13 << 20), "kB"]
    assert sums["SwapTotal"].split() == ["0", "kB"]
    assert sums["HugePages_Total"].split() == ["513"]


def test_every_link_leads_to_something_in_the_tree(tree: Mapping[str, FileContent]) -> None:
    places = {path[:length] for path in tree for length in range(len(path)) if path[length] == "/"} | set(tree)
    for path, content in tree.items():
        if isinstance(content, Link):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), content.target))
            assert target in places, f"{path} -> {content.target}"
