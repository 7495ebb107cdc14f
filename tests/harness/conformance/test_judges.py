"""The judgements themselves, on exchanges that are written down: each at the border of what it allows."""

from dataclasses import replace

import pytest

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.conformance.catalogue import BY_ID
from numaproof.harness.conformance.checks.check import Feature, RequirementLevel
from numaproof.harness.conformance.exchange import Called, Ended, Event, Exchange, Happened, Listed, Opened, Registered
from numaproof.harness.conformance.finding import Facts, Finding
from numaproof.harness.conformance.happenings import Happening, Method, Probe, Session
from numaproof.harness.conformance.verdicts import Conditions, judge

RESOURCE = "example.com/gpu"


def registered(**change: object) -> Registered:
    values = {
        "session": Session.CALLS, "time": 1.0, "resource": RESOURCE, "version": "v1beta1",
        "endpoint": "gpu.sock", Probe.OPTIONS: api.DevicePluginOptions(), "via": Method.REGISTER, "accepted": True,
    }  # fmt: skip
    return Registered(**{**values, **change})  # type: ignore[arg-type]


def listed(*devices: api.Device, stream: int = 1, time: float = 1.0) -> Listed:
    response = api.ListAndWatchResponse(devices=devices)
    return Listed(Session.CALLS, time, RESOURCE, stream, response, response.ByteSize())


def device(name: str, health: str = "Healthy", *nodes: int) -> api.Device:
    topology = api.TopologyInfo(nodes=[api.NUMANode(ID=node) for node in nodes]) if nodes else None
    return api.Device(ID=name, health=health, topology=topology)


def allocated(probe: Probe, *batches: tuple[list[str], api.ContainerAllocateResponse], seconds: float = 0.01) -> Called:
    request = api.AllocateRequest(
        container_requests=[api.ContainerAllocateRequest(devices_ids=ids) for ids, _ in batches]
    )
    response = api.AllocateResponse(container_responses=[answer for _, answer in batches])
    return Called(Session.CALLS, 2.0, RESOURCE, Method.ALLOCATE, probe, request, response, "OK", "", seconds)


def env(**variables: str) -> api.ContainerAllocateResponse:
    return api.ContainerAllocateResponse(envs=variables)


def verdict(check: str, *events: Event, facts: Facts | None = None) -> str:
    return BY_ID[check].judge(Exchange(events), facts or Facts()).verdict


@pytest.mark.parametrize(("name", "expected"), [("example.com/gpu", "pass"), ("gpu", "fail")])
def test_resource_names(name: str, expected: str) -> None:
    assert verdict("dp/register/2", registered(resource=name)) == expected


def test_endpoints() -> None:
    assert verdict("dp/register/4", registered(endpoint="x" * 70 + ".sock")) == "pass"  # 32 + 75 = 107 bytes
    assert verdict("dp/register/4", registered(endpoint="x" * 71 + ".sock")) == "fail"
    assert verdict("dp/register/4", registered(endpoint="../gpu.sock")) == "fail"
    assert verdict("dp/register/4", registered(endpoint="")) == "fail"


def test_sizes_and_lengths() -> None:
    assert verdict("dp/list/4", listed(device("x" * 63))) == "pass"
    assert verdict("dp/list/4", listed(device("x" * 64))) == "fail"
    assert verdict("dp/list/4", listed(device(""))) == "fail"
    just = Listed(Session.CALLS, 1, RESOURCE, 1, api.ListAndWatchResponse(), 4 * 1024 * 1024)
    over = Listed(Session.CALLS, 1, RESOURCE, 1, api.ListAndWatchResponse(), 4 * 1024 * 1024 + 1)
    assert (verdict("dp/list/5", just), verdict("dp/list/5", over)) == ("pass", "fail")


def test_numa_ids() -> None:
    two = Facts(frozenset({0, 1}), {"0000:3b:00.0": 1, "0000:3b:00.1": -1})
    assert verdict("dp/list/6", listed(device("a", "Healthy", 0, 1)), facts=two) == "pass"
    assert verdict("dp/list/6", listed(device("a", "Healthy", 2)), facts=two) == "fail"
    assert verdict("dp/list/6", listed(device("a", "Healthy", 63))) == "pass"  # on a machine that nobody described
    assert verdict("dp/list/6", listed(device("a", "Healthy", 64))) == "fail"
    assert verdict("dp/list/7", listed(device("gpu-0000:3B:00.0", "Healthy", 1)), facts=two) == "pass"
    assert verdict("dp/list/7", listed(device("0000:3b:00.0", "Healthy", 0)), facts=two) == "fail"
    assert (
        verdict("dp/list/7", listed(device("0000:3b:00.0")), facts=two) == "pass"
    )  # it says nothing, so nothing wrong
    assert verdict("dp/list/7", listed(device("0000:3b:00.1", "Healthy", 0)), facts=two) == "fail"
    assert verdict("dp/list/7", listed(device("0000:99:00.0", "Healthy", 0)), facts=two) == "skip"


