"""Machines for the benchmarks of costs that no preset has."""

from collections.abc import Iterator, Sequence

from numaproof.fake_sysfs import Cache, Cpu, DeviceLink, Machine, NumaNode, PciDevice, PciRoot

GIB = 1 << 30
CORES, CORES_A_CACHE, GPUS, VFS = 128, 8, 4, 32  # of a NUMA node
NODES_A_SOCKET = 4
LINKED_GPUS = 8  # of one board

INTEL, NVIDIA = 0x8086, 0x10DE
BRIDGE, GPU_CLASS, NIC_CLASS = 0x060400, 0x030200, 0x020000


def grown(nodes: int) -> Machine:
    """A machine that grows by NUMA nodes of 256 CPUs, 32 VFs of a NIC and 4 GPUs; 16 are the largest asked for."""
    threads = nodes * CORES
    cpus = [
        Cpu(node * CORES + core + thread * threads, core, 0, node, node)
        for node in range(nodes)
        for core in range(CORES)
        for thread in (0, 1)
    ]
    caches: list[Cache] = []
    for first in range(0, threads, CORES_A_CACHE):
        below = tuple(core + thread * threads for core in range(first, first + CORES_A_CACHE) for thread in (0, 1))
        caches.append(Cache(3, "Unified", 32 << 20, below, len(caches)))
    distances = [
        tuple(
            10 if one == other else 12 if one // NODES_A_SOCKET == other // NODES_A_SOCKET else 32
            for other in range(nodes)
        )
        for one in range(nodes)
    ]
    return Machine(
        "grown",
        tuple(cpus),
        tuple(NumaNode(node, 64 * GIB, distances=row) for node, row in enumerate(distances)),
        tuple(caches),
        tuple(PciRoot(node, 0, (*_gpus(node, GPUS), _nic(node))) for node in range(nodes)),
        tuple(_boards([_gpu_address(node, number) for node in range(nodes) for number in range(GPUS)])),
    )


def five_gpus_one_link() -> Machine:
    """Five GPUs, each below a port of its own; the second and the fourth have a direct link."""
    return Machine(
        "five-gpus",
        (Cpu(0, 0, 0, 0, 0),),
        (NumaNode(0, GIB),),
        pci=(PciRoot(0, 0, tuple(_gpus(0, 5))),),
        links=(DeviceLink(_gpu_address(0, 1), _gpu_address(0, 3), 1),),
    )


def _gpu_address(node: int, number: int) -> str:
    return f"{node:04x}:{0x10 + number:02x}:00.0"


def _gpus(node: int, count: int) -> Iterator[PciDevice]:
    for number in range(count):
        gpu = PciDevice(_gpu_address(node, number), NVIDIA, 0x20B0, GPU_CLASS, numa_node=node)
        yield _port(node, number + 1, 0x10 + number, gpu)


def _nic(node: int) -> PciDevice:
    functions = range(8, 8 + VFS)  # a device has 8 functions, and the card itself is one
    vfs = tuple(
        PciDevice(f"{node:04x}:20:{one >> 3:02x}.{one & 7}", INTEL, 0x154C, NIC_CLASS, numa_node=node)
        for one in functions
    )
    card = PciDevice(f"{node:04x}:20:00.0", INTEL, 0x158B, NIC_CLASS, numa_node=node, total_vfs=VFS, vfs=vfs)
    return _port(node, 0x1E, 0x20, card)


def _port(node: int, number: int, bus: int, below: PciDevice) -> PciDevice:
    return PciDevice(
        f"{node:04x}:00:{number:02x}.0",
        INTEL,
        0x2030,
        BRIDGE,
        numa_node=node,
        bus_range=(bus, bus),
        children=(below,),
    )


def _boards(gpus: Sequence[str]) -> Iterator[DeviceLink]:
    """Links between all GPUs of a board."""
    for number, one in enumerate(gpus):
        board = number // LINKED_GPUS * LINKED_GPUS
        for other in gpus[number + 1 : board + LINKED_GPUS]:
            yield DeviceLink(one, other, 12)
