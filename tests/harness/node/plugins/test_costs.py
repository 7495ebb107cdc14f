"""What a node makes of the costs in an answer: whom they are from, and what cannot be used."""

from collections.abc import Sequence
from fractions import Fraction

import pytest

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.api import preferredallocations_draft_pb2 as draft
from numaproof.harness.cost.costs import Entry
from numaproof.harness.node.plugins.costs import entries_from

GPU = "example.com/gpu"
IDS = ("a", "b", "c")


def told(domain: str, ids: Sequence[str], cost: int, *sources: str) -> draft.PreferredAllocationsForDomain:
    return draft.PreferredAllocationsForDomain(
        preferred_allocations=api.ContainerAllocateRequest(devices_ids=ids),
        resource_domain=domain,
        cost=cost,
        from_deviceIDs=sources,
    )


@pytest.mark.parametrize(
    ("message", "sources", "to"),
    [
        (told("cpu", ["cpu0"], 3), IDS, ("cpu", ("cpu0",))),
        (told("memory", ["node1"], 3, "b"), ("b",), ("memory", ("node1",))),
        (told("example.com/nic", ["n"], 3, "a", "b"), ("a", "b"), ("example.com/nic", ("n",))),
        (told("", ["a", "b"], 3), ("a", "b"), (GPU, ("a", "b"))),
        (told(GPU, ["a", "b"], 3), ("a", "b"), (GPU, ("a", "b"))),
        (told(GPU, ["b", "c"], 3, "a"), ("a",), (GPU, ("b", "c"))),
    ],
    ids=["from all", "from one", "from two", "own pairs", "own pairs by name", "own, from one"],
)
def test_whom_a_cost_is_from(
    message: draft.PreferredAllocationsForDomain, sources: tuple[str, ...], to: tuple[str, tuple[str, ...]]
) -> None:
    assert entries_from(GPU, IDS, [message]) == ((Entry(GPU, sources, *to, Fraction(3)),), ())


def test_pairs_that_share_a_device_are_told_once_each() -> None:
    triangle = [told("", ["a", "b"], 1), told("", ["b", "c"], 2), told("", ["a", "c"], 3)]
    entries, problems = entries_from(GPU, IDS, triangle)
    assert [entry.cost for entry in entries] == [1, 2, 3]
    assert not problems


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (told("", ["a", "x"], 3), "entry 0: the plugin lists no device 'x'"),
        (told("", ["x"], 3, "a"), "entry 0: the plugin lists no device 'x'"),
        (told("cpu", ["cpu0"], 3, "x"), "entry 0: the plugin lists no device 'x'"),
        (told("cpu", [], 3), "entry 0: it names no pair"),
        (told("cpu", ["cpu07"], 3), "entry 0: 'cpu07' is no instance of cpu, as cpu7 is"),
        (told("memory", ["1"], 3), "entry 0: '1' is no instance of memory, as node1 is"),
    ],
)
def test_an_entry_that_cannot_be_used_is_named(message: draft.PreferredAllocationsForDomain, problem: str) -> None:
    good = told("cpu", ["cpu1"], 1)
    assert entries_from(GPU, IDS, [message, good]) == ((Entry(GPU, IDS, "cpu", ("cpu1",), Fraction(1)),), (problem,))


def test_an_answer_in_too_many_pieces_does_not_count() -> None:
    """300 devices, every other one, with 2,000 CPUs, every other one: 150 x 1,000 pieces, and that twice."""
    devices = [f"d{number:03}" for number in range(300)]
    cpus = [f"cpu{number}" for number in range(2000)]
    messages = [told("memory", ["node0"], 1, *devices), told("example.com/x", cpus, 1, devices[0])]
    messages += [told("example.com/x", cpus[start::2], 2 + start, *devices[1::2]) for start in (0, 1)]
    assert entries_from(GPU, devices, messages) == (
        (),
        ("more than 200000 runs of instances with runs of instances",),
    )
