"""Clients of the control service: who asks twice, who asks at once, who watches."""

import itertools
import threading

from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.plugins_mock import MockPlugin
from tests.harness.node.running import GPU, STATIC, Client, client, devices, listed_plugins, pod, running_node


def test_who_asks_twice_gets_the_same_answer_and_a_taken_name_is_refused() -> None:
    with running_node(STATIC) as node, client(node.root) as control:
        manifest = pod("p", {"cpu": 3, "memory": "1Gi"})
        first = control.admit(manifest)
        assert control.admit(manifest) == first
        assert len(control.state().pods) == 1


def test_many_at_once_get_each_cpu_once() -> None:
    with running_node(STATIC) as node:
        gpu = MockPlugin(GPU, devices("gpu", 4), node.device_plugins, preferred=lambda a, m, n: [sorted(a)[:n]])
        with listed_plugins(node, gpu), client(node.root) as control:
            answers: list[api.AdmitResponse] = []

            def admit(number: int) -> None:
                answers.append(control.admit(pod(f"p{number}", {"cpu": 3, "memory": "1Gi", GPU: 1})))

            threads = [threading.Thread(target=admit, args=(number,)) for number in range(12)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            admitted = [answer for answer in answers if answer.verdict.admitted]
            assert len(answers) == 12
            assert len(admitted) == 4  # as many as there are GPUs
            cpus = [cpu for answer in admitted for cpu in answer.pod.containers[0].cpus]
            assert len(cpus) == len(set(cpus)) == 12
            held = [device.id for answer in admitted for device in answer.pod.containers[0].devices[0].devices]
            assert sorted(held) == ["gpu00", "gpu01", "gpu02", "gpu03"]


def events_of(control: Client, count: int) -> list[tuple[str, str]]:
    stream = control.stub.Watch(api.WatchRequest(), timeout=120)
    seen = [
        (api.EventKind.Name(event.kind), event.pod.name or event.resource) for event in itertools.islice(stream, count)
    ]
    stream.cancel()
    return seen


def test_a_watcher_is_told_what_happens_and_has_happened() -> None:
    with running_node({}) as node, client(node.root) as control:
        gpu = MockPlugin(GPU, devices("gpu", 1), node.device_plugins)
        with listed_plugins(node, gpu):
            control.admit(pod("p", {GPU: 1}))
            control.admit(pod("q", {GPU: 1}))
            control.remove("uid-p")
            assert events_of(control, 5) == [
                ("REGISTERED", GPU),
                ("DEVICES", GPU),
                ("ADMITTED", "p"),
                ("REJECTED", "q"),
                ("REMOVED", "p"),
            ]
        seen = control.stub.Watch(api.WatchRequest(kinds=[api.DEVICES], after=5), timeout=120)
        assert [device.healthy for device in next(iter(seen)).devices] == [False]
        seen.cancel()
