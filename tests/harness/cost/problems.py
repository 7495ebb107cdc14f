"""Problems to solve: drawn by hypothesis, and an answer to them that is found by looking at every set."""

from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from itertools import combinations, product

from hypothesis import strategies as st

from numaproof.harness.cost.costs import UNLISTED, Costs, Entry, Report
from numaproof.harness.cost.names import Instance
from numaproof.harness.cost.pairs import pairs

# The same examples each time, however slow the machine is.

RESOURCES = ("a.example/x", "b.example/y", "c.example/z")


@st.composite
def problems(draw: st.DrawFn, most: int = 4) -> tuple[Costs, dict[str, int]]:
    """Costs between up to `most` instances of up to three resources, some of them alike, and a request."""
    resources = RESOURCES[: draw(st.integers(1, 3))]
    instances = {name: tuple(f"i{n}" for n in range(draw(st.integers(1, most)))) for name in resources}
    reports = []
    for resource in resources:
        entries = []
        for _ in range(draw(st.integers(0, 5))):
            to_resource = draw(st.sampled_from(resources))
            ids = draw(st.sets(st.sampled_from(instances[resource]), min_size=1))
            to_ids = draw(st.sets(st.sampled_from(instances[to_resource]), min_size=1))
            cost = Fraction(draw(st.integers(0, 12)), draw(st.sampled_from((1, 1, 2))))
            entries.append(Entry(resource, tuple(sorted(ids)), to_resource, tuple(sorted(to_ids)), cost))
        reports.append(Report(resource, tuple(entries)))
    request = {name: draw(st.integers(1, len(ids))) for name, ids in instances.items()}
    return Costs(instances, tuple(reports), None, draw(st.sampled_from(UNLISTED))), request


def every_set(
    request: Mapping[str, int], offered: Mapping[str, tuple[str, ...]]
) -> Iterator[dict[str, tuple[str, ...]]]:
    """All sets that satisfy a request."""
    for choice in product(*(combinations(offered[resource], count) for resource, count in request.items())):
        yield dict(zip(request, choice, strict=True))


def cheapest(
    costs: Costs, request: Mapping[str, int], required: Mapping[str, Collection[str]] | None = None
) -> Fraction:
    """The least cost of all sets that hold what is required."""
    needed = {resource: set(ids) for resource, ids in (required or {}).items()}
    between = {
        (pair.one, pair.other): pair.cost for pair in pairs(costs, {name: costs.instances[name] for name in request})
    }
    return min(
        sum(
            (between.get(pair) or between.get(pair[::-1]) or Fraction(0) for pair in combinations(_named(chosen), 2)),
            start=Fraction(0),
        )
        for chosen in every_set(request, costs.instances)
        if all(ids <= set(chosen[resource]) for resource, ids in needed.items())
    )


def _named(chosen: Mapping[str, tuple[str, ...]]) -> list[Instance]:
    return [Instance(resource, one) for resource, ids in chosen.items() for one in ids]
