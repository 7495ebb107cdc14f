"""What may change on a machine that runs, as machine -> machine: CPUs, huge pages, virtual functions."""

import re
from collections.abc import Iterable
from dataclasses import replace

from numaproof.fake_sysfs.describe_pci import mac_of
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.fake_sysfs.machine import Cpu, CpuKind, Hugepages, Machine, NetInterface, PciDevice
from numaproof.fake_sysfs.pci import following_address


def without_cpus(machine: Machine, ids: tuple[int, ...]) -> Machine:
    """The machine with these CPUs switched off: they leave caches and kinds, and keep node and isolation."""
    if not ids:
        return machine
    strange = set(ids) - set(machine.cpu_ids)
    if strange:
        raise MachineError(f"machine {machine.name}: offline: cpu {min(strange)}: is not one of its online CPUs")
    off = set(ids)
    caches = (replace(cache, cpus=tuple(cpu for cpu in cache.cpus if cpu not in off)) for cache in machine.caches)
    kinds = (CpuKind(kind.name, tuple(cpu for cpu in kind.cpus if cpu not in off), kind.mhz) for kind in machine.kinds)
    return replace(
        machine,
        cpus=tuple(Cpu.offline(cpu.id, cpu.node) if cpu.id in off else cpu for cpu in machine.cpus),
        caches=tuple(cache for cache in caches if cache.cpus),
        kinds=tuple(kind for kind in kinds if kind.cpus),
    )


def with_cpus(machine: Machine, ids: Iterable[int], like: Machine) -> Machine:
    """The machine with these offline CPUs switched on again, placed and cached as in `like`, where they are online."""
    wanted = set(ids)
    strange = wanted - {cpu.id for cpu in machine.cpus if not cpu.online}
    if strange:
        raise MachineError(f"machine {machine.name}: cpu {format_cpulist(strange)}: is not one of its offline CPUs")
    unknown = wanted - set(like.cpu_ids)
    if unknown:
        raise MachineError(
            f"machine {like.name}: cpu {format_cpulist(unknown)}: is not online, so where it belongs is unknown"
        )
    online = wanted.union(machine.cpu_ids)
    before = {cpu.id: cpu for cpu in like.cpus}
    caches = {(cache.level, cache.kind, cache.id): cache for cache in machine.caches}
    for cache in like.caches:
        if wanted.intersection(cache.cpus):
            key = (cache.level, cache.kind, cache.id)
            caches[key] = replace(cache, cpus=tuple(online.intersection(cache.cpus)))
    kinds = {kind.name: kind for kind in machine.kinds}
    for kind in like.kinds:
        if wanted.intersection(kind.cpus):
            kinds[kind.name] = replace(kind, cpus=tuple(online.intersection(kind.cpus)))
    return replace(
        machine,
        cpus=tuple(before[cpu.id] if cpu.id in wanted else cpu for cpu in machine.cpus),
        caches=tuple(caches.values()),
        kinds=tuple(kinds.values()),
    )


def with_hugepages(machine: Machine, node_id: int, size_kb: int, pages: int) -> Machine:
    """The machine with that many pages of that size set aside on a node; the other sizes and nodes keep theirs."""
    if node_id not in machine.node_ids:
        known = format_cpulist(machine.node_ids)
        raise MachineError(f"machine {machine.name}: node {node_id}: is not a node of this machine (nodes {known})")
    nodes = []
    for node in machine.nodes:
        if node.id == node_id:
            others = tuple(kept for kept in node.hugepages if kept.size_kb != size_kb)
            node = replace(node, hugepages=(*others, Hugepages(size_kb, pages)))  # noqa: PLW2901
        nodes.append(node)
    return replace(machine, nodes=tuple(nodes))


def with_vfs(machine: Machine, address: str, count: int) -> Machine:
    """The machine whose physical function at `address` has `count` virtual functions.

    The last ones go, and new ones are like those that there are: the next addresses, names and IOMMU groups.
    """
    device = next((device for device in machine.devices() if device.address == address), None)
    if device is None or not device.total_vfs:
        able = ", ".join(device.address for device in machine.devices() if device.total_vfs) or "none"
        raise MachineError(f"machine {machine.name}: {address}: has no virtual functions (those that can: {able})")
    if not 0 <= count <= device.total_vfs:
        raise MachineError(f"machine {machine.name}: {address}: {count} VFs: the device has 0 to {device.total_vfs}")
    functions = list(device.vfs[:count])
    while len(functions) < count:
        functions.append(_next_vf(device, functions))
    changed = replace(device, vfs=tuple(functions))
    gone = {function.address for function in device.vfs} - {function.address for function in functions}
    return replace(
        machine,
        pci=tuple(replace(root, devices=_replaced(root.devices, changed)) for root in machine.pci),
        links=tuple(link for link in machine.links if not gone.intersection((link.a, link.b))),
    )


def _next_vf(device: PciDevice, functions: list[PciDevice]) -> PciDevice:
    address = following_address(functions[-1].address if functions else device.address, 1)
    if not functions:
        return PciDevice(
            address=address,
            vendor=device.vendor,
            device=device.device,
            class_code=device.class_code,
            subsystem_vendor=device.subsystem_vendor,
            subsystem_device=device.subsystem_device,
            numa_node=device.numa_node,
        )
    index = len(functions)
    first = functions[0]
    net = tuple(
        NetInterface(f"{re.sub(r'[0-9]+$', '', interface.name)}{index}", mac_of(address, number), interface.mtu)
        for number, interface in enumerate(first.net)
    )
    group = None if first.iommu_group is None else first.iommu_group + index
    return replace(first, address=address, net=net, infiniband=(), nodes=(), bars=(), iommu_group=group)


def _replaced(devices: tuple[PciDevice, ...], changed: PciDevice) -> tuple[PciDevice, ...]:
    return tuple(
        changed
        if device.address == changed.address
        else replace(device, children=_replaced(device.children, changed))
        if device.children
        else device
        for device in devices
    )
