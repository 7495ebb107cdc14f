"""The fewest nodes that meet demands, against trying every set of nodes."""

from hypothesis import given, settings
from hypothesis import strategies as st

from numaproof.harness.topology.bitmask import NodeMask, masks_over
from numaproof.harness.topology.hints import Demand
from numaproof.harness.topology.mask_search import smallest_size

IDS = st.sets(st.integers(0, 5)).map(sorted)
ONE_NODE = st.integers(0, 5).map(lambda node: 1 << node)
SEVERAL = st.integers(1, 63)


def demands(masks: st.SearchStrategy[int]) -> st.SearchStrategy[Demand]:
    supply = st.lists(st.tuples(masks.map(NodeMask), st.integers(0, 5)), max_size=8).map(tuple)
    return st.builds(Demand, st.integers(0, 12), supply)


@settings(max_examples=1000)
@given(IDS, st.lists(st.one_of(demands(ONE_NODE), demands(SEVERAL)), min_size=1, max_size=2))
def test_no_smaller_set_meets_the_demands(ids: list[int], wanted: list[Demand]) -> None:
    meeting = [
        mask.bit_count() for mask in masks_over(ids) if mask and all(one.held(mask) >= one.need for one in wanted)
    ]
    nodes = NodeMask(sum(1 << node for node in ids))
    assert smallest_size(nodes, wanted) == min(meeting, default=None)
