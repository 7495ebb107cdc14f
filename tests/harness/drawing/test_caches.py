"""Caches by NUMA node."""

from dataclasses import replace

from numaproof.fake_sysfs.catalogue import preset
from numaproof.fake_sysfs.machine import Cache, SideCache
from numaproof.harness.drawing.caches import caches_told
from tests.harness.drawing.scenes import plain_machine


def test_nodes_that_are_alike_share_a_line() -> None:
    # An EPYC 7742: 64 cores, 16 MiB of L3 for every 4 of them, 512 KiB of L2 and 2 x 32 KiB of L1 each.
    assert caches_told(preset("epyc-7742-nps4")) == [
        "caches of NUMA nodes 0-7, each: L3 4 x 16 MiB; L2 16 x 512 KiB; L1d 16 x 32 KiB; L1i 16 x 32 KiB"
    ]


def test_sizes_that_differ_and_caches_that_nodes_share() -> None:
    caches = [Cache(1, "Data", (32 if cpu < 3 else 48) << 10, (cpu,), cpu) for cpu in range(4)]
    machine = replace(plain_machine(), caches=(*caches, Cache(3, "Unified", 8 << 20, (0, 1, 2, 3), 0)))
    assert caches_told(machine) == [
        "caches of NUMA node 0: L3 8 MiB of NUMA nodes 0-1; L1d 2 x 32 KiB",
        "caches of NUMA node 1: L3 8 MiB of NUMA nodes 0-1; L1d 32 KiB, 48 KiB",
    ]


def test_caches_in_front_of_memory_and_none_at_all() -> None:
    machine = plain_machine()
    assert caches_told(machine) == []
    nodes = (machine.nodes[0], replace(machine.nodes[1], side_caches=(SideCache(1, 16 << 30),)))
    assert caches_told(replace(machine, nodes=nodes)) == ["caches of NUMA node 1: in front of its memory 16 GiB"]
