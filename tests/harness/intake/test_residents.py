"""The pods that state files tell of, and the devices."""

from fractions import Fraction
from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.fake_sysfs import parse_machine
from numaproof.harness.decision.discovery import describe
from numaproof.harness.explain.replica import Resident
from numaproof.harness.intake.residents import devices_told, residents_of
from numaproof.harness.intake.state import KubeletState
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.pod import Pod
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory.state import Block

SMALL = describe(parse_machine("pack:2 [numa(memory=8GiB)] core:4 pu:1"))  # CPUs 0-3 and 4-7
GPU, NIC = "example.com/gpu", "example.com/nic"
GIB = 1 << 30


def pod(name: str, uid: str, *containers: str) -> Pod:
    limits = {"cpu": "1", "memory": "1Gi"}
    made: list[dict[str, Any]] = [{"name": one, "resources": {"limits": limits}} for one in containers]
    return pod_from({"kind": "Pod", "metadata": {"name": name, "uid": uid}, "spec": {"containers": made}})


def residents(state: KubeletState, *manifests: Pod) -> tuple[Resident, ...]:
    return residents_of(state, SMALL, manifests)


def test_a_pod_without_a_manifest_asks_for_what_it_holds() -> None:
    state = KubeletState(
        cpus={("uid", "app"): frozenset((1, 2))},
        memory={("uid", "app"): (Block((0,), "memory", GIB), Block((1,), "memory", GIB))},
        devices={("uid", "log"): {GPU: (Device("a", None), Device("b", (1,)))}},
    )
    (one,) = residents(state)
    assert (one.pod.uid, one.pod.name, one.pod.namespace, one.name) == ("uid", "uid", "default", "default/uid")
    requests = {container.name: container.requests for container in one.pod.containers}
    assert requests == {"app": {"cpu": Fraction(2), "memory": Fraction(2 * GIB)}, "log": {GPU: Fraction(2)}}
    assert one.given["app"].cpus == {1, 2}
    assert one.given["log"].devices[GPU] == (Device("a", None), Device("b", (1,)))


def test_a_manifest_is_found_by_its_uid_or_name() -> None:
    cpus = {("uid-1", "app"): frozenset((1,)), ("default/two", "app"): frozenset((2,))}
    state = KubeletState(cpus=cpus, pod_names={"default/two": "default/two"})
    first, second = residents(state, pod("two", "uid-2", "app"), pod("one", "uid-1", "app"))
    assert (first.name, first.pod.uid, first.given["app"].cpus) == ("default/one", "uid-1", frozenset((1,)))
    assert (second.name, second.pod.uid, second.given["app"].cpus) == ("default/two", "uid-2", frozenset((2,)))


def test_containers_that_only_one_of_both_knows() -> None:
    state = KubeletState(cpus={("uid", "app"): frozenset((1,)), ("uid", "debug"): frozenset((2,))})
    (one,) = residents(state, pod("one", "uid", "app", "log"))
    assert [container.name for container in one.pod.containers] == ["app", "log", "debug"]
    assert {name: set(given.cpus) for name, given in one.given.items()} == {"app": {1}, "log": set(), "debug": {2}}


def test_pods_of_old_kubelets_are_as_one() -> None:
    (one,) = residents(KubeletState(cpus={("", "0a1b"): frozenset((1,)), ("", "2c3d"): frozenset((2,))}))
    assert one.name == "default/unknown"
    assert [container.name for container in one.pod.containers] == ["0a1b", "2c3d"]


ELSEWHERE = {
    "CPUs": (
        KubeletState(cpus={("uid", "app"): frozenset((7, 8, 9))}),
        "cpu_manager_state: pods hold CPUs 8-9, which the machine does not have; give the machine that they are from",
    ),
    "a NUMA node": (
        KubeletState(memory={("uid", "app"): (Block((0, 2), "memory", 1),)}),
        "memory_manager_state: pods hold memory of NUMA node 2, which the machine does not have; give the machine "
        "that it is from",
    ),
    "huge pages": (
        KubeletState(memory={("uid", "app"): (Block((1,), "hugepages-64Ki", 1),)}, live=True),
        "PodResources: pods hold hugepages-64Ki of NUMA node 1, which the machine does not have; give the machine that "
        "it is from",
    ),
}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_what_another_machine_has_is_refused(case: str) -> None:
    state, expected = ELSEWHERE[case]
    with pytest.raises(UserError) as caught:
        residents(state)
    assert str(caught.value) == expected


def test_devices_that_are_registered_or_held() -> None:
    state = KubeletState(
        devices={("uid", "app"): {GPU: (Device("held", (1,)),), NIC: (Device("old", None),)}},
        registered={GPU: ("free", "held", "other")},
    )
    plugins = {GPU: (Device("free", (0,)), Device("held", (0,)), Device("gone", (0,))), NIC: (Device("old", (1,)),)}
    # The file tells of the node of what is held; of the rest --plugins does, or nobody.
    assert devices_told(state, plugins) == {
        GPU: (Device("free", (0,)), Device("held", (1,)), Device("other", None)),
        NIC: (Device("old", (1,)),),
    }


def test_devices_that_a_running_kubelet_lists() -> None:
    state = KubeletState(
        registered={GPU: ("a", "b")}, listed={GPU: (Device("a", (0, 1)), Device("b", None))}, live=True
    )
    assert devices_told(state, {GPU: (Device("b", (1,)),)}) == {GPU: (Device("a", (0, 1)), Device("b", (1,)))}