def test_a_list_without_a_device_that_is_gone_is_full_and_one_of_changes_alone_is_not() -> None:
    opened = Opened(Session.CALLS, 0.0, RESOURCE, 1, Probe.REGISTERED)
    first = listed(device("a"), device("b"), device("c"))
    gone = listed(device("a"), device("b"), time=2)
    partial = listed(device("b", "Unhealthy"), time=2)
    assert verdict("dp/list/1", opened, first, gone) == "pass"
    assert verdict("dp/list/1", opened, first, partial) == "fail"
    assert verdict("dp/list/1", opened, listed(device("a"), time=10.5)) == "fail"  # late
    assert verdict("dp/list/1", opened, Ended(Session.CALLS, 30, RESOURCE, 1, "CANCELLED", "", True)) == "fail"  # never


def test_a_stream_that_the_suite_ended_is_nobodys_fault() -> None:
    opened = Opened(Session.CALLS, 0.0, RESOURCE, 1, Probe.REGISTERED)
    assert verdict("dp/list/8", opened, Ended(Session.CALLS, 3, RESOURCE, 1, "CANCELLED", "", True)) == "pass"
    assert verdict("dp/list/8", opened, Ended(Session.CALLS, 3, RESOURCE, 1, "OK", "", False)) == "fail"


def test_a_subject_that_begins_anew_for_a_new_kubelet_may_end_its_stream() -> None:
    events: list[Event] = [
        Happened(Session.EARLY, 0.0, Happening.SUBJECT_STARTED),
        Happened(Session.EARLY, 3.0, Happening.KUBELET_STARTED),
        Opened(Session.EARLY, 3.1, RESOURCE, 1, Probe.REGISTERED),
        Ended(Session.EARLY, 3.2, RESOURCE, 1, "UNAVAILABLE", "", False),
    ]
    again = registered(session=Session.EARLY, time=3.3)
    assert verdict("dp/list/8", *events, again) == "pass"
    assert (verdict("dp/list/1", *events, again), verdict("dp/list/1", *events)) == ("pass", "fail")
    assert verdict("dp/list/8", *events) == "fail"  # it never came again
    assert (
        verdict("dp/list/8", *events, registered(session=Session.EARLY, time=3.3, resource="example.com/x")) == "fail"
    )
    other = registered(session=Session.EARLY, time=3.1, resource="example.com/x", accepted=False)
    assert verdict("dp/list/8", events[0], other, *events[2:], again) == "pass"  # all begin anew when one is refused
    # No kubelet was new to this one: it drops its stream for reasons of its own.
    assert (
        verdict("dp/list/8", events[1], Happened(Session.EARLY, 3.05, Happening.SUBJECT_STARTED), *events[2:], again)
        == "fail"
    )


def test_each_change_of_health_has_to_reach_the_current_stream() -> None:
    before = Happened(Session.RESTART, 1.0, Happening.HEALTHY_SEEN_BEFORE)
    unhealthy = Happened(Session.RESTART, 2.0, Happening.UNHEALTHY_SEEN_AFTER, "a")
    assert (
        verdict("dp/list/10", before, unhealthy, Happened(Session.RESTART, 3.0, Happening.HEALTHY_SEEN_AFTER)) == "pass"
    )
    lost = Happened(Session.RESTART, 3.0, Happening.HEALTHY_NOT_SEEN_AFTER, "within 30 s")
    assert verdict("dp/list/10", before, unhealthy, lost) == "fail"
    assert verdict("dp/list/10", unhealthy, lost) == "pass"  # that it recovers at all was never seen


