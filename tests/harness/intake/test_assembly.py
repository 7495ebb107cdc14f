"""A node of parts: what the state files tell counts before the configuration, and what nobody tells is assumed."""

from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.fake_sysfs import parse_machine
from numaproof.fake_sysfs.alter import without_cpus
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.decision.config import Setting, settings_of
from numaproof.harness.intake.assembly import Assembled, assemble
from numaproof.harness.intake.cpu_state import read_cpu_state
from numaproof.harness.intake.device_state import read_device_state
from numaproof.harness.intake.memory_state import read_memory_state
from numaproof.harness.intake.state import KubeletState, merge
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.pod import Pod
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory.state import Block
from tests.harness.intake.state_files import GIB, cpu_file, device_file, memory_file

MACHINE = parse_machine("pack:2 [numa(memory=8GiB)] core:4 pu:1")  # CPUs 0-3 and 4-7
GPU = "example.com/gpu"
# CPUs 1-4 are held, 1-3 of them of NUMA node 0; 2 of its 7 GiB, as 1 is the system's; two of three devices.
FILES = merge(
    read_cpu_state(cpu_file(), "cpu"),
    read_memory_state(memory_file(), "memory"),
    read_device_state(device_file(), "devices"),
)


def settings(**keys: Any) -> dict[str, Setting]:
    return settings_of(keys, Where("config.yaml"))


def node(state: KubeletState | None, told: dict[str, Setting] | None = None, *running: Pod) -> Assembled:
    return assemble(MACHINE, told, None, running, state=state)


