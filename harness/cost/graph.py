"""The layered graph of a request: a layer for each resource, compound vertices in it, costs between all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from numaproof.harness.cost.inner import Inner, Table
from numaproof.harness.cost.names import natural
from numaproof.harness.cost.pairs import Chosen


@dataclass(frozen=True, slots=True)
class Vertex:
    """A compound vertex: instances of one resource that cost the same to everybody else."""

    resource: str
    inner: Inner
    required: bool  # whether all of them have to be in every solution

    @property
    def ids(self) -> tuple[str, ...]:
        """Its instances, in their natural order."""
        return tuple(sorted(self.inner.ids, key=natural))

    @property
    def size(self) -> int:
        """How many instances it stands for."""
        return len(self.inner.ids)


@dataclass(frozen=True, slots=True)
class Layer:
    """The vertices of one resource, and how many instances of it are wanted."""

    resource: str
    wanted: int
    vertices: tuple[int, ...]  # in the natural order of their first instances


@dataclass(frozen=True, slots=True)
class Graph:
    """A request's graph. Its weights are whole numbers: the cost in units of 1 / scale, times `rest`, plus a tie-break.

    The tie-break is smaller than `rest` for any solution, so that it counts among solutions of equal cost only. First,
    pairs that are listed come before pairs that are only ruled to be as far. Then it is the less, the farther what is
    taken is from all that stays free: cheap sets are left whole.
    """

    layers: tuple[Layer, ...]
    vertices: tuple[Vertex, ...]
    weights: tuple[tuple[int, ...], ...]  # of an instance of one vertex with an instance of another; 0 to itself
    tables: tuple[Table, ...]  # by vertex: of 0, 1, 2, ... of its instances, at the least
    scale: int
    rest: int

    def cost(self, one: int, other: int) -> Fraction:
        """The cost of an instance of one vertex with an instance of another."""
        return self.cost_of(self.weights[one][other])

    def inner_cost(self, one: int, count: int) -> Fraction:
        """What so many instances of a vertex cost among themselves, at the least."""
        return self.cost_of(self.tables[one][count])

    def cost_of(self, weight: int) -> Fraction:
        """The cost in a weight, without the tie-break."""
        return Fraction(weight // self.rest, self.scale)

    def weight(self, counts: Sequence[int]) -> int:
        """The weight of a solution: how many instances are taken of every vertex."""
        taken = [(vertex, count) for vertex, count in enumerate(counts) if count]
        total = sum(self.tables[vertex][count] for vertex, count in taken)
        for position, (one, count) in enumerate(taken):
            row = self.weights[one]
            total += count * sum(row[other] * number for other, number in taken[:position])
        return total

    def chosen(self, counts: Sequence[int]) -> Chosen:
        """The instances of a solution."""
        found: dict[str, list[str]] = {layer.resource: [] for layer in self.layers}
        for vertex, count in zip(self.vertices, counts, strict=True):
            found[vertex.resource] += vertex.inner.take(count)
        return {resource: tuple(sorted(ids, key=natural)) for resource, ids in found.items()}
