"""The CPU manager: who gets CPUs of their own, what is shared, reused, given back and restored."""

from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction

import pytest

from numaproof.errors import UserError
from numaproof.harness.pods.pod import Container, Pod, PodResources
from numaproof.harness.providers.cpu import CpuManager, CpuTopology, parse_options, reserve
from numaproof.harness.topology.bitmask import mask_of
from numaproof.harness.topology.hints import Hints, TopologyHint
from numaproof.harness.topology.provider import AllocationError, SMTAlignmentError
from tests.harness.providers.cpu.machines import container, machine, pod

TWO_SOCKETS = machine(sockets=2, cores=4)  # node 0: CPUs 0-3 and 8-11, node 1: 4-7 and 12-15
ANYWHERE = TopologyHint(None, False)
_FOUR = {"cpu": Fraction(4), "memory": Fraction(2**32)}
AS_A_WHOLE = PodResources(_FOUR, _FOUR)


def static(topology: CpuTopology = TWO_SOCKETS, reserved: Collection[int] = (0, 8), **options: bool) -> CpuManager:
    return CpuManager(topology, "static", {name.replace("_", "-"): on for name, on in options.items()}, reserved)


def given(manager: CpuManager, one: Pod, name: str, affinity: TopologyHint = ANYWHERE) -> set[int]:
    """What a container gets; it must have got something."""
    wanted = next(each for each in one.all_containers() if each.name == name)
    manager.allocate(one, wanted, affinity)
    return set(manager.assignments[one.uid, name])


def masks(hints: Hints) -> dict[int, bool]:
    listed = hints["cpu"]
    assert isinstance(listed, list)
    return {hint.affinity: hint.preferred for hint in listed}


class TestWhoGetsCpus:
    @pytest.mark.parametrize(
        "shared",
        [
            pod("fraction", container("c", "1.5")),
            pod("burstable", Container("c", requests={"cpu": Fraction(2)}, limits={"cpu": Fraction(3)})),
            pod("besteffort", Container("c")),
            # Recorded: v1.36 leaves a Guaranteed pod with resources as a whole alone, its devices excepted.
            replace(pod("as-a-whole", container("c", 2)), resources=AS_A_WHOLE),
            replace(pod("as-an-empty-whole", container("c", 2)), resources=PodResources()),
        ],
        ids=lambda each: each.uid,
    )
    def test_others_share(self, shared: Pod) -> None:
        manager = static()
        assert manager.get_topology_hints(shared, shared.containers[0]) == {}
        assert manager.get_pod_topology_hints(shared) == {}
        manager.allocate(shared, shared.containers[0], ANYWHERE)
        assert manager.assignments == {}
        assert manager.shared_pool == frozenset(range(16))

    def test_a_guaranteed_pod_takes_its_cpus_from_the_shared_pool(self) -> None:
        manager = static()
        one = pod("one", container("c", 2))
        assert given(manager, one, "c") == {1, 9}
        assert manager.shared_pool == frozenset(range(16)) - {1, 9}
        assert manager.allocatable == frozenset(range(16)) - {0, 8}

    def test_less_than_a_thousandth_of_a_cpu_does_not_count(self) -> None:
        one = pod("one", container("c", "1.9999"))
        assert len(given(static(), one, "c")) == 2

    def test_policy_none_has_no_opinion_and_gives_nothing(self) -> None:
        manager = CpuManager(TWO_SOCKETS, "none", reserved={0})
        one = pod("one", container("c", 2))
        assert manager.get_topology_hints(one, one.containers[0]) == {}
        manager.allocate(one, one.containers[0], ANYWHERE)
        assert manager.assignments == {}
        assert manager.shared_pool == frozenset(range(16))
        assert manager.allocatable == frozenset()


