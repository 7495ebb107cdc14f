"""Checks of lists, their streams and health."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.conformance.checks.check import Feature, RequirementLevel, check
from numaproof.harness.conformance.exchange import Ended, Exchange, Happened, Listed, Opened, Registered
from numaproof.harness.conformance.finding import Facts, Finding, failed, finding_of, passed, skipped
from numaproof.harness.conformance.happenings import Happening, Method, Probe, Session, Topic

PROMPT_SECONDS = 10
MOST_BYTES = 4 * 1024 * 1024
_ASKED = {
    Happening.UNHEALTHY_ASKED_BEFORE,
    Happening.HEALTHY_ASKED_BEFORE,
    Happening.UNHEALTHY_ASKED_AFTER,
    Happening.HEALTHY_ASKED_AFTER,
}
_PCI_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.IGNORECASE)


def _lists(exchange: Exchange) -> Iterator[tuple[str, api.ListAndWatchResponse]]:
    """Every different list once: the same one comes on many streams, and may be long."""
    seen = set()
    for event in exchange.of(Listed):
        key = (event.resource, event.response.SerializeToString(deterministic=True))
        if key not in seen:
            seen.add(key)
            yield event.resource, event.response


def _devices(exchange: Exchange) -> Iterator[tuple[str, api.Device]]:
    for resource, response in _lists(exchange):
        for device in response.devices:
            yield resource, device


def _streams(exchange: Exchange) -> Iterator[tuple[Opened, tuple[Listed, ...], Ended | None]]:
    ends = {event.stream: event for event in exchange.of(Ended)}
    lists: dict[int, list[Listed]] = {}
    for event in exchange.of(Listed):
        lists.setdefault(event.stream, []).append(event)
    for opened in exchange.of(Opened):
        yield opened, tuple(lists.get(opened.stream, ())), ends.get(opened.stream)


@check(
    "dp/list/1",
    RequirementLevel.MUST,
    title="full lists, promptly",
    requirement="ListAndWatch sends a first list promptly, and every message is the full list.",
    why="The kubelet replaces its whole view with each message: a device that is left out is gone.",
    remedy="Send all devices as soon as the stream is open, and all of them again after every change.",
    sessions=(Session.CALLS, Session.RESTART),
    about=(Method.LIST_AND_WATCH, Topic.STREAM, Topic.HEALTH),
)
def full_and_prompt(exchange: Exchange, _facts: Facts) -> Finding:
    wrong = []
    slowest = 0.0
    for opened, lists, end in _streams(exchange):
        if opened.probe is not Probe.REGISTERED:
            continue
        if lists:
            slowest = max(slowest, lists[0].time - opened.time)
        elif end is not None and _comes_again(exchange, end):
            continue  # it began anew before the list was sent
        elif end is None or not end.expected or end.time - opened.time > PROMPT_SECONDS:
            how = f"the stream ended with {end.code} {end.details}" if end and not end.expected else "nothing came"
            wrong.append(f"{opened.resource}: no list: {how}")
        wrong += [f"{opened.resource}: {problem}" for problem in _partial_list_problems(lists)]
    if slowest > PROMPT_SECONDS:
        wrong.append(f"the first list came after {slowest:.1f} s")
    return finding_of(wrong, f"the slowest first list took {slowest:.2f} s")


def _partial_list_problems(lists: tuple[Listed, ...]) -> Iterator[str]:
    """A message that tells of changed devices only, and leaves all others out."""
    for earlier, later in itertools.pairwise(lists):
        before = {device.ID: device.health for device in earlier.response.devices}
        now = {device.ID: device.health for device in later.response.devices}
        if now and now.keys() < before.keys() and all(before[device] != health for device, health in now.items()):
            yield f"a message has {len(now)} changed of {len(before)} devices, and not the others"


@check(
    "dp/list/2",
    RequirementLevel.MUST,
    title="unique ids",
    requirement="Each device id is listed once.",
    why="The kubelet counts an id that is listed as healthy and as unhealthy in both sets.",
    remedy="Give each device an id of its own.",
    sessions=(Session.CALLS, Session.RESTART),
    about=(Method.LIST_AND_WATCH,),
)
def unique_ids(exchange: Exchange, _facts: Facts) -> Finding:
    wrong = []
    for resource, response in _lists(exchange):
        ids = Counter(device.ID for device in response.devices)
        wrong += [f"{resource}: {device!r} is listed {times} times" for device, times in ids.items() if times > 1]
    return finding_of(wrong, "no id is listed twice")


@check(
    "dp/list/3",
    RequirementLevel.MUST,
    title="health words",
    requirement="A device's health is exactly `Healthy` or `Unhealthy`.",
    why="The kubelet compares with `Healthy`; every other word, `healthy` too, makes the device unhealthy.",
    remedy="Use the constants of the device plugin API.",
    sessions=(Session.CALLS, Session.RESTART),
    about=(Method.LIST_AND_WATCH,),
)
def health_words(exchange: Exchange, _facts: Facts) -> Finding:
    wrong = [
        f"{resource}: {device.ID!r} has the health {device.health!r}"
        for resource, device in _devices(exchange)
        if device.health not in {"Healthy", "Unhealthy"}
    ]
    return finding_of(wrong, "Healthy and Unhealthy only")


@check(
    "dp/list/4",
    RequirementLevel.SHOULD,
    title="length of ids",
    requirement="A device id is not empty and has at most 63 characters.",
    why="The API says so; tools that use ids as label values rely on it.",
    remedy="Use short ids: a UUID, a PCI address, a serial number.",
    sessions=(Session.CALLS,),
    about=(Method.LIST_AND_WATCH,),
)
def id_lengths(exchange: Exchange, _facts: Facts) -> Finding:
    wrong = [
        f"{resource}: an id of {len(device.ID)} characters: {device.ID[:70]!r}"
        for resource, device in _devices(exchange)
        if not 1 <= len(device.ID) <= 63
    ]
    longest = max((len(device.ID) for _, device in _devices(exchange)), default=0)
    return finding_of(wrong, f"the longest id has {longest} characters")


@check(
    "dp/list/5",
    RequirementLevel.MUST,
    title="size of a list",
    requirement="A list has less than 4 MiB.",
    why=(
        "The kubelet's gRPC client refuses larger messages: registration succeeds, the stream dies, and 0 devices are "
        "allocatable."
    ),
    remedy="Offer fewer devices, or shorten their ids: 75,000 devices of 40 bytes fit.",
    sessions=(Session.CALLS,),
    about=(Method.LIST_AND_WATCH,),
)
def list_size(exchange: Exchange, _facts: Facts) -> Finding:
    largest = max((event.size for event in exchange.of(Listed)), default=0)
    if largest > MOST_BYTES:
        return failed(f"a list of {largest:,} bytes")
    return passed(f"the largest list has {largest:,} bytes")


@check(
    "dp/list/6",
    RequirementLevel.MUST,
    title="NUMA ids exist",
    requirement="No device has the NUMA id -1, one that the machine does not have, or one above 63.",
    why=(
        "Such a device yields no topology hint: the policies restricted and single-numa-node then reject every pod "
        "that asks for it."
    ),
    remedy="Leave topology out when the node is unknown (sysfs says -1).",
    sessions=(Session.CALLS,),
    about=(Method.LIST_AND_WATCH,),
    since="v1.17",
)
def numa_exists(exchange: Exchange, facts: Facts) -> Finding:
    wrong = []
    topologies = 0
    for resource, device in _devices(exchange):
        for node in device.topology.nodes:
            topologies += 1
            if node.ID < 0 or node.ID > 63:
                wrong.append(f"{resource}: {device.ID!r} has the NUMA id {node.ID}")
            elif facts.node_ids and node.ID not in facts.node_ids:
                nodes = ", ".join(map(str, sorted(facts.node_ids)))
                wrong.append(f"{resource}: {device.ID!r} has the NUMA id {node.ID}; the machine has {nodes}")
    return finding_of(wrong, "every NUMA id exists" if topologies else "no device has a topology")


@check(
    "dp/list/7",
    RequirementLevel.MUST,
    title="NUMA ids are true",
    requirement="A device that is a PCI device has the NUMA node that its sysfs numa_node says.",
    why="A wrong node aligns CPUs and memory with the wrong half of the machine, and nobody notices.",
    remedy="Read /sys/bus/pci/devices/ADDRESS/numa_node of each device.",
    sessions=(Session.CALLS,),
    about=(Method.LIST_AND_WATCH,),
    since="v1.17",
)
def numa_true(exchange: Exchange, facts: Facts) -> Finding:
    wrong, mapped = [], 0
    for resource, device in _devices(exchange):
        for address in _PCI_ADDRESS.findall(device.ID):
            node = facts.pci_nodes.get(address.lower())
            if node is None:
                continue
            mapped += 1
            said = sorted(n.ID for n in device.topology.nodes)
            if said and said != [node]:
                wrong.append(f"{resource}: {device.ID!r} has the NUMA ids {said}, sysfs says {node}")
    if not mapped:
        return skipped("no device id holds the address of a PCI device of this machine")
    return finding_of(wrong, "as in sysfs")


@check(
    "dp/list/8",
    RequirementLevel.MUST,
    title="the stream stays open",
    requirement="The plugin keeps the ListAndWatch stream open.",
    why="Its end marks all devices unhealthy at once, and removes the resource after five minutes.",
    remedy="Return from ListAndWatch only when the caller's context ends or the plugin stops.",
    sessions=(Session.CALLS, Session.RESTART),
    about=(Method.LIST_AND_WATCH, Topic.STREAM, Topic.SUBJECT),
)
def stays_open(exchange: Exchange, _facts: Facts) -> Finding:
    wrong = []
    for opened, _lists, end in _streams(exchange):
        # The stream after a cancelled one is the next check's.
        if end is None or end.expected or _comes_again(exchange, end):
            continue
        if opened.probe is Probe.REGISTERED:
            exits = exchange.happenings(Happening.SUBJECT_EXITED, opened.session, since=opened.time)
            why = f"; the subject exited with the code {exits[0].value}" if exits else ""
            after = end.time - opened.time
            wrong.append(f"{opened.resource}: the stream ended with {end.code} after {after:.1f} s{why}")
    longest = max((end.time - opened.time for opened, _, end in _streams(exchange) if end), default=0.0)
    return finding_of(wrong, f"open for up to {longest:.1f} s, until the suite ended it")


def _comes_again(exchange: Exchange, end: Ended) -> bool:
    """Whether a stream ended because the subject had a reason to begin anew, and registers again.

    The reasons: a new kubelet.sock, of which the news may reach one that is registered already, and the refusal of
    another of its resources. A kubelet stands both.
    """
    if end.expected:
        return False
    registrations = exchange.of(Registered, end.session)
    starts = [event.time for event in exchange.happenings(Happening.SUBJECT_STARTED, end.session)]
    started = max((time for time in starts if time <= end.time), default=0.0)
    reasons = [event.time for event in exchange.happenings(Happening.KUBELET_STARTED, end.session)]
    reasons += [event.time for event in registrations if not event.accepted]
    return any(started < reason <= end.time for reason in reasons) and any(
        event.resource == end.resource and event.time >= end.time for event in registrations
    )


@check(
    "dp/list/9",
    RequirementLevel.MUST,
    title="a cancelled stream",
    requirement="The plugin survives a cancelled stream, and a second one starts with a fresh full list.",
    why="A kubelet whose connection broke asks again; a plugin that died, or no longer has its list, is lost to it.",
    remedy=(
        "Treat each ListAndWatch call as new: send the list first, then wait for changes or the end of the call's "
        "context."
    ),
    sessions=(Session.CALLS,),
    about=(Method.LIST_AND_WATCH, Topic.STREAM, Topic.SUBJECT),
)
def survives_cancel(exchange: Exchange, _facts: Facts) -> Finding:
    cancelled = exchange.happened(Happening.STREAM_CANCELLED)
    if cancelled is None:
        return skipped("there was no stream to cancel")
    wrong = []
    firsts = {
        o.resource: lists
        for o, lists, _ in _streams(exchange)
        if o.probe is Probe.REGISTERED and o.session is Session.CALLS
    }
    for opened, lists, end in _streams(exchange):
        if opened.probe is not Probe.SECOND:
            continue
        before = {device.ID for event in firsts.get(opened.resource, ())[-1:] for device in event.response.devices}
        now = {device.ID for event in lists[:1] for device in event.response.devices}
        if not lists:
            how = f"it ended with {end.code} {end.details}" if end and not end.expected else "nothing came"
            wrong.append(f"{opened.resource}: the second stream brought no list: {how}")
        elif missing := before - now:
            wrong.append(f"{opened.resource}: the second stream's list lacks {', '.join(sorted(missing)[:5])}")
    exits = exchange.happenings(Happening.SUBJECT_EXITED, Session.CALLS, since=cancelled.time)
    if exits:
        wrong.append(f"the subject exited with the code {exits[0].value}")
    return finding_of(wrong, "the second stream began with the full list")


@check(
    "dp/list/10",
    RequirementLevel.MUST,
    title="health reaches the current stream",
    requirement="After a new registration a change of health is sent on the current stream.",
    why=(
        "A frequent defect: the old stream's goroutine still waits on the shared channel and takes the update; the "
        "kubelet goes on to allocate a broken device."
    ),
    remedy="End the old stream's loop with its context, or give every stream a channel of its own.",
    sessions=(Session.RESTART,),
    about=(Method.LIST_AND_WATCH, Topic.STREAM, Topic.HEALTH),
    feature=Feature.HEALTH,
)
def reaches_current(exchange: Exchange, _facts: Facts) -> Finding:
    if found := exchange.happened(Happening.UNHEALTHY_SEEN_AFTER):
        # Of a channel that two goroutines read, each gets every other change: this one, or the one before.
        lost = exchange.happened(Happening.HEALTHY_NOT_SEEN_AFTER)
        if lost and exchange.happened(Happening.HEALTHY_SEEN_BEFORE):
            return failed(f"a device was healed, and no list of the current stream says so {lost.details}")
        return passed(f"unhealthy: {found.details}")
    if missing := exchange.happened(Happening.UNHEALTHY_NOT_SEEN_AFTER):
        return failed(f"a device was made unhealthy, and no list of the current stream says so {missing.details}")
    return _why_no_change(exchange)


@check(
    "dp/list/11",
    RequirementLevel.SHOULD,
    title="recovery",
    requirement="A device that becomes healthy again is reported as `Healthy`.",
    why="Otherwise the device is lost to the node until the plugin restarts.",
    remedy="Watch for recovery too, and send the list again.",
    sessions=(Session.RESTART,),
    about=(Method.LIST_AND_WATCH, Topic.STREAM, Topic.HEALTH),
    feature=Feature.HEALTH,
)
def recovers(exchange: Exchange, _facts: Facts) -> Finding:
    if exchange.happened(Happening.HEALTHY_SEEN_BEFORE):
        return passed("Healthy again")
    if missing := exchange.happened(Happening.HEALTHY_NOT_SEEN_BEFORE):
        return failed(f"a device was healed, and no list says so {missing.details}")
    if exchange.happened(Happening.UNHEALTHY_NOT_SEEN_BEFORE):
        return skipped("no device was reported as unhealthy")
    return _why_no_change(exchange)


def _why_no_change(exchange: Exchange) -> Finding:
    for event in exchange.of(Happened, Session.RESTART):
        if event.what in _ASKED and event.value:
            return skipped(f"the command failed: {event.details}")
    if exchange.happened(Happening.HEALTHY_NOT_SEEN_BEFORE):
        return skipped("it does not report recovery, so that no second change could be seen")
    return skipped("no list came, or it did not register again")
