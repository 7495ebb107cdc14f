"""Checks of Allocate."""

import re
from collections import Counter
from collections.abc import Iterator

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.conformance.checks.check import RequirementLevel, check
from numaproof.harness.conformance.exchange import Called, Exchange
from numaproof.harness.conformance.finding import NO_DEVICE, NOT_REACHED, Facts, Finding, finding_of, skipped
from numaproof.harness.conformance.happenings import Happening, Method, Probe, Session, Topic

FAST_SECONDS = 1.0
_VALID = (Probe.SINGLE, Probe.ORDERED, Probe.ALL, Probe.BATCH, Probe.MIXED_SIZES)
_CDI_NAME = re.compile(
    r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?/[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?=[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?"
)
# Names that images, pods or the kubelet set themselves.
_COMMON_NAMES = {
    "PATH", "HOME", "HOSTNAME", "USER", "SHELL", "LANG", "LC_ALL", "TERM", "TZ", "PWD",
    "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
}  # fmt: skip

Item = tuple[str, ...]


def _items(response: api.ContainerAllocateResponse) -> Counter[Item]:
    """A response as a bag of its parts: their order says nothing."""
    bag: Counter[Item] = Counter()
    bag.update(("environment", name, value) for name, value in sorted(response.envs.items()))
    bag.update(("annotation", name, value) for name, value in sorted(response.annotations.items()))
    bag.update(("mount", m.container_path, m.host_path, str(m.read_only)) for m in response.mounts)
    bag.update(("device", d.container_path, d.host_path, d.permissions) for d in response.devices)
    bag.update(("CDI device", cdi.name) for cdi in response.cdi_devices)
    return bag


def _answers(
    exchange: Exchange, *probes: Probe
) -> Iterator[tuple[Called, list[list[str]], list[api.ContainerAllocateResponse]]]:
    for call in exchange.calls(Method.ALLOCATE, *probes):
        if isinstance(call.request, api.AllocateRequest) and isinstance(call.response, api.AllocateResponse):
            batches = [list(container.devices_ids) for container in call.request.container_requests]
            yield call, batches, list(call.response.container_responses)


def _request_text(call: Called) -> str:
    assert isinstance(call.request, api.AllocateRequest)
    return " + ".join(f"[{', '.join(c.devices_ids)}]" for c in call.request.container_requests)


@check(
    "dp/allocate/1",
    RequirementLevel.MUST,
    title="a response",
    requirement="Allocate of listed, healthy ids succeeds with at least one container response.",
    why="The kubelet reads the first response without looking whether there is one.",
    remedy="Answer each container request with a response, be it empty.",
    sessions=(Session.CALLS,),
    about=(Method.ALLOCATE,),
)
def has_response(exchange: Exchange, _facts: Facts) -> Finding:
    calls = exchange.calls(Method.ALLOCATE, *_VALID)
    if not calls:
        return skipped(NO_DEVICE)
    wrong = [f"{_request_text(call)}: {call.code}: {call.details}" for call in calls if call.code != "OK"]
    wrong += [
        f"{_request_text(call)}: no container response"
        for call, _, answers in _answers(exchange, *_VALID)
        if not answers
    ]
    return finding_of(wrong, f"{len(calls)} allocations succeeded")


@check(
    "dp/allocate/2",
    RequirementLevel.MUST,
    title="a response for each container",
    requirement="There are as many responses as requests, and a batch is answered as separate calls are.",
    why=(
        "A frequent defect: a variable outside of the loop carries one container's devices and environment into the "
        "next."
    ),
    remedy="Build each container's response from nothing, inside of the loop.",
    sessions=(Session.CALLS,),
    about=(Method.ALLOCATE,),
)
def as_many(exchange: Exchange, _facts: Facts) -> Finding:
    separate: dict[tuple[str, tuple[str, ...]], list[Counter[Item]]] = {}
    for call, batches, answers in _answers(exchange, Probe.SINGLE, Probe.ORDERED):
        if len(batches) == 1 and len(answers) == 1:
            separate.setdefault((call.resource, tuple(batches[0])), []).append(_items(answers[0]))
    wrong, compared = [], 0
    for call, batches, answers in _answers(exchange, Probe.BATCH, Probe.MIXED_SIZES, Probe.SAME_TWICE):
        if not answers:
            continue  # the check before reports it
        compared += 1
        if len(answers) != len(batches):
            wrong.append(f"{_request_text(call)}: {len(batches)} requests, {len(answers)} responses")
            continue
        if call.probe == Probe.SAME_TWICE:
            continue  # what the second of them gets is the plugin's to decide
        for ids, answer in zip(batches, answers, strict=True):
            wrong += [
                f"{_request_text(call)}: for [{', '.join(ids)}] {problem}"
                for problem in _batch_problems(_items(answer), separate.get((call.resource, tuple(ids)), []))
            ]
    return finding_of(wrong, "batches equal separate calls") if compared else skipped("it has no two healthy devices")


def _batch_problems(batch: Counter[Item], separate: list[Counter[Item]]) -> Iterator[str]:
    """How an answer in a batch differs from the answers to separate calls; what differs among those says nothing."""
    if not separate:
        return
    steady = separate[0]
    for other in separate[1:]:
        steady = steady & other
    if missing := steady - batch:
        yield f"the batch lacks {_items_text(missing)}"
    if all(other == separate[0] for other in separate) and (extra := batch - separate[0]):
        yield f"the batch has {_items_text(extra)} that a separate call has not"


def _items_text(items: Counter[Item]) -> str:
    return ", ".join(" ".join(item[:3]) for item in list(items)[:3])


@check(
    "dp/allocate/3",
    RequirementLevel.SHOULD,
    title="invalid ids",
    requirement="Unknown, mixed (known and unknown) or empty ids get an error, whatever its code.",
    why=(
        "After a change of the devices the kubelet may ask for one that is gone; a container must not start without "
        "its device."
    ),
    remedy="Look up each id, and return an error such as NotFound.",
    sessions=(Session.CALLS,),
    about=(Method.ALLOCATE, Topic.SUBJECT),
)
def invalid_ids(exchange: Exchange, _facts: Facts) -> Finding:
    calls = exchange.calls(Method.ALLOCATE, Probe.UNKNOWN, Probe.MIXED, Probe.EMPTY)
    if not calls:
        return skipped(NOT_REACHED)
    wrong = [f"{call.probe} ids {_request_text(call)} are allocated" for call in calls if call.code == "OK"]
    cancelled = exchange.happened(Happening.STREAM_CANCELLED)
    for event in exchange.happenings(Happening.SUBJECT_EXITED, Session.CALLS):
        # Who exits after its stream was cancelled has survived the calls: that is another check's.
        if not (cancelled and event.time >= cancelled.time):
            before = [c for c in exchange.calls(Method.ALLOCATE) if c.time <= event.time]
            if before and before[-1] in calls and event.time - before[-1].time - before[-1].seconds < 10:
                ids = f"{before[-1].probe} ids {_request_text(before[-1])}"
                wrong.append(f"{ids}: the subject exited with the code {event.value}")
    wrong += [
        f"{c.probe} ids {_request_text(c)}: no answer in {c.seconds:.0f} s"
        for c in calls
        if c.code == "DEADLINE_EXCEEDED"
    ]
    return finding_of(wrong, "all are refused")


@check(
    "dp/allocate/4",
    RequirementLevel.SHOULD,
    title="steady answers",
    requirement="The same ids get the same response, whatever their order.",
    why="The kubelet's order is that of a set: a response that depends on it changes from start to start.",
    remedy="Sort the ids before you use them.",
    sessions=(Session.CALLS,),
    about=(Method.ALLOCATE,),
)
def steady(exchange: Exchange, _facts: Facts) -> Finding:
    first: dict[tuple[str, tuple[str, ...]], tuple[str, Counter[Item]]] = {}
    wrong, compared = [], 0
    for call, batches, answers in _answers(exchange, Probe.SINGLE, Probe.ORDERED):
        if len(batches) != 1 or len(answers) != 1:
            continue
        key = (call.resource, tuple(sorted(batches[0])))
        items = _items(answers[0])
        if key not in first:
            first[key] = (_request_text(call), items)
            continue
        compared += 1
        before, seen = first[key]
        if items != seen:
            less, more = _items_text(seen - items) or "less", _items_text(items - seen) or "less"
            wrong.append(f"{before} has {less}, {_request_text(call)} has {more}")
    return finding_of(wrong, f"{compared} repetitions agree") if compared else skipped(NO_DEVICE)


@check(
    "dp/allocate/5",
    RequirementLevel.SHOULD,
    title="distinct container paths",
    requirement=(
        "No two device specs, nor two mounts, have one container path, within a response or across the plugin's "
        "resources."
    ),
    why="The kubelet takes the first and drops the rest, with no more than a line in its log.",
    remedy="Add shared devices once for each container.",
    sessions=(Session.CALLS,),
    about=(Method.ALLOCATE,),
)
def distinct_paths(exchange: Exchange, _facts: Facts) -> Finding:
    wrong, owners = [], dict[tuple[str, str], str]()
    answered = False
    for call, _batches, answers in _answers(exchange, *_VALID):
        for answer in answers:
            answered = True
            for kind, paths in (
                ("device specs", [spec.container_path for spec in answer.devices]),
                ("mounts", [mount.container_path for mount in answer.mounts]),
            ):
                wrong += [
                    f"{_request_text(call)}: {count} {kind} at {path}"
                    for path, count in Counter(paths).items()
                    if count > 1
                ]
                for path in paths:
                    owner = owners.setdefault((kind, path), call.resource)
                    if owner != call.resource:
                        wrong.append(f"{owner} and {call.resource} both have {kind} at {path}")
    return finding_of(wrong, "every container path is used once") if answered else skipped(NO_DEVICE)


@check(
    "dp/allocate/6",
    RequirementLevel.MUST,
    title="well-formed responses",
    requirement=(
        "Paths are absolute, permissions are letters of `rwm`, CDI names are qualified (`vendor.com/class=name`)."
    ),
    why="The container runtime refuses anything else, and the container never starts.",
    remedy="Write absolute paths on both sides, `rw` or `rwm`, and full CDI names.",
    sessions=(Session.CALLS,),
    about=(Method.ALLOCATE,),
)
def well_formed(exchange: Exchange, _facts: Facts) -> Finding:
    wrong, answered = [], False
    for call, _batches, answers in _answers(exchange, *_VALID):
        for answer in answers:
            answered = True
            wrong += [f"{_request_text(call)}: {problem}" for problem in _form_problems(answer)]
    return finding_of(wrong, "paths, permissions and names are well-formed") if answered else skipped(NO_DEVICE)


def _form_problems(answer: api.ContainerAllocateResponse) -> Iterator[str]:
    paths = [("container", mount.container_path) for mount in answer.mounts]
    paths += [("host", mount.host_path) for mount in answer.mounts]
    paths += [("container", spec.container_path) for spec in answer.devices]
    paths += [("host", spec.host_path) for spec in answer.devices]
    for side, path in paths:
        if not path.startswith("/"):
            yield f"the {side} path {path!r} is not absolute"
    for spec in answer.devices:
        if set(spec.permissions) - set("rwm"):
            yield f"the permissions {spec.permissions!r} of {spec.container_path}"
    for cdi in answer.cdi_devices:
        if not _CDI_NAME.fullmatch(cdi.name):
            yield f"the CDI name {cdi.name!r} is not qualified"


@check(
    "dp/allocate/7",
    RequirementLevel.MAY,
    title="names of environment variables",
    requirement="The environment variables of a response are unlikely to be set by the pod or another resource too.",
    why="Of two values for one name only one reaches the container.",
    remedy="Put a prefix of your own before each name.",
    sessions=(Session.CALLS,),
    about=(Method.ALLOCATE,),
)
def environment_names(exchange: Exchange, _facts: Facts) -> Finding:
    wrong, owners = [], dict[str, str]()
    answered = False
    for call, _batches, answers in _answers(exchange, *_VALID):
        for name in sorted({name for answer in answers for name in answer.envs}):
            answered = True
            owner = owners.setdefault(name, call.resource)
            if owner != call.resource:
                wrong.append(f"{owner} and {call.resource} both set {name}")
            if name in _COMMON_NAMES or name.startswith("KUBERNETES_"):
                wrong.append(f"{call.resource} sets {name}")
    return finding_of(wrong, ", ".join(sorted(owners))) if answered else skipped("it sets no environment variables")


@check(
    "dp/allocate/8",
    RequirementLevel.SHOULD,
    title="fast answers",
    requirement="Allocate and GetPreferredAllocation answer within a second.",
    why="The kubelet sets no timeout, and holds up every pod of the node meanwhile.",
    remedy="Do slow work before, or in PreStartContainer.",
    sessions=(Session.CALLS,),
    about=(Method.ALLOCATE, Method.PREFERRED),
)
def fast(exchange: Exchange, _facts: Facts) -> Finding:
    wrong, seen = [], []
    for name, probes in ((Method.ALLOCATE, _VALID), (Method.PREFERRED, (Probe.VALID, Probe.EDGE))):
        times = [call.seconds for call in exchange.calls(name, *probes) if call.code in {"OK", "DEADLINE_EXCEEDED"}]
        if times:
            # The quickest of many: a busy machine delays some answers, a slow plugin all.
            seen.append(f"{name}: {min(times):.3f} s")
            if min(times) > FAST_SECONDS:
                wrong.append(f"{name} takes at least {min(times):.1f} s")
    return finding_of(wrong, ", ".join(seen)) if seen else skipped(NO_DEVICE)
