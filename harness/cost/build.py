"""From costs and a request to the layered graph, with as few vertices as there are different instances."""

import math
from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

from numaproof.errors import UserError
from numaproof.harness.cost.costs import SYSTEM, Costs
from numaproof.harness.cost.cpu_pieces import Piece, cut_into_pieces, total_costs
from numaproof.harness.cost.graph import Graph, Layer, Vertex
from numaproof.harness.cost.inner import Alike
from numaproof.harness.cost.listed import listed_costs
from numaproof.harness.cost.names import CPU, MEMORY, layer_order, natural, number_of
from numaproof.near import did_you_mean


def build(
    costs: Costs,
    request: Mapping[str, int],
    *,
    available: Mapping[str, Collection[str]] | None = None,  # None: all instances
    required: Mapping[str, Collection[str]] | None = None,
    compound: bool = True,  # False: every instance is a vertex of its own
) -> Graph:
    """The graph of a request; a UserError where it asks for what there is not, or not enough of."""
    offered = {resource: tuple(ids) for resource, ids in (costs.instances if available is None else available).items()}
    _check(request, offered)
    _check_required(request, offered, required or {})
    wanted = {name: request[name] for name in sorted(request, key=layer_order)}
    return _Builder(costs, wanted, offered, required or {}, compound).graph()


def _check(request: Mapping[str, int], offered: Mapping[str, Collection[str]]) -> None:
    if not request:
        raise UserError("the request is empty; ask for at least one resource, such as cpu=2")
    for resource, count in request.items():
        if resource not in offered:
            known = did_you_mean(resource, offered, 0.5) or f"; known are {', '.join(sorted(offered)) or 'none'}"
            raise UserError(f"{resource}: no costs are known of such a resource{known}")
        if count < 1:
            raise UserError(f"{resource}: {count} of it are asked for; ask for 1 or more, or leave it out")
        if count > len(offered[resource]):
            raise UserError(f"{resource}: {count} of it are asked for, and there are {len(offered[resource])}")


def _check_required(
    request: Mapping[str, int], offered: Mapping[str, Collection[str]], required: Mapping[str, Collection[str]]
) -> None:
    for resource, count in request.items():
        needed = len(set(required.get(resource, ())).intersection(offered[resource]))
        if needed > count:
            raise UserError(f"{resource}: {count} of it are asked for, and {needed} have to be among them")


@dataclass(frozen=True, slots=True)
class _Spot:
    """A vertex in the making: where it is among listed costs and in the system."""

    vertex: Vertex
    classes: tuple[int, ...]  # of listed costs; a group of memory nodes has the classes of all
    place: Piece | tuple[int, ...] | None  # a piece of CPUs, memory nodes; None: not a part of the system