class TestAffinity:
    def test_cpus_come_from_its_nodes_and_spill_over_where_those_end(self) -> None:
        node_1 = TopologyHint(mask_of([1]), True)
        assert given(static(), pod("one", container("c", 4)), "c", node_1) <= {4, 5, 6, 7, 12, 13, 14, 15}
        assert given(static(), pod("one", container("c", 10)), "c", node_1) == {4, 5, 6, 7, 12, 13, 14, 15, 1, 9}

    def test_align_by_socket_widens_it_to_whole_sockets(self) -> None:
        # Socket 0: node 0 with CPU 9 free, and node 1; socket 1 with CPUs 4 and 15 free.
        topology = machine(sockets=2, nodes=2, cores=2)
        node_0 = TopologyHint(mask_of([0]), True)
        plain, by_socket = static(topology, {0, 8, 1}), static(topology, {0, 8, 1}, align_by_socket=True)
        for manager in (plain, by_socket):
            manager.restore({("x", "c"): {5, 12, 13, 6, 7, 14}})
        assert given(plain, pod("one", container("c", 2)), "c", node_0) == {9, 4}
        assert given(by_socket, pod("one", container("c", 2)), "c", node_0) == {2, 10}

    def test_a_request_that_does_not_fit_changes_nothing(self) -> None:
        manager = static()
        with pytest.raises(AllocationError, match="requested=15, available=14") as caught:
            given(manager, pod("one", container("c", 15)), "c")
        assert caught.value.reason == "UnexpectedAdmissionError"
        assert manager.assignments == {}
        assert manager.shared_pool == frozenset(range(16))


class TestStrategies:
    """Each option reaches the picking; how it picks is tested there."""

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({}, {1, 2, 3, 9, 10, 11, 4, 12}),
            ({"distribute-cpus-across-numa": True}, {1, 2, 9, 10, 4, 5, 12, 13}),
            ({"distribute-cpus-across-cores": True}, {1, 2, 3, 9, 10, 11, 4, 5}),
        ],
    )
    def test_eight_cpus_that_fit_on_no_node(self, options: dict[str, bool], expected: set[int]) -> None:
        manager = CpuManager(TWO_SOCKETS, "static", options, {0, 8, 7})
        assert given(manager, pod("one", container("c", 8)), "c") == expected

    def test_whole_cores_are_distributed_whole(self) -> None:
        options = {"distribute-cpus-across-numa": True}
        loose = CpuManager(TWO_SOCKETS, "static", options, {0, 8})
        whole = CpuManager(TWO_SOCKETS, "static", options | {"full-pcpus-only": True}, {0, 8})
        assert given(loose, pod("one", container("c", 10)), "c") == {1, 2, 3, 9, 10, 4, 5, 6, 12, 13}
        assert given(whole, pod("one", container("c", 10)), "c") == {1, 2, 9, 10, 4, 5, 6, 12, 13, 14}

    def test_caches_are_preferred(self) -> None:
        topology = machine(sockets=1, caches=2, cores=2)  # caches: 0 1 4 5 and 2 3 6 7
        manager = static(topology, {0, 4}, prefer_align_cpus_by_uncorecache=True)
        assert given(manager, pod("one", container("c", 4)), "c") == {2, 3, 6, 7}


class TestWholeCores:
    def test_a_broken_core_is_refused(self) -> None:
        manager = static(full_pcpus_only=True)
        text = "^SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2$"
        with pytest.raises(SMTAlignmentError, match=text) as caught:
            given(manager, pod("one", container("c", 3)), "c")
        assert caught.value.reason == "SMTAlignmentError"

    def test_siblings_of_reserved_cpus_do_not_count(self) -> None:
        manager = static(reserved={0}, full_pcpus_only=True)
        text = (
            "^SMT Alignment Error: not enough free physical CPUs: "
            "available physical CPUs = 14, requested CPUs = 16, CPUs per core = 2$"
        )
        with pytest.raises(SMTAlignmentError, match=text):
            given(manager, pod("one", container("c", 16)), "c")
        assert len(given(manager, pod("one", container("c", 14)), "c")) == 14


