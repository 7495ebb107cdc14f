"""Fit, metrics, events, questions and manifests, each by itself."""

import threading
from typing import Any

import pytest

from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.decision.fit import check_fit, requests_of
from numaproof.harness.errors import UserError
from numaproof.harness.node.events import REMEMBERED, REMEMBERED_BYTES, EventLog
from numaproof.harness.node.manifests import read_manifest
from numaproof.harness.node.metrics import Counter, Gauge, Histogram, Metrics
from numaproof.harness.node.questions import Conversation, Question, UnansweredError
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.topology.provider import AllocationError
from tests.waiting import wait_until

ALLOCATABLE = {"pods": 2, "cpu": 4000, "memory": 1000, "hugepages-2Mi": 0, "example.com/gpu": 1}


@pytest.mark.parametrize(
    ("requests", "reason", "message"),
    [
        ({"cpu": 4000, "memory": 1000, "example.com/gpu": 1}, None, None),
        ({"cpu": 4001}, "OutOfcpu", "cpu, requested: 4001, used: 0, capacity: 4000"),
        ({"cpu": 4001, "memory": 9999}, "OutOfcpu", "cpu, requested: 4001, used: 0, capacity: 4000"),
        ({"memory": 1001}, "OutOfmemory", "memory, requested: 1001, used: 0, capacity: 1000"),
        ({"hugepages-2Mi": 2048}, "OutOfhugepages-2Mi", "hugepages-2Mi, requested: 2048, used: 0, capacity: 0"),
        ({"example.com/gpu": 2}, "OutOfexample.com/gpu", "example.com/gpu, requested: 2, used: 0, capacity: 1"),
        ({"example.com/unheard-of": 2}, None, None),
        ({"hugepages-2Mi": 0}, None, None),
    ],
)
def test_fit_of_a_first_pod(requests: dict[str, int], reason: str | None, message: str | None) -> None:
    refusal = check_fit(requests, [], ALLOCATABLE)
    if reason is None:
        assert refusal is None
    else:
        assert refusal is not None
        assert (refusal.admitted, refusal.reason) == (False, reason)
        assert refusal.message == f"Node didn't have enough resource: {message}"


def test_fit_counts_the_other_pods() -> None:
    refusal = check_fit({"cpu": 2000}, [{"cpu": 2500, "memory": 1}], ALLOCATABLE)
    assert refusal is not None
    assert refusal.message == "Node didn't have enough resource: cpu, requested: 2000, used: 2500, capacity: 4000"
    assert check_fit({"cpu": 1500}, [{"cpu": 2500}], ALLOCATABLE) is None
    refusal = check_fit({}, [{}, {}], ALLOCATABLE)
    assert refusal is not None
    assert refusal.reason == "OutOfpods"


def test_requests_are_those_of_the_hungriest_moment() -> None:
    pod = pod_from(
        {
            "metadata": {"name": "p"},
            "spec": {
                "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "3"}}}],
                "containers": [{"name": "c", "resources": {"requests": {"cpu": "1.5", "memory": "1.5"}}}],
            },
        }
    )
    assert requests_of(pod) == {"cpu": 3000, "memory": 2}


def test_metrics_are_prometheus_text() -> None:
    counter, gauge = Counter("a_total", "A.", ("x",)), Gauge("b", "B.")
    counter.add('q"\\\n')
    counter.add("z", by=2)
    gauge.set(to=1.5)
    assert counter.lines() == ['kubelet_a_total{x="q\\"\\\\\\n"} 1', 'kubelet_a_total{x="z"} 2']
    assert gauge.lines() == ["kubelet_b 1.5"]
    histogram = Histogram("c", "C.", (1, 10))
    for value in (0.5, 1, 5, 50):
        histogram.observe(value=value)
    assert histogram.lines() == [
        'kubelet_c_bucket{le="1"} 2',
        'kubelet_c_bucket{le="10"} 3',
        'kubelet_c_bucket{le="+Inf"} 4',
        "kubelet_c_sum 56.5",
        "kubelet_c_count 4",
    ]


# The kubelet's names; those with labels have samples only when something happened.
NAMES = """
topology_manager_admission_requests_total topology_manager_admission_errors_total topology_manager_admission_duration_ms
container_aligned_compute_resources_count container_aligned_compute_resources_failure_count
cpu_manager_pinning_requests_total cpu_manager_pinning_errors_total cpu_manager_shared_pool_size_millicores
cpu_manager_exclusive_cpu_allocation_count cpu_manager_allocation_per_numa memory_manager_pinning_requests_total
memory_manager_pinning_errors_total device_plugin_registration_total device_plugin_alloc_duration_seconds
pod_resources_endpoint_requests_total pod_resources_endpoint_requests_list pod_resources_endpoint_requests_get
pod_resources_endpoint_requests_get_allocatable pod_resources_endpoint_errors_list pod_resources_endpoint_errors_get
pod_resources_endpoint_errors_get_allocatable
"""


