"""Many devices, many plugins, and one that hangs."""

import threading
import time
from collections.abc import Mapping

import grpc
import pytest

from numaproof.plugins_mock import Fault, MockPlugin
from tests.harness.node.running import GPU, NIC, STATIC, client, devices, listed_plugins, pod, running_node
from tests.waiting import wait_until

CONFIG = STATIC | {"topologyManagerPolicy": "restricted"}


def test_ten_thousand_devices_in_one_list() -> None:
    with running_node(CONFIG) as node, client(node.root) as control:
        many = MockPlugin(GPU, devices("device-with-a-longer-name-", 10_000), node.device_plugins)
        with listed_plugins(node, many):
            answer = control.admit(pod("p", {"cpu": 1, "memory": "1Gi", GPU: 4_000}))
            assert answer.verdict.admitted, answer.verdict
            held = answer.pod.containers[0].devices[0].devices
            assert len({device.id for device in held}) == 4_000
            assert {tuple(device.topology.nodes) for device in held} == {(0,)}
            refused = control.admit(pod("q", {"cpu": 1, "memory": "1Gi", GPU: 6_001}))
            assert refused.verdict.reason == "TopologyAffinityError"
            node.restart()
            assert len(control.state().pods[0].containers[0].devices[0].devices) == 4_000


def test_ten_plugins_at_once() -> None:
    with running_node(CONFIG) as node, client(node.root) as control:
        names = [f"example.com/kind{number}" for number in range(10)]
        plugins = [MockPlugin(name, devices(f"d{name[-1]}-", 4), node.device_plugins) for name in names]
        with listed_plugins(node, *plugins):
            answer = control.admit(pod("p", {"cpu": 1, "memory": "1Gi", **dict.fromkeys(names, 2)}))
            assert answer.verdict.admitted, answer.verdict
            given = answer.pod.containers[0].devices
            assert [one.resource for one in given] == names
            assert {tuple(device.topology.nodes) for one in given for device in one.devices} == {(0,)}
            assert len(answer.pod.containers[0].response.envs) == 10


@pytest.mark.parametrize("call", ["GetPreferredAllocation", "Allocate"])
def test_a_hung_plugin_delays_only_its_own_pods(call: str) -> None:
    faults: Mapping[str, list[Fault]] = {call: [Fault("hang", times=1)]}
    # So long that nothing here can wait for it by accident: the hung call ends because its plugin does.
    with running_node(CONFIG, deadline_seconds=600) as node, client(node.root) as control:
        nic = MockPlugin(NIC, devices("nic", 4), node.device_plugins)
        hung = MockPlugin(
            GPU, devices("gpu", 8), node.device_plugins, faults=faults, preferred=lambda a, _m, n: [sorted(a)[:n]]
        )
        answers = []
        with listed_plugins(node, nic):
            with listed_plugins(node, hung):
                manifest = pod("hung", {"cpu": 1, "memory": "1Gi", GPU: 2})
                thread = threading.Thread(target=lambda: answers.append(control.admit(manifest, timeout=600)))
                thread.start()
                wait_until(lambda: any(one.name == call for one in hung.calls), "the call that hangs")
                for number in range(5):
                    assert control.admit(pod(f"p{number}", {"cpu": 1, "memory": "1Gi", NIC: 1})).verdict.admitted == (
                        number < 4
                    )
                control.remove("uid-p0")
                # Even another pod of the same plugin is decided about, as the plugin answers its calls.
                assert control.admit(pod("other", {"cpu": 1, "memory": "1Gi", GPU: 2})).verdict.admitted
                assert answers == []
                assert [one.name for one in control.state().pods if one.name == "hung"] == []
            thread.join(120)
        # A plugin that stops may answer at last, or not; either way the pod has what its answer says.
        assert ("hung" in {one.name for one in control.state().pods}) == answers[0].verdict.admitted


def test_a_pod_that_waits_for_a_decision_takes_nothing_from_others() -> None:
    faults: Mapping[str, list[Fault]] = {"GetPreferredAllocation": [Fault("hang", times=1)]}
    with running_node(STATIC, deadline_seconds=600) as node, client(node.root) as control:
        gpu = MockPlugin(
            GPU, devices("gpu", 4), node.device_plugins, faults=faults, preferred=lambda a, _m, n: [sorted(a)[:n]]
        )
        answers = []
        with listed_plugins(node, gpu):
            manifest = pod("waits", {"cpu": 14, "memory": "1Gi", GPU: 1})
            thread = threading.Thread(target=lambda: answers.append(control.admit(manifest, timeout=600)))
            thread.start()
            wait_until(lambda: any(one.name == "GetPreferredAllocation" for one in gpu.calls), "the call that hangs")
            assert control.admit(pod("p", {"cpu": 14, "memory": "1Gi"})).verdict.admitted
        thread.join(120)
        assert not answers[0].verdict.admitted  # by now there are no CPUs left, or its plugin is gone


def test_the_deadline_of_a_plugin_is_configurable() -> None:
    faults: Mapping[str, list[Fault]] = {"Allocate": [Fault("hang")]}
    with (
        running_node(CONFIG, deadline_seconds=0.2) as node,
        client(node.root) as control,
        listed_plugins(node, MockPlugin(GPU, devices("gpu", 2), node.device_plugins, faults=faults)),
    ):
        begun = time.monotonic()
        verdict = control.admit(pod("p", {"cpu": 1, "memory": "1Gi", GPU: 1})).verdict
        assert time.monotonic() - begun >= 0.2
        assert verdict.reason == "UnexpectedAdmissionError"
        assert f"the plugin of {GPU} did not answer Allocate within 0.2 s" in verdict.message
        assert not control.state().pods


def test_a_node_stops_while_a_plugin_hangs_and_the_pod_is_not_admitted() -> None:
    faults: Mapping[str, list[Fault]] = {"Allocate": [Fault("hang", times=1)]}
    with running_node(CONFIG, deadline_seconds=600) as node, client(node.root) as control:
        gpu = MockPlugin(GPU, devices("gpu", 2), node.device_plugins, faults=faults)
        with listed_plugins(node, gpu):
            outcome: list[grpc.StatusCode] = []

            def admit() -> None:
                try:
                    control.admit(pod("p", {GPU: 1}), timeout=600)
                except grpc.RpcError as error:
                    outcome.append(error.code())

            call = threading.Thread(target=admit)
            call.start()
            wait_until(lambda: any(one.name == "Allocate" for one in gpu.calls), "the call that hangs")
            node.restart()
            call.join(120)
            assert len(outcome) == 1
            assert node.assignments() == ()
