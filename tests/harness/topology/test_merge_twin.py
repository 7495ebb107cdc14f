"""The merge answers as the naive cross product does, whatever the order of providers, resources and hints."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from numaproof.harness.topology.bitmask import NodeMask
from numaproof.harness.topology.hints import HintFamily, TopologyHint
from numaproof.harness.topology.merge import filter_hints, merge, merge_as_proposed, only_single_nodes
from numaproof.harness.topology.numa import NumaInfo
from tests.harness.topology.twin import naive_merge, naive_merge_as_proposed


# The machine may be slow: nothing is timed. Examples are derived from the test itself, so that a run can be repeated.
@st.composite
def machines(draw: st.DrawFn, most: int = 5) -> NumaInfo:
    nodes = tuple(sorted(draw(st.sets(st.integers(0, 7), min_size=1, max_size=most))))
    cell = st.sampled_from((10, 12, 20, 21, 32))
    rows = {node: [draw(cell) for _ in range(8)] for node in nodes}
    return NumaInfo(nodes, rows)


@st.composite
def provider_hints(draw: st.DrawFn, numa: NumaInfo) -> dict[str, list[TopologyHint] | None] | None:
    # Node 9 is on no machine: a provider may speak of nodes that the Topology Manager does not know.
    mask = st.sets(st.sampled_from((*numa.nodes, *numa.nodes, 9))).map(lambda ids: NodeMask(sum(1 << i for i in ids)))
    hint = st.builds(TopologyHint, st.none() | mask | mask, st.booleans())
    hints = st.none() | st.lists(hint, max_size=9)
    return draw(st.none() | st.dictionaries(st.sampled_from(("cpu", "gpu", "nic")), hints, max_size=2))


@given(st.data(), st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=300)
def test_lists_in_any_order(data: st.DataObject, closest: bool, order: random.Random) -> None:
    numa = data.draw(machines())
    providers = data.draw(st.lists(provider_hints(numa), max_size=3))
    resources = [list(hints) for hints in filter_hints(providers) if not isinstance(hints, HintFamily)]
    expected = naive_merge(resources, numa, closest=closest)
    assert merge(filter_hints(providers), numa, closest=closest) == expected
    assert merge_as_proposed(filter_hints(providers), numa) == naive_merge_as_proposed(resources, numa)

    single = [list(hints) for hints in only_single_nodes(filter_hints(providers)) if not isinstance(hints, HintFamily)]
    assert merge(single, numa) == naive_merge(single, numa)

    shuffled = [provider and dict(order.sample(list(provider.items()), len(provider))) for provider in providers]
    order.shuffle(shuffled)
    for provider in shuffled:
        for hints in (provider or {}).values():
            if hints:
                order.shuffle(hints)
    assert merge(filter_hints(shuffled), numa, closest=closest) == expected
