"""The tree that both renderers draw: every decision is made, only places and strokes are left to them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from numaproof.harness.drawing.marks import Mark

# cells: a cell for every CPU; bar: runs of cores that are alike; tile: a small bar, for one of many nodes.
Detail = Literal["cells", "bar", "tile"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A CPU."""

    cpu: int
    mark: Mark
    tip: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a bar that one holder has: CPUs, bytes or devices."""

    mark: Mark
    amount: int
    text: str  # of the amount: "8 CPUs", "16 GiB"
    tip: str


@dataclass(frozen=True, slots=True)
class DeviceBlock:
    """A device, or where there are many of a resource, all that are alike."""

    name: str  # "gpu 0000:17:00.0", "vf x 48"
    mark: Mark
    healthy: bool
    tip: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class DeviceGroup:
    """Devices side by side; behind one PCI bridge, if it has a name."""

    bridge: str  # empty: they have no bridge in common that is worth showing
    devices: tuple[DeviceBlock, ...]


@dataclass(frozen=True, slots=True)
class NodeBlock:
    """A NUMA node, or several in a row that are alike and untouched."""

    ids: tuple[int, ...]
    detail: Detail
    name: str
    told: str  # "26 of 32 CPUs free"
    short: str  # the same for a tile: "26/32"
    cores: tuple[tuple[Cell, ...], ...]  # with detail `cells` only
    cpus: tuple[Piece, ...]  # with the other details
    memory: tuple[Piece, ...]  # empty: it has none
    memory_told: str  # "176 GiB of 192 GiB free", "no memory"
    memory_short: str  # the same for a tile: "176 GiB"
    hugepages: str  # empty: none
    devices: tuple[DeviceGroup, ...]
    wish: str  # what is refused here; empty: nothing
    tip: str


@dataclass(frozen=True, slots=True)
class PackageBlock:
    """NUMA nodes that lie in the same package, or that have no CPUs."""

    name: str
    nodes: tuple[NodeBlock, ...]


@dataclass(frozen=True, slots=True)
class PodBlock:
    """A pod's line in the legend."""

    mark: Mark
    sign: str
    label: str
    told: str  # "8 CPUs 0-3,48-51; 16 GiB; 2 devices"


@dataclass(frozen=True, slots=True)
class Matrix:
    """Figures between things: distances, links."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]

    def in_parts(self, columns: int) -> Iterator["Matrix"]:
        """The matrix in parts of at most so many columns, with all rows each."""
        for at in range(0, len(self.columns), columns):
            end = at + columns
            yield Matrix(self.title, self.columns[at:end], tuple((name, row[at:end]) for name, row in self.rows))


@dataclass(frozen=True, slots=True)
class Picture:
    """A whole drawing."""

    title: str
    headline: str
    refused: str  # empty: nothing was
    pods: tuple[PodBlock, ...]
    more: str  # of pods that are not listed; empty: there are none
    signs: tuple[tuple[Mark, str], ...]  # what other marks mean, of those that occur
    packages: tuple[PackageBlock, ...]
    elsewhere: tuple[tuple[str, tuple[DeviceGroup, ...]], ...]  # devices that belong to no single node
    matrices: tuple[Matrix, ...]
    notes: tuple[str, ...]
