"""What a drawing shows of an explanation."""

from numaproof.harness.drawing.scene import DeviceMark, Holding, Wish
from numaproof.harness.report.explain_scene import scene_of
from tests.harness.report.explained import GPU, MACHINE, explained, pod

GIB = 1 << 30


def test_who_holds_what_and_what_is_reserved() -> None:
    scene = scene_of(explained(pod("asked", 2), pod("a", 3, "2Gi", gpu=1)), MACHINE)
    # CPU 0 is reserved, so that 1-3 are the first; then two of the five that are left there.
    assert scene.holdings == (
        Holding("default/a", frozenset((1, 2, 3)), {0: 2 * GIB}, frozenset(("g0",))),
        Holding("default/asked (asked about)", frozenset((4, 5)), {0: GIB}, frozenset()),
    )
    assert scene.reserved_cpus == {0}
    assert scene.reserved_memory == {0: GIB}
    assert scene.wish is None
    assert scene.devices == (
        DeviceMark(GPU, "g0", (0,)),
        DeviceMark(GPU, "g1", (0,)),
        DeviceMark(GPU, "g2", (1,), healthy=False),
    )


def test_memory_of_a_group_of_nodes_is_shared_out() -> None:
    """10 GiB are more than either node has; of which node a byte is nobody knows."""
    scene = scene_of(explained(pod("asked", 1), pod("a", 10, "10Gi"), topologyManagerPolicy="restricted"), MACHINE)
    assert scene.holdings[0].memory == {0: 5 * GIB, 1: 5 * GIB}


def test_a_node_whose_cpus_nobody_manages_has_none_reserved() -> None:
    scene = scene_of(explained(pod("asked", 2), cpuManagerPolicy="none", memoryManagerPolicy="None"), MACHINE)
    assert scene.reserved_cpus == frozenset()


def test_a_refused_pod_is_shown_where_least_is_missing() -> None:
    found = explained(pod("asked", 6, gpu=2), pod("a", 5))
    assert scene_of(found, MACHINE).wish == Wish(
        "default/asked", (0,), f"wants 6 CPUs (2 free); 1 GiB of memory and 2 {GPU} would be there"
    )
    assert scene_of(found, MACHINE).holdings[-1].label == "default/a"


def test_memory_that_is_missing_can_be_compared() -> None:
    found = explained(pod("asked", 2, "8193Mi"))
    wants = "wants 8193 MiB of memory (8192 MiB free); 2 CPUs would be there"
    assert scene_of(found, MACHINE).wish == Wish("default/asked", (1,), wants)


def test_several_that_are_missing_and_whole_machines() -> None:
    told = scene_of(explained(pod("asked", 8, "7Gi", gpu=2), pod("a", 3, "1Gi", gpu=1)), MACHINE).wish
    # Node 0 has 4 of 8 CPUs, 6 of 7 GiB and one of two GPUs: 1/2 + 1/7 + 1/2; node 1 no GPU, and all the rest.
    assert told == Wish("default/asked", (1,), f"wants 2 {GPU} (0 free); 8 CPUs and 7 GiB of memory would be there")
    whole = scene_of(explained(pod("asked", 4, gpu=3), topologyManagerPolicy="none"), MACHINE).wish
    assert whole == Wish("default/asked", (), f"wants 3 {GPU} (2 free) on the whole machine")


def test_what_no_numa_node_has_a_part_in_is_told_as_the_kubelet_tells_it() -> None:
    """15 of 16 CPUs are allocatable; a part of a CPU comes from those that all share, of whatever NUMA node."""
    wish = scene_of(explained(pod("asked", "14500m"), pod("a", 1)), MACHINE).wish
    assert wish is not None
    assert wish.nodes == ()
    assert wish.text == "Node didn't have enough resource: cpu, requested: 14500, used: 1000, capacity: 15000"
