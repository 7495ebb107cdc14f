"""The plugins of a scenario, sized to a machine; where it lacks the devices of a story, others stand in for them."""

from collections.abc import Iterator

from numaproof.errors import UserError
from numaproof.fake_sysfs import Machine, PciDevice, preset
from numaproof.harness.decision.discovery import offered_functions
from numaproof.harness.scenario.model import PluginSpec
from numaproof.harness.scenario.rig import FakeDevice, FakePlugin
from numaproof.harness.scenario.sizes import Sizes, sizes_of


def fake_plugin(spec: PluginSpec, machine: Machine, sizes: Sizes, where: str) -> FakePlugin:
    """What a scenario says of a plugin, worked out for a machine."""
    devices, found_in_sysfs = _devices(spec, machine, sizes, where)
    return FakePlugin(
        spec.resource,
        spec.sysfs if spec.sysfs and found_in_sysfs else "generic",
        devices,
        spec.preferred,
        spec.plural,
        spec.pre_start,
        spec.list,
        spec.faults,
        spec.costs,
    )


def functions_of(kind: str, machine: Machine) -> Iterator[PciDevice]:
    """The functions of a machine's PCI tree that a plugin of this kind offers."""
    return (one for its_kind, one in offered_functions(machine) if its_kind == kind)


def _devices(spec: PluginSpec, machine: Machine, sizes: Sizes, where: str) -> tuple[tuple[FakeDevice, ...], bool]:
    """The devices, and whether they are all of the machine's PCI tree, so that the plugin finds them itself."""
    own = tuple(_in_tree(spec.sysfs, machine)) if spec.sysfs else ()
    if spec.like is not None:
        story = preset(spec.like)
        told = tuple(_in_tree(str(spec.sysfs), story))
        if (own, machine.links) == (told, story.links):
            return own, True
        return tuple(_given(spec, sizes)) or tuple(_moved(told, story, sizes)), False
    if spec.per_numa is not None:
        count = sizes.count(spec.per_numa, f"{where}: per_numa")
        near = [[one for one in own if one.numa == (node,)][:count] for node in sizes.cpu_nodes]
        if own and all(len(here) == count for here in near):
            chosen = tuple(one for here in near for one in here)
            return chosen, set(chosen) == set(own)
        return tuple(_numbered(spec.resource, count, sizes)), False
    if spec.sysfs is not None and not own:
        raise UserError(f"{where}: {machine.name} has no {spec.sysfs} to offer in its PCI tree; say so in `needs`")
    return own or tuple(_given(spec, sizes)), bool(own)


def _given(spec: PluginSpec, sizes: Sizes) -> Iterator[FakeDevice]:
    for one in spec.devices:
        yield FakeDevice(one["id"], None if one["numa"] is None else sizes.node_ids(one["numa"]), one["healthy"])


def _numbered(resource: str, count: int, sizes: Sizes) -> Iterator[FakeDevice]:
    """So many on every NUMA node that has CPUs, named by the resource, the node's position and a number."""
    short = resource.rpartition("/")[2]
    for position, node in enumerate(sizes.cpu_nodes):
        yield from (FakeDevice(f"{short}-{position:02}-{i:02}", (node,)) for i in range(count))


def _moved(devices: tuple[FakeDevice, ...], story: Machine, sizes: Sizes) -> Iterator[FakeDevice]:
    """The devices of another machine with their ids and links, on NUMA nodes of the same positions."""
    positions = {node: position for position, node in enumerate(sizes_of(story, memory_static=False).nodes)}
    for one in devices:
        links = {link.b: link.count for link in story.links if link.a == one.id}
        numa = None if one.numa is None else sizes.node_ids(positions[node] for node in one.numa)
        yield FakeDevice(one.id, numa, links=tuple(links.items()))


def _in_tree(kind: str, machine: Machine) -> Iterator[FakeDevice]:
    for one in functions_of(kind, machine):
        yield FakeDevice(one.address, None if one.numa_node < 0 else (one.numa_node,))
