"""Workloads: a runtime that forgets a part of what the node decided is caught, and one that does it all is not."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as plugin_api
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.rig.observe.workload import Workload, workload_differences
from numaproof.harness.rig.reference_node import workloads_of
from numaproof.harness.runtimes import Bind, CannotStartError, Program, Running
from numaproof.harness.runtimes.local import NamespaceRuntime
from numaproof.harness.runtimes.trees import Trees
from tests.places import short_directory

ALLOWED = sorted(os.sched_getaffinity(0))


class Forgetful:
    """A namespace runtime that changes what it is told."""

    def __init__(self, change: Callable[[Program], Program], name: str = "namespace") -> None:
        self._change = change
        self.name = name

    def start(self, program: Program) -> Running:
        return NamespaceRuntime().start(self._change(program))


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as place:
        (place / "library").mkdir()
        (place / "other").mkdir()
        yield place


def workload(place: Path, cpus: list[int], memory_nodes: tuple[int, ...] = ()) -> tuple[Workload]:
    """A container that was given one of everything."""
    response = plugin_api.ContainerAllocateResponse(
        # A shell passes on no variable of the third name.
        envs={"GPUS": "gpu-0,gpu-1", "TEXT": "two\nlines", "example.com/gpu-0": "yes"},
        mounts=[
            plugin_api.Mount(host_path=str(place / "library"), container_path="/opt/np-library", read_only=True),
            plugin_api.Mount(host_path=str(place / "other"), container_path="/opt/np-other"),
        ],
        devices=[plugin_api.DeviceSpec(host_path="/dev/null", container_path="/dev/np/gpu0", permissions="rw")],
    )
    return (Workload("app", tuple(cpus), memory_nodes, response),)


def test_a_container_that_got_everything(place: Path) -> None:
    assert workload_differences(NamespaceRuntime(), None, workload(place, ALLOWED[:1])) == []


def without_first_bind(program: Program) -> Program:
    return replace(program, binds=program.binds[1:])


def another_directory(program: Program) -> Program:
    first, second = program.binds
    return replace(program, binds=(replace(first, source=second.source), second))


def a_writable_bind(program: Program) -> Program:
    return replace(program, binds=tuple(replace(bind, read_only=False) for bind in program.binds))


def another_device(program: Program) -> Program:
    return replace(program, devices=tuple(replace(one, source="/dev/zero") for one in program.devices))


FORGOTTEN: list[tuple[Callable[[Program], Program], str]] = [
    (lambda program: replace(program, environment={}), "app: its environment lacks GPUS=gpu-0,gpu-1"),
    (without_first_bind, "app: /opt/np-library is not there"),
    (another_directory, "app: /opt/np-library is "),
    (a_writable_bind, "app: /opt/np-library can be written to, decided was read-only"),
    (lambda program: replace(program, devices=()), "app: /dev/np/gpu0 is not there"),
    (another_device, "app: /dev/np/gpu0 is character special file 1:5, not /dev/null (character special file 1:3)"),
    (lambda program: replace(program, command=("/bin/echo", "bye")), "app: ended at once: bye"),
]
# Where there is a single CPU, it makes no difference whether a program is bound to it.
if len(ALLOWED) > 1:
    forgotten_cpus = f"app: Cpus_allowed_list is {tuple(ALLOWED)}, decided was {tuple(ALLOWED[:1])}"
    FORGOTTEN.append((lambda program: replace(program, cpus=()), forgotten_cpus))


@pytest.mark.parametrize(("change", "said"), FORGOTTEN, ids=[said[5:35] for _, said in FORGOTTEN])
def test_what_a_runtime_forgets_is_told(place: Path, change: Callable[[Program], Program], said: str) -> None:
    found = workload_differences(Forgetful(change), None, workload(place, ALLOWED[:1]))
    assert found
    assert found[0].startswith(said), found


def test_memory_that_was_not_bound_is_told(place: Path) -> None:
    """With docker, as only its containers are bound to memory nodes; here by one that forgets it."""
    bound_to_none = Forgetful(lambda program: replace(program, memory_nodes=()), "docker")
    (found,) = workload_differences(bound_to_none, None, workload(place, [], (1023,)))
    assert found.startswith("app: Mems_allowed_list is (0,")
    assert found.endswith("decided was (1023,)")


def test_on_a_machine_that_does_not_exist_nobody_is_bound_to_its_cpus(place: Path) -> None:
    tree = Trees(place / "trees").of("pack:2 [numa] core:64 pu:1")
    assert workload_differences(NamespaceRuntime(), tree, workload(place, [100, 101])) == []


def test_init_containers_have_ended_and_sidecars_run() -> None:
    missing = plugin_api.ContainerAllocateResponse(envs={"A": "1"})
    init = api.Container(name="init", init=True, response=missing)
    sidecar = api.Container(name="side", init=True, restartable=True, response=missing)
    app = api.Container(name="app", cpus=[3, 5])
    app.memory.add(resource="memory", size=1 << 20, nodes=[2, 1])
    app.memory.add(resource="hugepages-2Mi", size=2 << 20, nodes=[1])
    assert workloads_of(api.Pod(name="p", containers=[init, sidecar, app])) == (
        Workload("side", (), (), missing),
        Workload("app", (3, 5), (1, 2), plugin_api.ContainerAllocateResponse()),
    )


def test_containers_of_a_bound_pod_run_in_its_cgroup() -> None:
    pod = api.Pod(name="p", binding=api.Binding(numa_node_id="1", cpuset_cpus=[4, 5], cpuset_mems=[1]))
    pod.containers.add(name="init", init=True)
    pod.containers.add(name="side", init=True, restartable=True)
    pod.containers.add(name="app")
    found = workloads_of(pod)
    assert [(one.name, one.cpus, one.memory_nodes) for one in found] == [("side", (4, 5), (1,)), ("app", (4, 5), (1,))]


def test_what_a_manager_gave_to_a_container_of_a_bound_pod_is_its_own() -> None:
    pod = api.Pod(name="p", binding=api.Binding(numa_node_id="1", cpuset_cpus=[4, 5, 6]))
    pod.containers.add(name="app", cpus=[5]).memory.add(resource="memory", size=1 << 20, nodes=[1, 0])
    pod.containers.add(name="helper")
    found = workloads_of(pod)
    assert [(one.cpus, one.memory_nodes) for one in found] == [((5,), (0, 1)), ((4, 5, 6), ())]


def test_a_mount_of_nothing_cannot_be_started(place: Path) -> None:
    def of_nothing(program: Program) -> Program:
        return replace(program, binds=(Bind(place / "none", "/opt/np-library"),))

    with pytest.raises(CannotStartError, match="cannot mount"):
        workload_differences(Forgetful(of_nothing), None, workload(place, []))
