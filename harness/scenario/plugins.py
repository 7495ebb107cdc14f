"""The plugins of a scenario, sized to a machine."""

from collections.abc import Iterator

from numaproof.fake_sysfs import Machine, PciDevice
from numaproof.harness.errors import UserError
from numaproof.harness.scenario.model import PluginWords
from numaproof.harness.scenario.rig import FakeDevice, FakePlugin
from numaproof.harness.scenario.sizes import Sizes
from numaproof.harness.vocabulary import is_gpu, is_nic


def fake_plugin(words: PluginWords, machine: Machine, sizes: Sizes, place: str) -> FakePlugin:
    """What a scenario says of a plugin, worked out for a machine."""
    if words.per_numa is not None:
        short = words.resource.rpartition("/")[2]
        count = sizes.count(words.per_numa, f"{place}: per_numa")
        devices = [FakeDevice(f"{short}-{node:02}-{i:02}", (node,)) for node in sizes.cpu_nodes for i in range(count)]
    elif words.sysfs is not None:
        found = list(_gpus(machine) if words.sysfs == "gpu" else _virtual_nics(machine))
        devices = [FakeDevice(one.address, None if one.numa_node < 0 else (one.numa_node,)) for one in found]
        if not devices:
            raise UserError(f"{place}: {machine.name} has no {words.sysfs} to offer in its PCI tree; say so in `needs`")
    else:
        devices = [
            FakeDevice(one["id"], None if one["numa"] is None else tuple(one["numa"]), one["healthy"])
            for one in words.devices
        ]
    return FakePlugin(
        words.resource,
        words.sysfs or "generic",
        tuple(devices),
        words.preferred,
        words.plural,
        words.pre_start,
        words.list,
        words.faults,
    )


def _gpus(machine: Machine) -> Iterator[PciDevice]:
    yield from (device for device in machine.devices() if is_gpu(device.class_code))


def _virtual_nics(machine: Machine) -> Iterator[PciDevice]:
    """The virtual functions of network cards: what the plugin of this kind offers."""
    yield from (function for card in machine.devices() for function in card.vfs if is_nic(card.class_code))
