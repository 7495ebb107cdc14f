"""The plugins of a scenario, sized to a machine."""

from collections.abc import Iterator

from numaproof.fake_sysfs import Machine, PciDevice
from numaproof.harness.errors import UserError
from numaproof.harness.scenario.model import PluginSpec
from numaproof.harness.scenario.rig import FakeDevice, FakePlugin
from numaproof.harness.scenario.sizes import Sizes
from numaproof.harness.vocabulary import is_gpu, is_nic


def fake_plugin(spec: PluginSpec, machine: Machine, sizes: Sizes, place: str) -> FakePlugin:
    """What a scenario says of a plugin, worked out for a machine."""
    if spec.per_numa is not None:
        short = spec.resource.rpartition("/")[2]
        count = sizes.count(spec.per_numa, f"{place}: per_numa")
        devices = [FakeDevice(f"{short}-{node:02}-{i:02}", (node,)) for node in sizes.cpu_nodes for i in range(count)]
    elif spec.sysfs is not None:
        found = list(_gpus(machine) if spec.sysfs == "gpu" else _virtual_nics(machine))
        devices = [FakeDevice(one.address, None if one.numa_node < 0 else (one.numa_node,)) for one in found]
        if not devices:
            raise UserError(f"{place}: {machine.name} has no {spec.sysfs} to offer in its PCI tree; say so in `needs`")
    else:
        devices = [
            FakeDevice(one["id"], None if one["numa"] is None else tuple(one["numa"]), one["healthy"])
            for one in spec.devices
        ]
    return FakePlugin(
        spec.resource,
        spec.sysfs or "generic",
        tuple(devices),
        spec.preferred,
        spec.plural,
        spec.pre_start,
        spec.list,
        spec.faults,
    )


def _gpus(machine: Machine) -> Iterator[PciDevice]:
    yield from (device for device in machine.devices() if is_gpu(device.class_code))


def _virtual_nics(machine: Machine) -> Iterator[PciDevice]:
    """The virtual functions of network cards: what the plugin of this kind offers."""
    yield from (function for card in machine.devices() for function in card.vfs if is_nic(card.class_code))
