"""Device hints: the traps one by one, and all of them at once against a naive twin."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numaproof.harness.providers.devices import Device, DeviceManager
from numaproof.harness.providers.devices.hints import affinities, device_family
from numaproof.harness.providers.devices.inventory import inventory_of
from numaproof.harness.topology.bitmask import NodeMask, mask_of, masks_over
from numaproof.harness.topology.hints import HintFamily
from tests.harness.providers.devices.asking import GPU, NOWHERE, asks, flags, gpus, held, on, pod_of

MANY = settings(max_examples=200)


def hints_for(manager: DeviceManager, request: int) -> dict[NodeMask, bool]:
    pod = pod_of(asks("c", request))
    return flags(manager.get_topology_hints(pod, pod.containers[0])[GPU])


def with_devices(devices: list[Device], nodes: int = 2) -> DeviceManager:
    manager = DeviceManager(range(nodes))
    manager.update(GPU, devices)
    return manager


def test_the_smallest_masks_are_preferred() -> None:
    assert hints_for(with_devices(gpus((0,), (0,), (1,), (1,))), 2) == {0b01: True, 0b10: True, 0b11: False}
    assert hints_for(with_devices(gpus((0,), (0,), (1,), (1,))), 3) == {0b11: True}


def test_preferred_is_measured_with_all_devices_free_and_healthy() -> None:
    manager = with_devices(gpus((0,), (0,), (1,), (1,), ill=[0, 2]))
    assert hints_for(manager, 2) == {0b11: False}, "one node would do, were its devices healthy"


def test_too_few_devices_are_impossible_and_a_resource_without_topology_has_no_preference() -> None:
    assert hints_for(with_devices(gpus((0,), (1,), ill=[1])), 2) == {}
    pod = pod_of(asks("c", 1))
    assert with_devices(gpus(None, ())).get_topology_hints(pod, pod.containers[0]) == {GPU: None}


def test_resources_of_nobody_are_not_the_device_managers() -> None:
    pod = pod_of(asks("c", 1))
    assert DeviceManager([0]).get_topology_hints(pod, pod.containers[0]) == {}
    assert DeviceManager([0]).get_pod_topology_hints(pod) == {}


def test_a_device_without_numa_satisfies_no_mask_beside_one_that_has() -> None:
    assert hints_for(with_devices(gpus((0,), None)), 2) == {}


def test_only_nodes_with_devices_are_enumerated_and_unknown_nodes_dropped() -> None:
    assert hints_for(with_devices(gpus((2,), (40,), (-1,)), nodes=4), 1) == {0b100: True}
    assert hints_for(with_devices(gpus((40,)), nodes=2), 1) == {}


def test_a_device_of_two_nodes_is_on_either() -> None:
    assert hints_for(with_devices(gpus((0, 1), (1,))), 2) == {0b10: True, 0b11: False}


@pytest.mark.parametrize(("numa", "expected"), [(None, {0b01: True, 0b10: True, 0b11: False}), ((), {})])
def test_a_reusable_device_of_no_node_kills_every_hint_but_one_without_topology_is_skipped(
    numa: tuple[int, ...] | None, expected: dict[NodeMask, bool]
) -> None:
    manager = with_devices(gpus(numa, (0,), (1,)))
    pod = pod_of(asks("c", 1), init=(asks("init", 1),))
    manager.restore({("p", "init"): {GPU: frozenset({"g0"})}})
    manager.allocate(pod, pod.init_containers[0], NOWHERE)
    assert flags(manager.get_topology_hints(pod, pod.containers[0])[GPU]) == expected


def test_masks_must_touch_every_reusable_device_even_if_it_is_not_needed() -> None:
    manager = with_devices(gpus((0,), (0,), (1,), (1,)))
    pod = pod_of(asks("c", 1), init=(asks("init", 1),))
    manager.allocate(pod, pod.init_containers[0], on(1))
    assert held(manager, "init") == {"g2"}
    assert flags(manager.get_topology_hints(pod, pod.containers[0])[GPU]) == {0b10: True, 0b11: False}


def test_pod_hints_count_sidecars_twice_where_they_run_beside_both_and_ignore_reuse() -> None:
    manager = with_devices(gpus(*[(0,)] * 4, *[(1,)] * 4))
    # first init: 1; the sidecar stays: 1; then init 2 beside it, then apps 1 + 1 beside it: 3 at any one time.
    init = (asks("init", 1), asks("sidecar", 1, restartable=True), asks("late", 2))
    pod = pod_of(asks("a", 1), asks("b", 1), init=init)
    assert flags(manager.get_pod_topology_hints(pod)[GPU]) == {0b01: True, 0b10: True, 0b11: False}
    manager.update(GPU, gpus(*[(0,)] * 2, *[(1,)] * 3))
    assert flags(manager.get_pod_topology_hints(pod)[GPU]) == {0b10: True, 0b11: False}


def test_what_a_container_holds_already_is_hinted_again() -> None:
    manager = with_devices(gpus((0,), (0,), (1,), (1,)))
    pod = pod_of(asks("c", 2))
    manager.allocate(pod, pod.containers[0], on(1))
    again = {0b10: True, 0b11: False}
    assert flags(manager.get_topology_hints(pod, pod.containers[0])[GPU]) == again
    assert flags(manager.get_pod_topology_hints(pod)[GPU]) == again
    changed = pod_of(asks("c", 3))
    assert manager.get_topology_hints(changed, changed.containers[0]) == {GPU: []}
    assert manager.get_pod_topology_hints(changed) == {GPU: []}


def twin(
    devices: list[Device], machine: list[int], available: set[str], reusable: set[str], request: int
) -> list[tuple[NodeMask, bool]]:
    """The kubelet's enumeration, as its documents tell it: every mask, every device, counted anew."""
    hosts = sorted({node for device in devices for node in device.numa or ()} & set(machine)) or machine
    smallest, masks = len(hosts), []
    for mask in masks_over(hosts):
        touched = {device.id for device in devices if any(mask >> node & 1 for node in device.numa or () if node >= 0)}
        if len(touched) >= request:
            smallest = min(smallest, mask.bit_count())
        inherited = {device.id for device in devices if device.id in reusable and device.numa is not None}
        if inherited <= touched and len(inherited) + len(available & touched) >= request:
            masks.append(mask)
    return [(mask, mask.bit_count() == smallest) for mask in masks]


