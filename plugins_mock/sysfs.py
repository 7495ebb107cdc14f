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
    path = root / "sys/bus/pci/devices"
    if not path.is_dir():
        raise PluginError(
            f"{path}: no such directory; give the root of a tree that holds sys/ (numaproof machine write makes one)"
        )
    return tuple(_function(path / entry.name) for entry in sorted(path.iterdir(), key=lambda entry: entry.name))


def _function(path: Path) -> PciFunction:
    node = _word(path / "numa_node", "-1")
    net = path / "net"
    group = path / "iommu_group"
    return PciFunction(
        address=path.name,
        vendor=_word(path / "vendor", "0x0000"),
        device=_word(path / "device", "0x0000"),
        class_code=_word(path / "class", "0x000000"),
        numa=(int(node),) if node.isdigit() else (),
        is_vf=(path / "physfn").exists(),
        interfaces=tuple(sorted(entry.name for entry in net.iterdir())) if net.is_dir() else (),
        iommu_group=group.resolve().name if group.exists() else None,
    )


def _word(path: Path, default: str) -> str:
    try:
        return path.read_text().strip() or default
    except OSError:
        return default