class TestReuse:
    def test_cpus_of_init_containers_are_used_again_until_a_container_that_stays_has_them(self) -> None:
        manager = static()
        one = pod("one", container("a", 4), container("b", 4), init=(container("first", 6), container("second", 2)))
        assert given(manager, one, "first") == {1, 2, 3, 9, 10, 11}
        assert given(manager, one, "second") == {1, 9}
        assert given(manager, one, "a") == {1, 2, 9, 10}
        assert given(manager, one, "b") == {3, 11, 4, 12}
        assert manager.shared_pool == {0, 8, 5, 6, 7, 13, 14, 15}

    def test_a_sidecar_keeps_its_cpus(self) -> None:
        manager = static()
        one = pod("one", container("c", 2), init=(container("side", 2, restartable=True), container("init", 2)))
        side, init, c = (given(manager, one, name) for name in ("side", "init", "c"))
        assert not side & (init | c)
        assert init == c

    def test_hints_must_cover_the_reusable_cpus(self) -> None:
        manager = static()
        one = pod("one", container("c", 2), init=(container("init", 2),))
        given(manager, one, "init", TopologyHint(mask_of([1]), True))
        assert masks(manager.get_topology_hints(one, one.containers[0])) == {0b10: True, 0b11: False}

    def test_another_pod_ends_it(self) -> None:
        manager = static()
        one = pod("one", container("c", 2), init=(container("init", 2),))
        init = given(manager, one, "init")
        given(manager, pod("two", container("c", 2)), "c")
        assert not given(manager, one, "c") & init

    def test_a_container_that_has_its_cpus_is_left_alone_and_reuse_is_learnt_again(self) -> None:
        manager = static()
        one = pod("one", container("c", 2), init=(container("init", 2),))
        manager.restore({("one", "init"): {4, 12}})
        assert given(manager, one, "init") == {4, 12}
        assert given(manager, one, "c", TopologyHint(mask_of([1]), True)) == {4, 12}


class TestHints:
    def test_of_a_container_with_cpus_they_are_where_those_are(self) -> None:
        manager = static()
        manager.restore({("one", "c"): {5, 13}})
        one = pod("one", container("c", 2))
        assert masks(manager.get_topology_hints(one, one.containers[0])) == {0b10: True, 0b11: False}
        assert masks(manager.get_pod_topology_hints(one)) == {0b10: True, 0b11: False}

    def test_of_a_container_with_another_number_of_cpus_there_are_none(self) -> None:
        manager = static()
        manager.restore({("one", "c"): {5, 13, 6}})
        one = pod("one", container("c", 2))
        assert manager.get_topology_hints(one, one.containers[0]) == {"cpu": []}
        assert manager.get_pod_topology_hints(one) == {"cpu": []}

    def test_of_a_pod_count_what_runs_at_the_same_time(self) -> None:
        manager = static()
        # 5 + 4 (sidecar beside the second init container), more than 4 + 3: too much for a node of 8.
        inits = (container("one", 7), container("side", 4, restartable=True), container("two", 5))
        assert masks(manager.get_pod_topology_hints(pod("one", container("c", 3), init=inits))) == {0b11: True}
        assert masks(manager.get_pod_topology_hints(pod("one", container("c", 3), init=inits[:2]))) == {
            0b10: True,
            0b11: False,
        }

    def test_of_a_pod_that_has_part_of_its_cpus_cover_that_part(self) -> None:
        manager = static()
        manager.restore({("one", "a"): {5, 13}})
        assert masks(manager.get_pod_topology_hints(pod("one", container("a", 2), container("b", 2)))) == {
            0b10: True,
            0b11: False,
        }


class TestGivingBack:
    def test_removal_returns_all_cpus_of_the_pod(self) -> None:
        manager = static()
        one = pod("one", container("a", 2), container("b", 2), init=(container("init", 4),))
        for each in one.all_containers():
            manager.allocate(one, each, ANYWHERE)
        other = given(manager, pod("two", container("c", 2)), "c")
        manager.remove("one")
        manager.remove("unknown")
        assert set(manager.assignments) == {("two", "c")}
        assert manager.shared_pool == frozenset(range(16)) - other

    def test_pods_that_are_not_active_any_more_are_collected_at_every_question(self) -> None:
        active = {"one", "two"}
        manager = CpuManager(TWO_SOCKETS, "static", reserved={0, 8}, active=lambda: active)
        one, two = pod("one", container("c", 14)), pod("two", container("c", 14))
        given(manager, one, "c")
        assert manager.get_topology_hints(two, two.containers[0]) == {"cpu": []}
        active.remove("one")
        assert masks(manager.get_topology_hints(two, two.containers[0])) == {0b11: True}
        assert manager.assignments == {}
        assert len(given(manager, two, "c")) == 14


