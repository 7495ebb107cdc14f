"""What a fake plugin says that its devices cost: from a file, or from a look at the PCI tree."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import lcm
from pathlib import Path

from numaproof.fake_sysfs import read as read_machine
from numaproof.fake_sysfs.cost_file import read_costs
from numaproof.fake_sysfs.device_costs import by_resource, device_costs
from numaproof.fake_sysfs.strict_yaml import read
from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.api import preferredallocations_draft_pb2 as draft
from numaproof.harness.vocabulary import USUAL_RESOURCES, kind_of
from numaproof.near import did_you_mean
from numaproof.plugins_mock.errors import PluginError

LARGEST_COST = 2**31 - 1  # int32


@dataclass(frozen=True, slots=True)
class MockCost:
    """So much from each of some devices of the plugin to each of some instances of a domain."""

    ids: tuple[str, ...]
    domain: str  # "cpu", "memory", or a resource, the plugin's own included
    to_ids: tuple[str, ...]
    cost: int

    def __post_init__(self) -> None:
        if not 0 <= self.cost <= LARGEST_COST:
            raise PluginError(f"the cost {self.cost} to {self.domain}: must be from 0 to {LARGEST_COST}")


def told(
    costs: Iterable[MockCost], resource: str, available: Collection[str]
) -> list[draft.PreferredAllocationsForDomain]:
    """The costs of the available devices, as an answer shows them; a device alone has no cost to itself."""
    here = set(available)
    return [
        draft.PreferredAllocationsForDomain(
            preferred_allocations=api.ContainerAllocateRequest(devices_ids=one.to_ids),
            resource_domain=one.domain,
            cost=one.cost,
            from_deviceIDs=one.ids,
        )
        for one in (_among(cost, here, own=cost.domain == resource) for cost in costs)
        if one.ids and one.to_ids and not (one.domain == resource and one.ids == one.to_ids and len(one.ids) == 1)
    ]


def _among(cost: MockCost, here: set[str], *, own: bool) -> MockCost:
    sources = tuple(device for device in cost.ids if device in here)
    return replace(cost, ids=sources, to_ids=tuple(one for one in cost.to_ids if one in here) if own else cost.to_ids)


def file_costs(path: Path, resource: str, devices: Collection[str]) -> tuple[MockCost, ...]:
    """The costs of a file that start at devices of a resource; fractions become whole numbers, all on one scale."""
    entries = read_costs(read(path, typed=False))
    own = [entry for entry in entries if entry.resource == resource and set(entry.ids) & set(devices)]
    if not own:
        known = ", ".join(sorted({entry.resource for entry in entries}))
        raise PluginError(
            f"--costs {path}: has no costs of the {len(devices)} devices of {resource}; it has some of: {known}"
        )
    scale = lcm(*(entry.cost.denominator for entry in own))
    largest = max(entry.cost for entry in own) * scale
    if largest > LARGEST_COST:
        raise PluginError(
            f"--costs {path}: as whole numbers its costs go up to {largest}; at most {LARGEST_COST} can be"
        )
    return tuple(
        MockCost(
            tuple(device for device in entry.ids if device in devices),
            entry.to_resource,
            entry.to_ids,
            int(entry.cost * scale),
        )
        for entry in own
    )


def machine_costs(
    root: Path, resource: str, devices: Sequence[str], resources: Mapping[str, str]
) -> tuple[MockCost, ...]:
    """The costs of PCI devices, of a plugin's resource, in the machine whose sysfs lies below `root`.

    `resources`: under which names plugins of other kinds offer their devices.
    """
    machine = read_machine(root)
    virtual = {function.address for device in machine.devices() for function in device.vfs}
    owners = {}
    for device in machine.devices():
        kind = kind_of(device.class_code, is_vf=device.address in virtual)
        if kind is not None:
            owners[device.address] = resources[kind]
    owners |= dict.fromkeys(devices, resource)
    return tuple(MockCost(*one) for one in by_resource(device_costs(machine, devices, owners), owners))


def parse_resources(texts: Iterable[str]) -> Mapping[str, str]:
    """The resource of every kind: the usual one, but where a text `KIND=RESOURCE` says another."""
    resources = dict(USUAL_RESOURCES)
    for text in texts:
        kind, equals, resource = text.partition("=")
        if not equals or not resource or kind not in resources:
            known = ", ".join(resources)
            meant = did_you_mean(kind, resources) if equals and resource else ""
            raise PluginError(f"--costs-to {text}: write KIND=RESOURCE, with a kind out of: {known}{meant}")
        resources[kind] = resource
    return resources