@st.composite
def situations(draw: st.DrawFn, most_nodes: int) -> tuple[list[Device], list[int], set[str], set[str], int]:
    machine = sorted(draw(st.sets(st.integers(0, 12), min_size=1, max_size=most_nodes)))
    place = st.none() | st.lists(st.sampled_from([*machine, 40]), max_size=3, unique=True).map(tuple)
    numa = draw(st.lists(place, min_size=1, max_size=10))
    devices = [Device(f"d{index}", nodes) for index, nodes in enumerate(numa)]
    ids = sorted(device.id for device in devices)
    reusable = draw(st.sets(st.sampled_from(ids), max_size=2))
    available = draw(st.sets(st.sampled_from(ids))) - reusable
    return devices, machine, available, reusable, draw(st.integers(0, 6))


@MANY
@given(situations(5))
def test_the_rule_means_what_the_enumeration_finds(
    situation: tuple[list[Device], list[int], set[str], set[str], int],
) -> None:
    devices, machine, available, reusable, request = situation
    family = device_family(inventory_of(devices), machine, available, reusable, request)
    found = [tuple(hint) for hint in family.hints()] if family else []
    assert found == twin(*situation)


def test_over_many_nodes_the_answer_is_the_rule_itself() -> None:
    devices = gpus(*((node,) for node in range(9) for _ in range(2)))
    manager = with_devices(devices, nodes=9)
    pod = pod_of(asks("c", 4))
    hints = manager.get_topology_hints(pod, pod.containers[0])[GPU]
    assert isinstance(hints, HintFamily)
    ids = {device.id for device in devices}
    assert [tuple(hint) for hint in hints.hints()] == twin(devices, list(range(9)), ids, set(), 4)


@pytest.mark.parametrize(
    ("numa", "expected"),
    [
        ([(0,), (1,), (1,)], {(0, 1)}),
        ([(0, 1), (1, 2)], {(1,)}),
        ([(0, 1), (0, 1)], {(0,), (1,)}),
        ([(0,), (1, 2), None], {(0, 1), (0, 2)}),
        ([None, ()], set()),
    ],
)
def test_the_affinity_of_an_allocation_is_the_narrowest_that_touches_every_device(
    numa: list[tuple[int, ...] | None], expected: set[tuple[int, ...]]
) -> None:
    devices = gpus(*numa)
    found = affinities(inventory_of(devices), [device.id for device in devices])
    assert found == {mask_of(nodes) for nodes in expected}
