"""A small machine that has something of everything: threads, kinds, huge pages, a switch, VFs, a link."""

from numaproof.fake_sysfs.machine import (
    Cache,
    Cpu,
    CpuKind,
    DeviceLink,
    Hugepages,
    Machine,
    NetInterface,
    NumaNode,
    PciDevice,
    PciRoot,
)

GIB = 1 << 30
PF = "0000:81:00.0"


def function(number: int) -> PciDevice:
    name = NetInterface(f"ens1v{number}", f"02:00:00:81:0{number + 1}:00")
    address = f"0000:81:00.{number + 1}"
    return PciDevice(
        address, 0x15B3, 0x101E, 0x020000, numa_node=1, driver="mlx5_core", net=(name,), iommu_group=40 + number
    )


MACHINE = Machine(
    name="two",
    cpus=tuple(Cpu(n, core=n % 4, die=0, package=n // 4 % 2, node=n // 4 % 2) for n in range(16)),
    nodes=(NumaNode(0, 8 * GIB, (Hugepages(2048, 16),)), NumaNode(1, 8 * GIB)),
    caches=(
        Cache(3, "Unified", 8 << 20, (0, 1, 2, 3, 8, 9, 10, 11), 0),
        Cache(3, "Unified", 8 << 20, (4, 5, 6, 7, 12, 13, 14, 15), 1),
        *(Cache(1, "Data", 32 << 10, (n, n + 8), n) for n in range(8)),
    ),
    kinds=(CpuKind("core", (*range(15),), 3000), CpuKind("atom", (15,), 2000)),
    pci=(
        PciRoot(
            0,
            0x80,
            (
                PciDevice(
                    "0000:80:01.0",
                    0x8086,
                    0x2030,
                    0x060400,
                    numa_node=1,
                    bus_range=(0x81, 0x82),
                    children=(
                        PciDevice(
                            PF, 0x15B3, 0x101D, 0x020000, numa_node=1, total_vfs=4, vfs=(function(0), function(1))
                        ),
                    ),
                ),
            ),
        ),
    ),
    links=(DeviceLink(PF, "0000:81:00.2", 1),),
)