class TestReservation:
    def test_strictly_reserved_cpus_are_not_shared_either(self) -> None:
        manager = static(strict_cpu_reservation=True)
        assert manager.shared_pool == frozenset(range(16)) - {0, 8}
        one = pod("one", container("c", 14))
        assert given(manager, one, "c") == set(range(16)) - {0, 8}
        assert manager.shared_pool == frozenset()

    def test_a_number_is_reserved_from_the_lowest_cores(self) -> None:
        assert reserve(TWO_SOCKETS, parse_options({}), 3) == {0, 8, 1}
        assert reserve(TWO_SOCKETS, parse_options({"distribute-cpus-across-cores": True}), 3) == {0, 1, 2}
        with pytest.raises(UserError, match="17 of 16"):
            reserve(TWO_SOCKETS, parse_options({}), 17)

    @pytest.mark.parametrize(
        ("policy", "options", "reserved", "text"),
        [
            ("static", {}, set(), "greater than zero"),
            ("static", {}, {0, 99}, "unknown CPU ID: 99 .this machine has 0-15"),
            ("static", {}, {-1}, "unknown CPU ID: -1"),
            ("dynamic", {}, {0}, 'unknown CPU Manager policy: "dynamic"'),
            ("none", {"full-pcpus-only": True}, {0}, "None policy: received unsupported options"),
        ],
    )
    def test_bad_configurations_are_refused(
        self, policy: str, options: dict[str, bool], reserved: set[int], text: str
    ) -> None:
        with pytest.raises(UserError, match=text):
            CpuManager(TWO_SOCKETS, policy, options, reserved)

    def test_align_by_socket_is_refused_with_single_numa_node(self) -> None:
        with pytest.raises(UserError, match="single-numa-node"):
            CpuManager(TWO_SOCKETS, "static", {"align-by-socket": True}, {0}, topology_policy="single-numa-node")


class TestSavedState:
    def test_what_was_saved_is_taken_over(self) -> None:
        before = static()
        given(before, pod("one", container("c", 2)), "c")
        after = static()
        after.restore(before.assignments, before.shared_pool)
        assert after.assignments == before.assignments
        assert after.shared_pool == before.shared_pool

    def test_an_empty_state_is_a_new_one(self) -> None:
        manager = static()
        manager.restore({}, frozenset())
        assert manager.shared_pool == frozenset(range(16))

    @pytest.mark.parametrize(
        ("assigned", "shared", "strict", "text"),
        [
            ({1, 9}, set(), False, "default cpuset cannot be empty"),
            (
                {0, 8},
                set(range(16)) - {0, 8},
                False,
                "not all reserved cpus: 0,8 are present in defaultCpuSet: 1-7,9-15",
            ),
            ({1}, set(range(16)) - {1}, True, "some of strictly reserved cpus: 0,8 are present"),
            ({1, 2}, set(range(16)) - {1}, False, "pod: one, container: c cpuset: 1-2 overlaps"),
            ({1, 2}, set(range(15)) - {1, 2}, False, "available CPUs 0-15 doesn't match with CPUs in state 0-14"),
            ({16}, set(range(16)), False, "available CPUs 0-15 doesn't match with CPU 16 in state"),
        ],
    )
    def test_what_does_not_fit_is_refused_and_changes_nothing(
        self, assigned: set[int], shared: set[int], strict: bool, text: str
    ) -> None:
        manager = static(strict_cpu_reservation=strict)
        before = manager.shared_pool
        with pytest.raises(UserError, match=text):
            manager.restore({("one", "c"): assigned}, shared)
        assert manager.assignments == {}
        assert manager.shared_pool == before
