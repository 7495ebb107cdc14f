"""Which devices a container gets, what its plugin is asked, and what happens to its devices later."""

from fractions import Fraction

import pytest

from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.providers.devices import DeviceManager
from numaproof.harness.topology.hints import TopologyHint
from numaproof.harness.topology.provider import AllocationError
from tests.harness.providers.devices.asking import GPU, NOWHERE, Plugin, asks, flags, gpus, held, on, pod_of

FOUR = gpus((0,), (0,), (1,), (1,))
NIC = "example.com/nic"


def highest(available: list[str], must_include: list[str], size: int) -> list[str]:
    others = sorted(set(available) - set(must_include), reverse=True)
    return [*must_include, *others][:size]


def call(available: str, must_include: str, size: int) -> dict[str, object]:
    return {
        "call": "singular",
        "available": available.split(),
        "must_include": must_include.split(),
        "size": size,
    }


@pytest.mark.parametrize(
    ("request_", "affinity", "taken", "calls"),
    [
        (1, on(0), {"g1"}, [call("g0 g1", "", 1)]),
        (2, on(0), {"g0", "g1"}, []),
        (3, on(0), {"g0", "g1", "g3"}, [call("g0 g1 g2 g3", "g0 g1", 3)]),
        (2, NOWHERE, {"g2", "g3"}, [call("g0 g1 g2 g3", "", 2)]),
        (2, on(5), {"g2", "g3"}, [call("g0 g1 g2 g3", "", 2)]),
    ],
    ids=["fewer than aligned", "all aligned", "more than aligned", "no affinity", "nothing aligned"],
)
def test_the_plugin_is_asked_only_where_it_has_a_choice(
    request_: int, affinity: TopologyHint, taken: set[str], calls: list[dict[str, object]]
) -> None:
    plugin = Plugin(singular=highest)
    manager = DeviceManager(range(2), plugin)
    manager.update(GPU, FOUR)
    pod = pod_of(asks("c", request_))
    manager.allocate(pod, pod.containers[0], affinity)
    assert held(manager) == taken
    assert plugin.calls == calls


def test_the_plugins_answer_is_completed_from_near_to_far() -> None:
    manager = DeviceManager(range(2), Plugin(singular=lambda available, must_include, size: ["g9", "g3"]))
    manager.update(GPU, gpus((0,), (1,), None, (1,), (1,)))
    pod = pod_of(asks("c", 4))
    manager.allocate(pod, pod.containers[0], on(0))
    assert held(manager) == {"g0", "g1", "g3", "g4"}, "aligned, then the plugin's, then others with a place"


def test_a_device_of_an_unknown_node_is_on_none_and_one_of_a_foreign_node_on_another() -> None:
    manager = DeviceManager(range(2))
    manager.update(GPU, gpus((-1,), (1,), (70,), (0,)))
    pod = pod_of(asks("c", 3))
    manager.allocate(pod, pod.containers[0], on(0))
    assert held(manager) == {"g1", "g2", "g3"}


def test_reused_devices_come_first_and_are_what_the_plugin_must_include() -> None:
    plugin = Plugin(singular=highest)
    manager = DeviceManager(range(2), plugin)
    manager.update(GPU, FOUR)
    pod = pod_of(asks("c", 2), init=(asks("init", 1),))
    manager.allocate(pod, pod.init_containers[0], on(1))
    manager.allocate(pod, pod.containers[0], NOWHERE)
    assert held(manager, "init") == {"g3"}
    assert held(manager) == {"g2", "g3"}
    assert plugin.calls[-1] == call("g0 g1 g2 g3", "g3", 2)


def test_an_app_container_uses_up_what_it_reuses_and_a_sidecar_keeps_its_own() -> None:
    manager = DeviceManager(range(2))
    manager.update(GPU, FOUR)
    init = (asks("init", 2), asks("sidecar", 1, restartable=True))
    pod = pod_of(asks("a", 1), asks("b", 1), init=init)
    for container in pod.all_containers():
        manager.allocate(pod, container, NOWHERE)
    assert held(manager, "init") == {"g0", "g1"}
    assert held(manager, "sidecar") == {"g0"}, "a sidecar takes over from init containers before it"
    assert held(manager, "a") == {"g1"}, "but nobody takes over from a sidecar"
    assert held(manager, "b") == {"g2"}


def test_reuse_ends_with_the_pod() -> None:
    manager = DeviceManager(range(2))
    manager.update(GPU, FOUR)
    first = pod_of(asks("c", 1), init=(asks("init", 1),), uid="first")
    manager.allocate(first, first.init_containers[0], NOWHERE)
    second = pod_of(asks("c", 1), uid="second")
    everywhere = {0b01: True, 0b10: True, 0b11: False}
    assert flags(manager.get_topology_hints(first, first.containers[0])[GPU]) == {0b01: True, 0b11: False}
    assert flags(manager.get_topology_hints(second, second.containers[0])[GPU]) == everywhere
    manager.allocate(second, second.containers[0], NOWHERE)
    assert held(manager, "c", "second") == {"g1"}
    manager.allocate(first, first.containers[0], NOWHERE)
    assert held(manager, "c", "first") == {"g2"}, "only the pod allocated last is remembered"


