"""A log beside a decision on more NUMA nodes than anybody lists hints of: each hint of the log is asked for.

The node has 10 NUMA nodes of 2 CPUs, of which CPU 0 is reserved. 3 CPUs are on any 2 NUMA nodes (of node 0 and another
one: 1 and 2), and on no single one; 2 nodes are the fewest, so exactly those sets are preferred.
"""

from collections.abc import Mapping

import pytest

from numaproof.harness.providers.devices import Device
from numaproof.harness.topology.bitmask import mask_of
from numaproof.harness.topology.hints import TopologyHint
from tests.harness.intake.test_log_comparison import GPU, compared, decided, hints, pod_of

LARGE = "pack:10 [numa(memory=8GiB)] core:2 pu:1"
TEN = {"topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "10"}}


def large_log(change: Mapping[int, bool | None]) -> str:
    """Every set of 2 or more nodes, those of 2 preferred, with some of them changed."""
    said = {mask: mask.bit_count() == 2 for mask in range(1, 1 << 10) if mask.bit_count() > 1} | dict(change)
    listed = [f"{{{mask:b} {str(preferred).lower()}}}" for mask, preferred in said.items() if preferred is not None]
    return hints(f"map[cpu:[{' '.join(listed)}]]")


@pytest.mark.parametrize(
    ("change", "agrees"),
    [
        ({}, True),
        ({0b1: True}, False),  # one node is too few
        ({0b11: False}, False),  # the fewest nodes are preferred
        ({0b111: True}, False),  # and only they
        ({0b11: None}, False),  # the lowest set of the fewest nodes is missing
        ({1 << 10 | 1: True}, False),  # a node that is not there
    ],
)
def test_a_machine_of_many_nodes(change: Mapping[int, bool | None], agrees: bool) -> None:
    pod = pod_of()
    [found] = compared(large_log(change), pod, decided(pod, TEN, LARGE))
    assert found.agrees is agrees
    assert found.ours == (TopologyHint(mask_of([0, 1]), True),)


def test_a_kubelet_before_v1_36_has_hints_beyond_the_nodes_of_the_devices() -> None:
    """A device on each of 9 nodes of 10, 8 wanted: of the nodes 0 to 8 any 8 are preferred, and all 9 are enough."""
    pod = pod_of(gpus=8)
    trace = decided(pod, TEN, LARGE, {GPU: tuple(Device(f"d{node}", (node,)) for node in range(9))})
    nine = (1 << 9) - 1
    since = {nine: False} | {nine & ~(1 << node): True for node in range(9)}
    before = since | {mask | 1 << 9: False for mask in since}
    wrong = since | {1 << 9 | nine >> 2: False}  # seven of them and the one without a device
    for version, said, agrees in (("v1.36.0", since, True), ("v1.35.1", before, True), ("v1.35.1", wrong, False)):
        listed = " ".join(f"{{{mask:b} {str(preferred).lower()}}}" for mask, preferred in said.items())
        text = f'"Kubelet version" kubeletVersion="{version}"\n' + hints(f"map[{GPU}:[{listed}]]")
        [found] = compared(text, pod, trace)
        assert found.agrees is agrees
