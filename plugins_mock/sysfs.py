"""PCI functions in a sysfs tree, as a device plugin finds them."""

from dataclasses import dataclass
from pathlib import Path

from numaproof.plugins_mock.errors import PluginError


@dataclass(frozen=True, slots=True)
class PciFunction:
    """What a plugin wants to know of a PCI function."""

    address: str
    vendor: str
    device: str
    class_code: str
    numa: tuple[int, ...]  # empty: the firmware does not say
    is_vf: bool
    interfaces: tuple[str, ...]
    iommu_group: str | None  # None: no IOMMU


def pci_functions(root: Path) -> tuple[PciFunction, ...]:
    """All PCI functions below `root`/sys, ascending by address."""
    place = root / "sys/bus/pci/devices"
    if not place.is_dir():
        raise PluginError(
            f"{place}: no such directory; give the root of a tree that holds sys/ (numaproof machine write makes one)"
        )
    return tuple(_function(place / entry.name) for entry in sorted(place.iterdir(), key=lambda entry: entry.name))


def _function(place: Path) -> PciFunction:
    node = _word(place / "numa_node", "-1")
    net = place / "net"
    group = place / "iommu_group"
    return PciFunction(
        address=place.name,
        vendor=_word(place / "vendor", "0x0000"),
        device=_word(place / "device", "0x0000"),
        class_code=_word(place / "class", "0x000000"),
        numa=(int(node),) if node.isdigit() else (),
        is_vf=(place / "physfn").exists(),
        interfaces=tuple(sorted(entry.name for entry in net.iterdir())) if net.is_dir() else (),
        iommu_group=group.resolve().name if group.exists() else None,
    )


def _word(place: Path, default: str) -> str:
    try:
        return place.read_text().strip() or default
    except OSError:
        return default