class _Builder:
    def __init__(
        self,
        costs: Costs,
        wanted: Mapping[str, int],
        offered: Mapping[str, tuple[str, ...]],
        required: Mapping[str, Collection[str]],
        compound: bool,
    ) -> None:
        self._costs = costs
        self._wanted = wanted
        self._offered = offered
        self._required = {resource: frozenset(required.get(resource, ())) for resource in wanted}
        cpus = offered[CPU] if CPU in wanted and costs.system is not None else ()
        self._cpus = {one: number_of(one) for one in cpus}
        self._compound = compound
        self._listed = listed_costs(costs, {resource: _single(resource, offered[resource]) for resource in wanted})
        self._system_unit = costs.scaled(SYSTEM, 1) if costs.system is not None else 0
        self._nearness = self._tie_breaks()
        most = sum(count * max(self._nearness[resource].values()) for resource, count in wanted.items())
        # Each is more than all that comes after it can add up to; and even, so that weights can be halved.
        self._guess = 2 * (most + 1)
        everything = sum(wanted.values())
        self._rest = (everything * everything + 1) * self._guess

    def graph(self) -> Graph:
        """The graph, with as few vertices as there are different instances."""
        spots: list[_Spot] = []
        within: dict[tuple[Piece, Piece], int] = {}
        for resource in self._wanted:
            if resource == CPU and self._costs.system is not None:
                spots += self._cpu_spots(within)
            else:
                spots += self._spots(resource)
        spots = self._in_order(spots)
        weights = self._weights(spots, within)
        if self._compound:
            spots, weights = self._joined(spots, weights)
        layers = tuple(
            Layer(resource, count, tuple(i for i, spot in enumerate(spots) if spot.vertex.resource == resource))
            for resource, count in self._wanted.items()
        )
        tables = tuple(spot.vertex.inner.table(self._wanted[spot.vertex.resource]) for spot in spots)
        vertices = tuple(spot.vertex for spot in spots)
        return Graph(layers, vertices, tuple(map(tuple, weights)), tables, self._costs.scale, self._rest)

    def _in_order(self, spots: list[_Spot]) -> list[_Spot]:
        def first(spot: _Spot) -> Hashable:
            ids = spot.vertex.inner.ids
            return min(map(self._cpus.__getitem__, ids)) if isinstance(spot.place, Piece) else min(map(natural, ids))

        return sorted(spots, key=lambda spot: (layer_order(spot.vertex.resource), first(spot)))

    def _tie_breaks(self) -> dict[str, dict[str, int]]:
        """By resource and id: how near an instance is to all others that are free, devices of all resources, or CPUs.

        It is the largest total cost of the resource, less the instance's own.
        """
        devices = {name: ids for name, ids in self._offered.items() if name not in (CPU, MEMORY)}
        among_devices = listed_costs(self._costs, devices)
        totals: dict[str, dict[str, int]] = {}
        for resource in self._wanted:
            ids = self._offered[resource]
            if resource == CPU:
                totals[resource] = self._cpu_totals(ids)
            elif resource == MEMORY:
                totals[resource] = dict.fromkeys(ids, 0)
            else:
                totals[resource] = among_devices.totals(resource)
        divisor = math.gcd(*(one for table in totals.values() for one in table.values())) or 1
        largest = {resource: max(table.values()) for resource, table in totals.items()}
        return {
            resource: {one: (largest[resource] - total) // divisor for one, total in table.items()}
            for resource, table in totals.items()
        }

    def _cpu_totals(self, ids: Sequence[str]) -> dict[str, int]:
        listed = listed_costs(self._costs, {CPU: ids})
        totals = listed.totals(CPU)
        if self._costs.system is not None:
            numbers = {number: one for one, number in self._cpus.items()}
            for cpu, total in total_costs(self._costs.system, numbers).items():
                totals[numbers[cpu]] += 2 * total * self._system_unit
        return totals

    def _key(self, resource: str, one: str) -> Hashable:
        """What instances have to have in common to be in one vertex, apart from where they are in the system."""
        alike = self._listed.class_of[resource][one], one in self._required[resource]
        return alike if self._compound else (*alike, one)

    def _cpu_spots(self, within: dict[tuple[Piece, Piece], int]) -> list[_Spot]:
        system = self._costs.system
        assert system is not None
        nearness = self._nearness[CPU]
        keys = {number: self._key(CPU, one) for one, number in self._cpus.items()}

        def inner_cost(between: int, key: Hashable) -> int:
            found = key[0] if isinstance(key, tuple) else 0
            return 2 * between * self._system_unit * self._rest + self._listed_weight(found, found)

        each = {number: nearness[one] for one, number in self._cpus.items()}
        pieces = cut_into_pieces(system, keys, inner_cost, each)
        within |= pieces.within
        spots = []
        for piece in pieces.pieces:
            assert isinstance(piece.key, tuple)
            spots.append(_Spot(Vertex(CPU, piece.inner, piece.key[1]), (piece.key[0],), piece))
        return spots

    def _spots(self, resource: str) -> list[_Spot]:
        groups: dict[Hashable, list[str]] = defaultdict(list)
        nearness = self._nearness[resource]
        in_system = resource == MEMORY and self._costs.system is not None
        for one in self._offered[resource]:
            if in_system:
                groups[one].append(one)
            else:
                groups[self._key(resource, one), nearness[one]].append(one)
        spots = []
        for ids in groups.values():
            needed = ids[0] in self._required[resource]
            classes = tuple(self._listed.class_of[resource][one] for one in _single(resource, ids))
            between = self._listed_weight(classes[0], classes[0])
            place = tuple(map(number_of, ids[0].split("+"))) if in_system else None
            each = nearness[ids[0]]
            if place is not None:
                each += self._among_nodes(place) * self._rest
            inner = Alike(tuple(sorted(ids, key=natural)), between, each)
            spots.append(_Spot(Vertex(resource, inner, needed), classes[:1] if place is None else classes, place))
        return spots

    def _among_nodes(self, nodes: tuple[int, ...]) -> int:
        system = self._costs.system
        assert system is not None
        distances = system.distances
        return self._system_unit * sum(distances[a][b] for a in nodes for b in nodes if a != b)

    def _weights(self, spots: Sequence[_Spot], within: Mapping[tuple[Piece, Piece], int]) -> list[list[int]]:
        weights = [[0] * len(spots) for _ in spots]
        for i, one in enumerate(spots):
            row = weights[i]
            for j in range(i):
                other = spots[j]
                weight = sum(self._listed_weight(a, b) for a in one.classes for b in other.classes)
                if one.place is not None and other.place is not None:
                    weight += self._system_unit * self._apart(one.place, other.place, within) * self._rest
                row[j] = weights[j][i] = weight
        return weights

    def _listed_weight(self, one: int, other: int) -> int:
        """The weight of a pair by what is listed; at equal cost, what is listed comes before what is left out."""
        return self._listed.between(one, other) * self._rest + self._listed.guesses(one, other) * self._guess

    def _apart(
        self,
        one: Piece | tuple[int, ...],
        other: Piece | tuple[int, ...],
        within: Mapping[tuple[Piece, Piece], int],
    ) -> int:
        """What two system devices cost, both directions together."""
        if isinstance(one, Piece) and isinstance(other, Piece) and one.node == other.node:
            return 2 * within[one, other]
        assert self._costs.system is not None
        distances = self._costs.system.distances
        ones = (one.node,) if isinstance(one, Piece) else one
        others = (other.node,) if isinstance(other, Piece) else other
        return sum(distances[a][b] + distances[b][a] for a in ones for b in others)

    def _joined(self, spots: list[_Spot], weights: list[list[int]]) -> tuple[list[_Spot], list[list[int]]]:
        """Vertices that turn out to cost the same to everybody become one, though different entries list them.

        Two of them are alike if each, with the cost between them in the place of its own, has the same row.
        """
        twins: dict[Hashable, list[int]] = defaultdict(list)
        for i, spot in enumerate(spots):
            inner = spot.vertex.inner
            if spot.place is not None or not isinstance(inner, Alike):
                continue
            same_layer = {
                weights[i][j]
                for j, other in enumerate(spots)
                if j != i and other.vertex.resource == spot.vertex.resource
            }
            for between in {inner.between} if len(inner.ids) > 1 else same_layer:
                row = weights[i].copy()
                row[i] = between
                twins[spot.vertex.resource, spot.vertex.required, inner.each, between, tuple(row)].append(i)
        done: set[int] = set()
        gone: set[int] = set()
        for key, members in twins.items():
            free = [i for i in members if i not in done]
            assert isinstance(key, tuple)
            if len(free) > 1:
                done.update(free)
                gone.update(free[1:])
                first = spots[free[0]]
                ids = tuple(sorted((one for i in free for one in spots[i].vertex.inner.ids), key=natural))
                inner = Alike(ids, key[3], key[2])
                vertex = Vertex(first.vertex.resource, inner, first.vertex.required)
                spots[free[0]] = _Spot(vertex, first.classes, None)
        kept = [i for i in range(len(spots)) if i not in gone]
        return [spots[i] for i in kept], [[weights[i][j] for j in kept] for i in kept]


def _single(resource: str, ids: Collection[str]) -> tuple[str, ...]:
    """The ids, with groups of memory nodes taken apart."""
    if resource != MEMORY:
        return tuple(ids)
    return tuple(dict.fromkeys(part for one in ids for part in one.split("+")))