def refusal(manager: DeviceManager, request: int) -> str:
    pod = pod_of(asks("c", request))
    with pytest.raises(AllocationError) as error:
        manager.allocate(pod, pod.containers[0], NOWHERE)
    assert error.value.reason == "UnexpectedAdmissionError"
    return str(error.value)


def test_refusals_speak_the_kubelets_language() -> None:
    manager = DeviceManager(range(2))
    manager.update(GPU, gpus((0,), (1,), ill=[1]))
    assert refusal(manager, 2) == f"requested number of devices unavailable for {GPU}. Requested: 2, Available: 1"
    assert manager.assignments == {}
    manager.update(GPU, gpus((0,), ill=[0]))
    assert refusal(manager, 1) == f"no healthy devices present; cannot allocate unhealthy devices {GPU}"
    assert refusal(manager, 0) == f"no healthy devices present; cannot allocate unhealthy devices {GPU}"
    manager.update(GPU, gpus((0,), (0,)))
    pod = pod_of(asks("c", 1))
    manager.allocate(pod, pod.containers[0], NOWHERE)
    assert refusal(manager, 2) == f'pod "p" container "c" changed request for resource "{GPU}" from 1 to 2'
    manager.update(GPU, gpus((0,), (0,), ill=[0]))
    assert refusal(manager, 1) == (
        f"previously allocated devices are no longer healthy; cannot allocate unhealthy devices {GPU}"
    )
    assert held(manager) == {"g0"}


def test_allocating_again_changes_nothing() -> None:
    told: list[frozenset[str]] = []
    manager = DeviceManager(range(2), allocated=lambda pod, container, resource, ids: told.append(ids))
    manager.update(GPU, FOUR)
    pod = pod_of(asks("c", 1))
    for _ in range(2):
        manager.allocate(pod, pod.containers[0], on(1))
    assert held(manager) == {"g2"}
    assert told == [frozenset({"g2"})]


def test_a_plugin_that_refuses_leaves_no_trace_of_its_devices() -> None:
    def refuse(pod: Pod, container: Container, resource: str, ids: frozenset[str]) -> None:
        if resource == NIC:
            raise AllocationError("rpc error: code = Unknown desc = no")

    manager = DeviceManager(range(2), allocated=refuse)
    manager.update(GPU, FOUR)
    manager.update(NIC, gpus((0,)))
    both = {GPU: Fraction(1), NIC: Fraction(1)}
    pod = pod_of(Container("c", both, both))
    with pytest.raises(AllocationError, match="code = Unknown"):
        manager.allocate(pod, pod.containers[0], NOWHERE)
    assert manager.assignments == {("p", "c"): {GPU: frozenset({"g0"})}}
    manager.remove("p")
    assert manager.assignments == {}


def test_devices_of_pods_that_are_gone_are_collected_when_the_next_one_asks() -> None:
    active = {"old", "new"}
    manager = DeviceManager(range(2), active=lambda: active)
    manager.update(GPU, gpus((0,)))
    old, new = pod_of(asks("c", 1), uid="old"), pod_of(asks("c", 1), uid="new")
    manager.allocate(old, old.containers[0], NOWHERE)
    with pytest.raises(AllocationError, match="Requested: 1, Available: 0"):
        manager.allocate(new, new.containers[0], NOWHERE)
    active.remove("old")
    assert flags(manager.get_topology_hints(new, new.containers[0])[GPU]) == {0b1: True}
    manager.allocate(new, new.containers[0], NOWHERE)
    assert set(manager.assignments) == {("new", "c")}


def test_after_a_restart_existing_pods_keep_their_devices_and_new_ones_wait_for_the_plugin() -> None:
    manager = DeviceManager(range(2))
    saved = {("old", "c"): {GPU: frozenset({"g0"}), NIC: frozenset({"n0"})}}
    manager.restore(saved, registered=[GPU])
    assert manager.healthy() == {GPU: frozenset()}
    new = pod_of(asks("c", 1))
    assert manager.get_topology_hints(new, new.containers[0]) == {GPU: None}
    assert refusal(manager, 1) == f"no healthy devices present; cannot allocate unhealthy devices {GPU}"
    nic = {NIC: Fraction(1)}
    with pytest.raises(AllocationError, match=f"^cannot allocate unregistered device {NIC}$"):
        manager.allocate(new, Container("c", nic, nic), NOWHERE)
    assert manager.assignments == saved
    manager.update(GPU, FOUR)
    manager.allocate(new, new.containers[0], on(0))
    assert held(manager) == {"g1"}


def test_a_plugin_that_is_gone_for_good_leaves_its_assignments() -> None:
    manager = DeviceManager(range(2))
    manager.update(GPU, FOUR)
    old = pod_of(asks("c", 1), uid="old")
    manager.allocate(old, old.containers[0], NOWHERE)
    manager.forget(GPU)
    assert manager.healthy() == {}
    new = pod_of(asks("c", 1))
    assert manager.get_topology_hints(new, new.containers[0]) == {GPU: []}
    assert refusal(manager, 1) == f"cannot allocate unregistered device {GPU}"
    manager.remove("old")
    assert not manager.manages(GPU)
    manager.allocate(new, new.containers[0], NOWHERE)
    assert manager.assignments == {}, "a resource of nobody is not this manager's business"