def test_options_that_a_dying_subject_does_not_tell_are_nobodys_fault() -> None:
    asked = Called(
        Session.REFUSED, 5.0, RESOURCE, Method.OPTIONS, Probe.REGISTER, api.Empty(), None, "UNAVAILABLE", "", 0.1
    )
    assert verdict("dp/options/1", asked) == "fail"
    assert verdict("dp/options/1", Happened(Session.REFUSED, 5.05, Happening.CONNECTIONS_END), asked) == "pass"
    assert (
        verdict("dp/options/1", Happened(Session.CALLS, 5.05, Happening.CONNECTIONS_END), asked) == "fail"
    )  # another subject's
    assert (
        verdict("dp/options/1", asked, Happened(Session.REFUSED, 6.0, Happening.CONNECTIONS_END)) == "fail"
    )  # it came later


def test_who_ended_before_sigterm_cannot_be_judged_by_it() -> None:
    sent = Happened(Session.EARLY, 5.0, Happening.SIGTERM)
    assert verdict("dp/register/11", Happened(Session.EARLY, 4.0, Happening.SUBJECT_EXITED, "panic", 2), sent) == "skip"
    assert verdict("dp/register/11", sent, Happened(Session.EARLY, 6.0, Happening.SUBJECT_EXITED, "", 2)) == "fail"


def test_a_judge_that_stumbles_is_an_error_of_the_suite() -> None:
    def stumble(_exchange: Exchange, _facts: Facts) -> Finding:
        raise StopIteration

    result = judge(replace(BY_ID["dp/list/2"], judge=stumble), Exchange((registered(),)), Conditions(Facts(), {}, {}))
    assert (result.verdict, "StopIteration" in result.seen) == ("error", True)


def test_batches_are_compared_with_separate_calls_as_far_as_those_agree() -> None:
    a, b = (["a"], env(X="a")), (["b"], env(X="b"))
    separate = [allocated(Probe.SINGLE, a), allocated(Probe.SINGLE, b)]
    assert verdict("dp/allocate/2", *separate, allocated(Probe.BATCH, a, b)) == "pass"
    assert verdict("dp/allocate/2", *separate, allocated(Probe.BATCH, a, (["b"], env(X="a,b")))) == "fail"
    assert verdict("dp/allocate/2", *separate, allocated(Probe.BATCH, a, (["b"], env(X="b", Y="a")))) == "fail"
    # Separate calls that differ among themselves prove nothing about a batch: that is another check's.
    unsteady = [allocated(Probe.SINGLE, (["b"], env(X="b", T=time))) for time in "12"]
    assert (
        verdict("dp/allocate/2", separate[0], *unsteady, allocated(Probe.BATCH, a, (["b"], env(X="b", T="3"))))
        == "pass"
    )
    assert (
        verdict("dp/allocate/2", separate[0], *unsteady, allocated(Probe.BATCH, a, (["b"], env(X="a", T="3"))))
        == "fail"
    )


def test_the_only_device_asked_for_twice_tells_whether_responses_are_counted() -> None:
    first, second = (["a"], env(X="a")), (["a"], env(X="busy"))
    assert (
        verdict("dp/allocate/2", allocated(Probe.SINGLE, first), allocated(Probe.SAME_TWICE, first, second)) == "pass"
    )
    asked = allocated(Probe.SAME_TWICE, first, second)
    merged = replace(asked, response=api.AllocateResponse(container_responses=[first[1]]))
    assert verdict("dp/allocate/2", allocated(Probe.SINGLE, first), merged) == "fail"
    refused = replace(asked, response=None, code="INVALID_ARGUMENT")
    assert verdict("dp/allocate/2", allocated(Probe.SINGLE, first), refused) == "skip"


def test_the_order_within_a_response_says_nothing() -> None:
    one, two = (api.DeviceSpec(container_path=f"/dev/{n}", host_path=f"/dev/{n}", permissions="rw") for n in "12")
    first = allocated(Probe.ORDERED, (["a", "b"], api.ContainerAllocateResponse(devices=[one, two])))
    second = allocated(Probe.ORDERED, (["b", "a"], api.ContainerAllocateResponse(devices=[two, one])))
    assert verdict("dp/allocate/4", first, second) == "pass"
    other = allocated(Probe.ORDERED, (["b", "a"], api.ContainerAllocateResponse(devices=[two])))
    assert verdict("dp/allocate/4", first, other) == "fail"


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("vendor.com/class=device", True),
        ("nvidia.com/gpu=GPU-1f2e", True),
        ("vendor.com/class=0", True),
        ("vendor.com/class", False),
        ("class=device", False),
        ("vendor.com/=device", False),
        ("vendor.com/class=", False),
        ("ven dor.com/class=a", False),
    ],
)
def test_cdi_names(name: str, good: bool) -> None:
    answer = api.ContainerAllocateResponse(cdi_devices=[api.CDIDevice(name=name)])
    assert (verdict("dp/allocate/6", allocated(Probe.SINGLE, (["a"], answer))) == "pass") is good


