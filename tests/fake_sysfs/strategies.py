"""Random machines for hypothesis: small, but odd in every way that the model allows."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from hypothesis import strategies as st

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
from numaproof.fake_sysfs.pci import format_address

# The same examples on every run, and no clock: a slow machine is not a wrong one.

_line = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=12).filter(
    lambda text: text == text.strip()
)
_kilobytes = st.integers(0, 1 << 32).map(lambda kb: kb * 1024)
_id16 = st.integers(0, 0xFFFF)
_CACHES: tuple[tuple[int, Any], ...] = ((1, "Data"), (1, "Instruction"), (2, "Unified"), (3, "Unified"), (4, "Data"))


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """A valid machine."""
    node_ids = draw(st.lists(st.integers(0, 70), min_size=1, max_size=4, unique=True))
    cpus = draw(_cpus(node_ids))
    online = [cpu.id for cpu in cpus if cpu.online]
    sizes = tuple(draw(st.lists(st.sampled_from([64, 2048, 1048576]), max_size=3, unique=True)))
    pci = draw(_pci(node_ids))
    addresses = [device.address for root in pci for device in root.walk()]
    spare = draw(st.lists(st.integers(71, 80), max_size=2, unique=True))
    return Machine(
        name=draw(_line),
        cpus=tuple(cpus),
        nodes=tuple(draw(_node(node_id, node_ids, sizes)) for node_id in node_ids),
        caches=tuple(draw(_caches(online))),
        pci=pci,
        links=tuple(draw(_links(addresses))),
        spare_nodes=tuple(spare),
        kinds=tuple(draw(_kinds(online))),
        isolated=tuple(draw(st.sets(st.sampled_from([cpu.id for cpu in cpus]), max_size=len(cpus) - 1))),
        hugepage_sizes=sizes,
        cpu_model=draw(_line),
        cpu_vendor=draw(_line),
        mhz=draw(st.integers(1, 10_000)),
        notes=tuple(draw(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=2))),
    )


@st.composite
def _cpus(draw: st.DrawFn, node_ids: list[int]) -> list[Cpu]:
    ids = draw(st.lists(st.integers(0, 140), min_size=1, max_size=10, unique=True))
    off = draw(st.sets(st.sampled_from(ids), max_size=len(ids) - 1))
    die_of: dict[tuple[int, int], int] = {}
    found = []
    for cpu in ids:
        node = draw(st.sampled_from(node_ids))
        if cpu in off:
            found.append(Cpu.offline(cpu, node))
            continue
        package, core = draw(st.sampled_from([0, 1, 5])), draw(st.integers(0, 4))
        die = die_of.setdefault((package, core), draw(st.integers(0, 2)))
        found.append(Cpu(cpu, core, die, package, node))
    return found


@st.composite
def _node(draw: st.DrawFn, node_id: int, node_ids: list[int], sizes: tuple[int, ...]) -> NumaNode:
    pages = tuple(Hugepages(size, draw(st.integers(0, 3))) for size in sizes)
    held = sum(huge.size_kb * 1024 * huge.pages for huge in pages)
    initiators = tuple(draw(st.lists(st.sampled_from(node_ids), max_size=2, unique=True)))
    figures = draw(st.lists(st.integers(0, 1000), min_size=4, max_size=4))
    return NumaNode(
        id=node_id,
        memory=held + draw(_kilobytes),
        hugepages=pages,
        distances=tuple(10 if other == node_id else draw(st.integers(11, 254)) for other in node_ids),
        access=draw(st.sampled_from([None, Access(initiators, *figures)])),
        side_caches=tuple(
            SideCache(level, draw(_kilobytes), draw(st.sampled_from([0, 64])), draw(st.integers(0, 2)))
            for level in draw(st.sets(st.integers(1, 3), max_size=2))
        ),
    )


@st.composite
def _caches(draw: st.DrawFn, online: list[int]) -> list[Cache]:
    found = []
    for level, kind in _CACHES:
        group_of = {cpu: draw(st.sampled_from([None, 0, 1, 7])) for cpu in online}
        for number in {group for group in group_of.values() if group is not None}:
            members = tuple(cpu for cpu in online if group_of[cpu] == number)
            size, ways = draw(st.integers(0, 1 << 20)) * 1024, draw(st.sampled_from([0, 8, 20]))
            found.append(Cache(level, kind, size, members, number, draw(st.sampled_from([0, 32, 64])), ways))
    return found


@st.composite
def _kinds(draw: st.DrawFn, online: list[int]) -> list[CpuKind]:
    group_of = {cpu: draw(st.sampled_from([None, "core", "atom"])) for cpu in online}
    members = {name: tuple(cpu for cpu in online if group_of[cpu] == name) for name in ("core", "atom")}
    return [CpuKind(name, cpus, draw(st.integers(1, 6000))) for name, cpus in members.items() if cpus]


@st.composite
def _links(draw: st.DrawFn, addresses: list[str]) -> list[DeviceLink]:
    pairs = [(a, b) for index, a in enumerate(addresses) for b in addresses[index + 1 :]][:20]
    chosen = draw(st.sets(st.sampled_from(pairs), max_size=3)) if pairs else set()
    return [DeviceLink(a, b, draw(st.integers(1, 18))) for a, b in chosen]


@st.composite
def _pci(draw: st.DrawFn, node_ids: list[int]) -> tuple[PciRoot, ...]:
    names = count()
    roots = []
    for domain in draw(st.sets(st.sampled_from([0, 1, 0xA, 0x10000]), max_size=2)):
        bus = draw(st.integers(0, 3))
        buses = count(bus + 1)
        roots.append(PciRoot(domain, bus, tuple(draw(_functions(domain, bus, buses, node_ids, names, depth=0)))))
    return tuple(roots)


@st.composite
def _functions(
    draw: st.DrawFn, domain: int, bus: int, buses: Iterator[int], node_ids: list[int], names: Iterator[int], depth: int
) -> list[PciDevice]:
    """Functions on one bus: bridges down to two levels, and devices, with and without VFs."""
    found = []
    for slot in draw(st.sets(st.integers(0, 31), max_size=2)):
        device = draw(_device(format_address(domain, bus, slot, 0), node_ids, names))
        if depth < 2 and draw(st.booleans()):
            first = next(buses)
            children = draw(_functions(domain, first, buses, node_ids, names, depth + 1))
            last = next(buses)
            found.append(replace(device, bus_range=(first, last), children=tuple(children)))
        elif draw(st.booleans()):
            functions = [
                draw(_device(format_address(domain, bus, slot, number + 1), node_ids, names))
                for number in range(draw(st.integers(0, 3)))
            ]
            found.append(replace(device, total_vfs=len(functions) + draw(st.integers(0, 4)), vfs=tuple(functions)))
        else:
            found.append(device)
    return found


@st.composite
def _device(draw: st.DrawFn, address: str, node_ids: list[int], names: Iterator[int]) -> PciDevice:
    mac = ":".join(f"{byte:02x}" for byte in draw(st.binary(min_size=6, max_size=6)))
    interface = NetInterface(f"eth{next(names)}", mac, draw(st.integers(1, 9000)), draw(st.sampled_from([-1, 0, 100])))
    number = next(names)
    node = DeviceNode(*draw(st.sampled_from([(f"drm/card{number}", 226), (f"nvme/nvme{number}/ns", 259)])), number)
    bars = draw(st.lists(st.builds(Bar, *[st.integers(0, (1 << 64) - 1)] * 3), max_size=3))
    return PciDevice(
        address=address,
        vendor=draw(_id16),
        device=draw(_id16),
        class_code=draw(st.integers(0, 0xFFFFFF)),
        subsystem_vendor=draw(_id16),
        subsystem_device=draw(_id16),
        numa_node=draw(st.sampled_from([-1, *node_ids])),
        driver=draw(st.sampled_from([None, "vfio-pci", "mlx5_core"])),
        net=draw(st.sampled_from([(), (interface,)])),
        infiniband=draw(st.sampled_from([(), (f"mlx5_{number}",)])),
        iommu_group=draw(st.sampled_from([None, 0, 17])),
        nodes=draw(st.sampled_from([(), (node,)])),
        bars=tuple(bars),
    )
