"""Masks of NUMA nodes."""

import pytest

from numaproof.harness.topology.bitmask import (
    NodeMask,
    format_mask,
    ids_of,
    is_narrower,
    is_set,
    is_subset,
    mask_of,
    masks_over,
)


def test_a_mask_holds_its_nodes() -> None:
    mask = mask_of([5, 0, 63])
    assert ids_of(mask) == (0, 5, 63)
    assert is_set(mask, 5)
    assert not is_set(mask, 4)
    assert is_subset(mask_of([5]), mask)
    assert not is_subset(mask, mask_of([5]))


@pytest.mark.parametrize("node", [-1, 64])
def test_nodes_outside_64_bits_are_refused(node: int) -> None:
    with pytest.raises(ValueError, match=str(node)):
        mask_of([node])


def test_fewer_nodes_are_narrower_then_lower_ones() -> None:
    assert is_narrower(mask_of([7]), mask_of([0, 1]))
    assert is_narrower(mask_of([0, 2]), mask_of([1, 2]))
    assert not is_narrower(mask_of([1]), mask_of([1]))


def test_masks_come_smallest_first() -> None:
    assert [ids_of(mask) for mask in masks_over([2, 0, 1])] == [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]


def test_masks_read_as_sets() -> None:
    assert [format_mask(mask) for mask in (None, NodeMask(0), mask_of([0, 3]))] == ["any", "{}", "{0,3}"]
