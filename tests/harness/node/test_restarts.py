"""Whatever restarts: nobody who was admitted loses anything, and what cannot be trusted is refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.fake_sysfs import Machine, parse_machine
from numaproof.harness.decision.config import node_config
from numaproof.harness.node.node import Node
from numaproof.plugins_mock import MockPlugin
from tests.harness.node.running import (
    GPU,
    NIC,
    STATIC,
    TWO_NODES,
    assignment,
    client,
    devices,
    listed_plugins,
    pod,
    running_node,
    wait_for_devices,
)
from tests.places import short_directory

CONFIG = STATIC | {"topologyManagerPolicy": "best-effort"}

# In order: every kind of restart, one after the other, with a pod that has something of everything.


def test_assignments_outlive_every_kind_of_restart() -> None:
    with running_node(CONFIG) as node, client(node.root) as control:

        def plugin(resource: str) -> MockPlugin:
            return MockPlugin(resource, devices(resource[-3:], 4), node.device_plugins, pre_start=True)

        with listed_plugins(node, nic := plugin(NIC)):
            with listed_plugins(node, gpu := plugin(GPU)):
                answer = control.admit(pod("p", {"cpu": 3, "memory": "2Gi", GPU: 1, NIC: 2}))
                first = assignment(answer.pod)
                response = answer.pod.containers[0].response

                def check(what: str) -> None:
                    (now,) = control.state().pods
                    assert assignment(now) == first, what
                    assert now.containers[0].response == response, what

                node.start_container("uid-p", "c0")
                check("container")
                node.restart()
                check("node, plugins not yet back")
                wait_for_devices(node, gpu, nic)
                check("node")
                # Other pods get what is left, and nothing of what is taken.
                other = control.admit(pod("q", {"cpu": 3, "memory": "2Gi", GPU: 3, NIC: 2}))
                assert other.verdict.admitted, other
                assert not set(other.pod.containers[0].cpus) & set(first[0])
                held = {name for _, names in (*first[2], *assignment(other.pod)[2]) for name in names}
                assert len(held) == 8
                control.remove("uid-q")
            check("plugin gone")
            with listed_plugins(node, gpu := plugin(GPU)):
                check("plugin")
                node.restart()
                wait_for_devices(node, gpu, nic)
                check("node again")
        node.restart()
        with listed_plugins(node, plugin(GPU), plugin(NIC)):
            check("node and plugins")
            control.remove("uid-p")
            assert not control.state().pods
        node.restart()
        assert not control.state().pods


def test_after_a_restart_a_new_pod_has_to_wait_for_its_plugin() -> None:
    with running_node(CONFIG) as node:
        with listed_plugins(node, MockPlugin(GPU, devices("gpu", 4), node.device_plugins)):
            assert node.admit(pod("p", {GPU: 1})).admitted
        node.restart()
        refused = node.admit(pod("q", {GPU: 1}))
        assert refused.message == (
            f"Allocate failed due to no healthy devices present; cannot allocate unhealthy devices {GPU}, "
            "which is unexpected"
        )
        with listed_plugins(node, MockPlugin(GPU, devices("gpu", 4), node.device_plugins)):
            assert node.admit(pod("q", {GPU: 1})).admitted


# What must not be trusted is refused.


@contextmanager
def stopped_node() -> Iterator[Path]:
    with short_directory() as root:
        with Node(node_config(CONFIG), machine(), root, log=lambda _line: None) as node:
            assert node.admit(pod("p", {"cpu": 2, "memory": "1Gi"})).admitted
        yield root


def machine() -> Machine:
    return parse_machine(TWO_NODES)


def refusal(root: Path, kubelet: Any = CONFIG, on: Any = None) -> str:
    with pytest.raises(UserError) as caught, Node(node_config(kubelet), on or machine(), root, log=lambda _line: None):
        pass
    return str(caught.value)


FILES = (
    "cpu_manager_state",
    "memory_manager_state",
    "device-plugins/kubelet_internal_checkpoint",
    "pods/pod-uid-p.json",
)


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_state_file_is_a_refusal_that_changes_nothing(name: str) -> None:
    with stopped_node() as root:
        file = root / name
        whole = file.read_text()
        for damaged in (whole[: len(whole) // 2], whole.replace("1", "2"), "", "{}"):
            file.write_text(damaged)
            assert name in refusal(root)
            assert file.read_text() == damaged
        file.write_text(whole)
        with Node(node_config(CONFIG), machine(), root, log=lambda _line: None) as node:
            assert [view.pod.name for view in node.assignments()] == ["p"]


def test_state_files_that_are_lost_or_of_another_moment_are_made_anew() -> None:
    """As after the machine's end: the pods' own files are right, the others are whole but older, or not there."""
    with short_directory() as root:
        config = node_config(CONFIG)
        with Node(config, machine(), root, log=lambda _line: None) as node:
            node.admit(pod("p", {"cpu": 2, "memory": "1Gi"}))
            older = {name: (root / name).read_text() for name in FILES[:3]}
            node.admit(pod("q", {"cpu": 3, "memory": "100Gi"}))
            node.remove("uid-p")
            given = node.assignments()
        current = {name: (root / name).read_text() for name in FILES[:3]}
        for lost in (True, False):
            for name in FILES[:3]:
                if lost:
                    (root / name).unlink()
                else:
                    (root / name).write_text(older[name])
            with Node(config, machine(), root, log=lambda _line: None) as node:
                assert node.assignments() == given
            assert {name: (root / name).read_text() for name in FILES[:3]} == current


def test_another_policy_or_machine_is_a_refusal() -> None:
    with stopped_node() as root:
        assert 'configured policy "none" differs from state checkpoint policy "static"' in refusal(root, {})
        static_cpu = {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}
        assert 'configured policy "None" differs' in refusal(root, static_cpu)
        smaller = parse_machine(TWO_NODES.replace("core:4", "core:3"))
        assert "doesn't match with CPU" in refusal(root, on=smaller)
        larger = parse_machine(TWO_NODES.replace("64", "65"))
        assert "machine state is different" in refusal(root, on=larger)


def test_two_nodes_cannot_have_one_root() -> None:
    with running_node(CONFIG) as node:
        assert "another node runs there" in refusal(node.root)


def test_what_a_pod_that_was_never_admitted_holds_is_nobodys() -> None:
    """As after a kill between the kubelet's files and the pod's own."""
    with stopped_node() as root:
        (root / "pods" / "pod-uid-p.json").unlink()
        with Node(node_config(CONFIG), machine(), root, log=lambda _line: None) as node, client(root) as control:
            assert node.assignments() == ()
            state = control.state()
            assert len(state.free_cpus) == 15
            assert all(one.free == one.allocatable for one in state.memory)
        assert "uid-p" not in (root / "cpu_manager_state").read_text() + (root / "memory_manager_state").read_text()
