"""How far apart, in PCI bridges, the devices of a container are: what an expectation `bridges` looks at."""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from numaproof.fake_sysfs.forms import Form, Key, list_of, shape
from numaproof.fake_sysfs.pci_places import Place, bridges_between
from numaproof.harness.decision.assignment import Assignment

BRIDGES = shape(
    "bridges",
    "How far apart, in PCI bridges, the devices of two resources are.",
    {
        "between": Key(list_of(Form({"type": "string"}), least=2, maxItems=2), "the two resources", required=True),
        "at_most": Key(
            Form({"type": "integer", "minimum": 0}),
            "so many bridges at most; two ports of a switch are 2",
            required=True,
        ),
    },
)


def of_bridges(name: str, wanted: Mapping[str, Any], given: Assignment, places: Mapping[str, Place]) -> Iterable[str]:
    """Every pair of devices of the two resources that is farther apart than wanted, or of which one is missing."""
    held = [[device.id for device in given.devices.get(resource, ())] for resource in wanted["between"]]
    for resource, ids in zip(wanted["between"], held, strict=True):
        if not ids:
            yield f"expected {resource} for {name}, were none"
    for one, other in product(*held):
        if one != other and not _within(places.get(one), places.get(other), wanted["at_most"]):
            told = f"at most {wanted['at_most']} bridges between {name}'s devices, were {_told(one, other, places)}"
            yield f"expected {told}"


def _within(one: Place | None, other: Place | None, most: int) -> bool:
    return one is not None and other is not None and one.root == other.root and bridges_between(one, other) <= most


def _told(one: str, other: str, places: Mapping[str, Place]) -> str:
    here, there = places.get(one), places.get(other)
    if here is None or there is None:
        return f"{one} and {other}, of which the PCI tree has not both"
    if here.root != there.root:
        return f"{one} and {other} below the host bridges {here.root} and {there.root}"
    return f"{bridges_between(here, there)} between {one} and {other}"