@pytest.mark.parametrize(
    ("permissions", "good"), [("rwm", True), ("r", True), ("", True), ("rx", False), ("RW", False)]
)
def test_permissions(permissions: str, good: bool) -> None:
    spec = api.DeviceSpec(container_path="/dev/a", host_path="/dev/a", permissions=permissions)
    answer = api.ContainerAllocateResponse(devices=[spec])
    assert (verdict("dp/allocate/6", allocated(Probe.SINGLE, (["a"], answer))) == "pass") is good


def test_one_quick_answer_shows_that_a_plugin_is_not_slow() -> None:
    slow, quick = (allocated(Probe.SINGLE, (["a"], env()), seconds=seconds) for seconds in (5.0, 0.9))
    assert verdict("dp/allocate/8", slow, quick) == "pass"
    assert verdict("dp/allocate/8", slow, slow) == "fail"


def test_paths_and_variables_across_resources() -> None:
    spec = api.DeviceSpec(container_path="/dev/a", host_path="/dev/a", permissions="rw")
    answer = api.ContainerAllocateResponse(devices=[spec], envs={"X": "1"})
    first = allocated(Probe.SINGLE, (["a"], answer))
    other = Called(Session.CALLS, 3, "example.com/nic", *[getattr(first, name) for name in Called.__slots__[3:]])
    assert verdict("dp/allocate/5", first, first) == "pass"
    assert verdict("dp/allocate/5", first, other) == "fail"
    assert verdict("dp/allocate/7", first, first) == "pass"
    assert verdict("dp/allocate/7", first, other) == "fail"


def test_a_death_of_unknown_ids_is_not_taken_for_an_error() -> None:
    died = Called(
        Session.CALLS, 5, RESOURCE, Method.ALLOCATE, Probe.UNKNOWN, api.AllocateRequest(), None, "UNAVAILABLE", "", 0.1
    )
    assert verdict("dp/allocate/3", died) == "pass"
    assert verdict("dp/allocate/3", died, Happened(Session.CALLS, 5.2, Happening.SUBJECT_EXITED, "panic", 2)) == "fail"


def test_levels_decide_what_a_violation_weighs() -> None:
    bad: dict[RequirementLevel, tuple[str, Event]] = {
        RequirementLevel.MUST: ("dp/register/1", registered(version="v2")),
        RequirementLevel.SHOULD: ("dp/list/4", listed(device(""))),
        RequirementLevel.MAY: ("dp/allocate/7", allocated(Probe.SINGLE, (["a"], env(PATH="/")))),
    }
    for strict, expected in ((False, ["fail", "warn", "warn"]), (True, ["fail", "fail", "warn"])):
        conditions = Conditions(Facts(), absent={}, broken={}, strict=strict)
        seen = [
            judge(BY_ID[check], Exchange((registered(), event)), conditions).verdict for check, event in bad.values()
        ]
        assert seen == expected


def test_a_fault_of_the_suite_is_an_error_and_a_missing_session_a_skip() -> None:
    exchange = Exchange((registered(),))
    broken = Conditions(Facts(), absent={}, broken={Session.RESTART: "KeyError: x"})
    assert judge(BY_ID["dp/register/6"], exchange, broken).verdict == "error"
    absent = Conditions(Facts(), absent={Session.RESTART: "not ours to restart"}, broken={})
    result = judge(BY_ID["dp/register/6"], exchange, absent)
    assert (result.verdict, result.seen) == ("skip", "not ours to restart")


def test_features_decide_what_is_judged() -> None:
    exchange = Exchange((registered(),))
    unforced = judge(BY_ID["dp/preferred/1"], exchange, Conditions(Facts(), {}, {}))
    assert (unforced.verdict, "get_preferred_allocation_available" in unforced.seen) == ("skip", True)
    forced = judge(
        BY_ID["dp/preferred/1"], exchange, Conditions(Facts(), {}, {}, features=frozenset({Feature.PREFERRED}))
    )
    assert forced.seen == "it lists no healthy device"