def test_every_metric_of_the_kubelet_is_there_and_zero_at_first() -> None:
    text = Metrics().text()
    kinds = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert sorted(kinds) == sorted(f"kubelet_{name}" for name in NAMES.split())
    assert all(line.endswith(" 0") for line in text.splitlines() if not line.startswith("#"))


def event(name: str) -> api.Event:
    return api.Event(kind=api.ADMITTED, message=name)


def test_events_are_numbered_and_told_from_any_point_on() -> None:
    log, wanted = EventLog(), threading.Event()
    wanted.set()
    for name in "abc":
        log.add(event(name))
    told: list[str] = []
    thread = threading.Thread(target=lambda: told.extend(one.message for one in log.follow(1, wanted)))
    thread.start()
    wait_until(lambda: len(told) == 2, "the events that were remembered")
    log.add(event("d"))
    log.close()
    thread.join(60)
    assert told == ["b", "c", "d"]
    assert log.last == 4


def test_a_watcher_that_is_not_wanted_any_more_is_let_go() -> None:
    log, wanted = EventLog(), threading.Event()
    wanted.set()
    thread = threading.Thread(target=lambda: list(log.follow(0, wanted)))
    thread.start()
    wanted.clear()
    log.wake()
    thread.join(60)
    assert not thread.is_alive()


def test_old_events_are_forgotten() -> None:
    log, wanted = EventLog(), threading.Event()
    wanted.set()
    for _ in range(REMEMBERED + 5):
        log.add(event("x"))
    log.close()
    assert [one.number for one in log.follow(0, wanted)][:1] == [6]


def test_large_events_are_forgotten_sooner() -> None:
    log, wanted = EventLog(), threading.Event()
    wanted.set()
    for _ in range(3):
        log.add(event("x" * (REMEMBERED_BYTES // 2)))
    log.close()
    assert [one.number for one in log.follow(0, wanted)] == [3]


class Plugins:
    """Answers with the size of each question, and remembers them."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def offers(self, _resource: str) -> bool:
        return True

    offers_plural = offers

    def preferred(self, *question: Any) -> list[str]:
        self.asked.append(question)
        if question[0] == "bad":
            raise AllocationError("it is broken")
        return [str(question[3])]

    def preferred_sets(self, *question: Any) -> list[list[str]]:
        self.asked.append(question)
        return [[str(question[3])]]


def question(resource: str, size: int) -> Question:
    return Question(False, resource, ("a",), (), size)


def test_answers_are_given_again_until_a_question_changes() -> None:
    plugins = Plugins()
    talk = Conversation(plugins)
    with pytest.raises(UnansweredError) as caught:
        talk.answer(question("r", 1))
    talk.ask(caught.value.question)
    talk.restart()
    assert talk.answer(question("r", 1)) == ["1"]
    # The same question again is another question: a kubelet would ask it again.
    with pytest.raises(UnansweredError):
        talk.answer(question("r", 1))
    talk.ask(question("r", 1))
    talk.restart()
    assert [talk.answer(question("r", 1)), talk.answer(question("r", 1))] == [["1"], ["1"]]
    # The first question is another one now: what was answered after it does not count either.
    talk.restart()
    with pytest.raises(UnansweredError):
        talk.answer(question("r", 2))
    talk.ask(question("r", 2))
    talk.restart()
    assert talk.answer(question("r", 2)) == ["2"]
    with pytest.raises(UnansweredError):
        talk.answer(question("r", 1))
    assert [asked[3] for asked in plugins.asked] == [1, 1, 2]


def test_a_failure_is_an_answer_too() -> None:
    talk = Conversation(Plugins())
    talk.ask(question("bad", 1))
    for _ in range(2):
        talk.restart()
        with pytest.raises(AllocationError, match="it is broken"):
            talk.answer(question("bad", 1))


GOOD = '{"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}]}}'


def test_manifests_are_json_or_yaml() -> None:
    as_yaml = "metadata: {name: p}\nspec:\n  containers:\n  - {name: c, resources: {limits: {cpu: '1'}}}\n"
    assert read_manifest(GOOD) == read_manifest(as_yaml)


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is missing"),
        ("{", "is neither YAML nor JSON"),
        ("a: [", "is neither YAML nor JSON"),
        ("\x00", "is neither YAML nor JSON"),
        (BOMB, "aliases are not read"),
        ("[" * 5_000, "is neither YAML nor JSON"),
        ('{"a":' * 50_000, "is neither YAML nor JSON"),
        (GOOD + " " * (1 << 20), "is too long"),
        ("a: 1\n---\nb: 2\n", "is neither YAML nor JSON"),
        (GOOD.replace('"cpu": "1"', '"cpu": "-1"'), "is negative"),
        (GOOD.replace('"cpu": "1"', '"gpu": "1"'), "unknown resource 'gpu'"),
        (GOOD.replace('"limits": {', '"requests": {"cpu": "2"}, "limits": {'), "requests more cpu"),
        (GOOD.replace('"name": "p"', '"name": "../p"'), "is no name"),
        (GOOD.replace('"name": "p"', '"name": "p", "uid": 7'), "is no uid"),
    ],
)
def test_what_is_no_manifest_is_named_in_one_line(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        read_manifest(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