def pod(name: str, cpu: object, memory: str = "1Gi", uid: str = "", requests: Any = None, **more: Any) -> Pod:
    limits = {"cpu": cpu, "memory": memory, **{f"example.com/{key}": count for key, count in more.items()}}
    container = {"name": "app", "resources": {"limits": limits, **({"requests": requests} if requests else {})}}
    metadata = {"name": name, **({"uid": uid} if uid else {})}
    return pod_from({"kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}})


def verdict(assembled: Assembled, asked: Pod) -> tuple[bool, str]:
    told = assembled.replica.attempt(asked).trace.verdict
    return told.admitted, told.reason


def test_without_a_configuration_policies_are_the_files_and_alignment_is_assumed() -> None:
    found = node(FILES)
    config = found.replica.setup.config
    assert (config.cpu_policy, config.memory_policy, config.topology_policy) == ("static", "Static", "single-numa-node")
    assert "no configuration is given: topologyManagerPolicy single-numa-node" in found.assumptions
    # CPU 0 of NUMA node 0 is reserved and 1-3 are held; of NUMA node 1 5-7 are free.
    assert verdict(found, pod("x", 3)) == (True, "")
    assert verdict(found, pod("x", 4)) == (False, "TopologyAffinityError")
    found = node(KubeletState(memory_policy="None", memory={}))
    assert "no configuration is given: topologyManagerPolicy single-numa-node, cpuManagerPolicy static" in (
        found.assumptions
    )


def test_a_policy_of_the_file_counts_before_the_configurations() -> None:
    found = node(FILES, settings(cpuManagerPolicy="none", memoryManagerPolicy="Static", reservedSystemCPUs="0"))
    assert found.replica.setup.config.cpu_policy == "static"
    assert found.obstacles == (
        "cpu_manager_state is of cpuManagerPolicy static, and the configuration says none (could not restore state "
        "from checkpoint); drain the node and remove cpu_manager_state",
    )
    # A configuration that does not name a policy has its default.
    found = node(FILES, settings(cpuManagerPolicy="static", reservedSystemCPUs="0"))
    said = "memoryManagerPolicy Static, as memory_manager_state says: with None the kubelet would refuse the file"
    assert said in found.assumptions
    assert found.obstacles == ()
    found = node(KubeletState(cpu_policy="none"), settings(topologyManagerPolicy="restricted"))
    assert not any("cpu_manager_state" in line for line in found.assumptions)


STATIC = {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}
WHOLE = '{"policyName": "static", "defaultCpuSet": "%s", "entries": {"u": {"app": "%s"}}}'
# defaultCpuSet and what a pod holds -> the kubelet's words, of a machine with CPUs 0-7.
REFUSED = {
    ("0,4-7", "1-3"): "",
    ("0,4-8", "1-3"): "doesn't match with CPU 8 in state",
    ("0,4-6", "1-3"): "current set of available CPUs 0-7 doesn't match with CPUs in state 0-6",
    ("4-7", "0-3"): "not all reserved cpus: 0 are present in defaultCpuSet: 4-7",
    ("0-1,4-7", "1-3"): "cpuset: 1-3 overlaps with default cpuset 0-1,4-7",
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_on_which_a_kubelet_would_not_start(case: tuple[str, str]) -> None:
    found = node(read_cpu_state(WHOLE % case, "cpu"), settings(**STATIC))
    assert len(found.obstacles) == bool(REFUSED[case])
    assert REFUSED[case] in "".join(found.obstacles)


def test_what_is_elided_of_a_file_is_no_obstacle() -> None:
    found = node(read_cpu_state((WHOLE % ("0,4-6", "1-3")).replace('"u"', '..., "u"'), "cpu"), settings(**STATIC))
    assert found.obstacles == ()
    # Under the policy none nobody looks at the CPUs.
    found = node(
        read_cpu_state('{"policyName": "none", "defaultCpuSet": ""}', "cpu"), settings(cpuManagerPolicy="none")
    )
    assert found.obstacles == ()


def test_a_cpu_that_is_held_and_offline_is_given_to_nobody() -> None:
    machine = without_cpus(MACHINE, (2,))
    found = assemble(machine, settings(**STATIC), None, (), state=read_cpu_state(WHOLE % ("0,4-7", "1-3"), "cpu"))
    assert "current set of available CPUs 0-1,3-7 doesn't match with CPU 2 in state" in "".join(found.obstacles)
    (resident,) = found.replica.residents
    assert resident.given["app"].cpus == {1, 3}


def test_a_policy_that_no_kubelet_has() -> None:
    with pytest.raises(UserError, match="cpu_manager_state: unknown value 'dynamic'; choose one of none, static"):
        node(KubeletState(cpu_policy="dynamic"), settings(topologyManagerPolicy="none"))


def test_memory_is_reserved_as_the_file_says() -> None:
    # The configuration has no reservedMemory, and 500 MiB for the kubelet, which does not fit: the file's 1 GiB counts.
    found = node(
        FILES,
        settings(cpuManagerPolicy="static", reservedSystemCPUs="0", kubeReserved={"memory": "500Mi"}),
    )
    assert found.replica.setup.config.reserved_memory == {0: {"memory": GIB}}
    # 16 GiB less 1 are allocatable, of which a pod holds 2.
    assert found.replica.setup.allocatable is not None
    assert found.replica.setup.allocatable["memory"] == 15 * GIB
    assert found.replica.managers.memory.state == FILES.memory_nodes
    # 5 GiB are left of NUMA node 0, and 8 of the other.
    one = pod("x", 1, memory="8Gi")
    assert found.replica.attempt(one).trace.given["app"].memory == (Block((1,), "memory", 8 * GIB),)


def test_the_memory_of_the_file_is_the_machines() -> None:
    small = parse_machine("pack:2 [numa(memory=2GiB)] core:4 pu:1")
    found = assemble(small, None, None, (), state=FILES)
    assert [one.memory for one in found.replica.setup.description.memory_nodes] == [8 * GIB, 8 * GIB]


def test_a_pod_that_the_files_know_by_its_uid() -> None:
    found = node(FILES, None, pod("known", 2, uid="uid-1", memory="2Gi", gpu=2))
    assert [one.name for one in found.replica.residents] == ["default/known", "default/uid-2"]
    assert found.history is None
    assert "pods that are known by what they hold ask for no more than that; --running tells of their manifests" in (
        found.assumptions
    )


def test_running_pods_that_hold_nothing_count_with_what_they_ask_for() -> None:
    # 8 CPUs less 1 that is reserved are 7; the files' pods have 4, and one on shared CPUs 2: 1 is left.
    shared = pod("shared", "2", requests={"cpu": "2", "memory": "64Mi"})
    found = node(
        FILES, settings(cpuManagerPolicy="static", reservedSystemCPUs="0", topologyManagerPolicy="none"), shared
    )
    assert verdict(found, pod("x", 1)) == (True, "")
    assert verdict(found, pod("x", 2)) == (False, "OutOfcpu")
    # One that would have CPUs alone is not in the file, so that it is not there any more.
    found = node(FILES, None, pod("gone", 2))
    assert "the running pod default/gone is left out: the state files do not know it" in found.assumptions
    assert all(one.name != "default/gone" for one in found.replica.residents)


def test_a_running_kubelet_knows_all_of_its_pods() -> None:
    live = KubeletState(
        cpu_policy="static",
        cpus={("default/a", "app"): frozenset((1, 2))},
        memory_policy="None",
        pod_names={name: name for name in ("default/a", "default/b", "default/c")},
        live=True,
    )
    found = node(live, None, pod("b", "500m"), pod("d", "500m"))
    assert [one.name for one in found.replica.residents] == ["default/a", "default/b"]
    assert "the running pod default/d is left out: PodResources does not know it" in found.assumptions
    said = "1 pod that runs holds nothing alone, and is not counted, as nobody tells what it asks for; --running does"
    assert said in found.assumptions


def test_a_running_kubelet_on_which_nobody_holds_anything() -> None:
    # Nor does one before 1.21 tell what there is to give.
    found = node(KubeletState(live=True), None, pod("gone", 3))
    assert found.replica.residents == ()


def test_what_a_running_kubelet_does_not_give_away_is_reserved() -> None:
    live = KubeletState(
        cpu_policy="static",
        allocatable_cpus=frozenset((1, 2, 3, 5, 6, 7)),
        memory_policy="Static",
        allocatable_memory=(Block((0,), "memory", 6 * GIB), Block((1,), "memory", 8 * GIB)),
        live=True,
    )
    found = node(live, settings(cpuManagerPolicy="static", kubeReserved={"cpu": "1"}, memoryManagerPolicy="Static"))
    config = found.replica.setup.config
    assert config.reserved_cpus == {0, 4}
    assert config.reserved_memory == {0: {"memory": 2 * GIB}}
    said = "reservedSystemCPUs 0,4: the CPUs that PodResources does not list as allocatable"
    assert said in found.assumptions
    same = node(live, settings(cpuManagerPolicy="static", reservedSystemCPUs="0,4", memoryManagerPolicy="Static"))
    assert not any("reservedSystemCPUs" in line for line in same.assumptions)
    more = KubeletState(cpu_policy="static", allocatable_cpus=frozenset(range(16)), live=True)
    with pytest.raises(UserError, match="PodResources: tells of CPUs 8-15, which the machine does not have"):
        node(more)
    more = KubeletState(
        cpu_policy="none", memory_policy="Static", allocatable_memory=(Block((0,), "memory", 9 * GIB),), live=True
    )
    assert "the machine has less memory than PodResources lists, so what is reserved is not taken from there" in (
        node(more).assumptions
    )


def test_devices_on_numa_nodes_that_are_not_there() -> None:
    held = {("uid", "app"): {GPU: (Device("a", (0, 5)), Device("b", (9999,)))}}
    found = node(KubeletState(devices=held, registered={GPU: ("a", "b")}))
    assert found.replica.setup.devices == {GPU: (Device("a", (0,)), Device("b", None))}
    said = f"{GPU}: devices are on NUMA nodes that the machine does not have (5, 9999): as if on none"
    assert said in found.assumptions


def test_memory_alone_tells_who_holds_what() -> None:
    found = node(KubeletState(memory={("uid", "app"): (Block((0,), "memory", GIB),)}), None, pod("other", 1))
    assert found.history is None
    assert [one.name for one in found.replica.residents] == ["default/uid", "default/other"]


def test_without_states_the_pods_come_in_their_order() -> None:
    told = settings(cpuManagerPolicy="static", reservedSystemCPUs="0", topologyManagerPolicy="single-numa-node")
    found = node(None, told, pod("a", 3), pod("b", 5), pod("c", 4))
    assert found.history is not None
    assert [one.name for one in found.replica.residents] == ["default/a", "default/c"]
    assert any(
        line.startswith("the running pod default/b is left out: this node would refuse") for line in found.assumptions
    )
