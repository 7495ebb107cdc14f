"""Moves from a solution to a neighbouring one, and the way down by them."""

from collections.abc import Sequence

from numaproof.harness.cost.graph import Graph


class Position:
    """A solution that can be moved: some instances of a vertex are exchanged for as many of another of its layer."""

    def __init__(self, graph: Graph, counts: Sequence[int]) -> None:
        self.counts = list(counts)
        self.weight = graph.weight(counts)
        self._graph = graph
        self._rows = graph.weights
        self._tables = graph.tables
        # What one more instance of a vertex would cost with all that is taken of other vertices.
        self._nearby = [
            sum(row[one] * count for one, count in enumerate(self.counts) if count) for row in graph.weights
        ]

    def change(self, source: int, target: int, units: int) -> int:
        """What a move would add to the weight."""
        mine, theirs = self._tables[source], self._tables[target]
        here, there = self.counts[source], self.counts[target]
        return (
            mine[here - units]
            - mine[here]
            + theirs[there + units]
            - theirs[there]
            + units * (self._nearby[target] - self._nearby[source])
            - units * units * self._rows[source][target]
        )

    def move(self, source: int, target: int, units: int) -> None:
        """Exchange so many instances of one vertex for those of another."""
        self.weight += self.change(source, target, units)
        self.counts[source] -= units
        self.counts[target] += units
        away, towards = self._rows[source], self._rows[target]
        self._nearby = [
            nearby + units * (one - other) for nearby, one, other in zip(self._nearby, towards, away, strict=True)
        ]

    def descend(self) -> None:
        """Make the best move as long as one lowers the weight."""
        while True:
            best, found = 0, (0, 0, 0)
            for layer in self._graph.layers:
                movable = [one for one in layer.vertices if not self._graph.vertices[one].required]
                for source in movable:
                    here = self.counts[source]
                    if not here:
                        continue
                    for target in movable:
                        if target == source:
                            continue
                        room = len(self._tables[target]) - 1 - self.counts[target]
                        if room <= 0:
                            continue
                        for units in {1, min(here, room)}:
                            change = self.change(source, target, units)
                            if change < best:
                                best, found = change, (source, target, units)
            if not best:
                return
            self.move(*found)
