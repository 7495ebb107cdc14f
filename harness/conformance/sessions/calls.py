"""The session of calls: everything that a kubelet may ask of a registered plugin, and what it should not."""

import time
from collections.abc import Iterator, Sequence

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.conformance.checks.check import Feature
from numaproof.harness.conformance.connection import Connection
from numaproof.harness.conformance.happenings import Happening, Method, Probe
from numaproof.harness.conformance.sessions.draft import ask_draft
from numaproof.harness.conformance.stage import Stage

UNKNOWN_ID = "numaproof-no-such-device"
PRESTART_SECONDS = 30  # the kubelet's
_REPEATS = 3
_BUDGET_SECONDS = 10  # what a slow subject is not asked any more, to end in time
_MOST_IDS = 16
_PREFERENCES = 24
_ESSENTIAL_WISHES = 3


def run_calls(stage: Stage) -> None:
    """Call everything; what may kill the subject comes last, and the cancelled stream at the very end."""
    stage.kubelet.start()
    stage.launch()
    if not stage.wait_for_registration():
        stage.tell(Happening.NOT_REGISTERED, stage.life.last_output())
        return
    started = time.monotonic()
    for resource in list(stage.kubelet.connections()):
        for part in (_ask, _prefer, _ask_draft, _pre_start, _ask_wrongly):
            # A subject that a call has killed is started again: the connection is then another one.
            connection = stage.kubelet.connections().get(resource) if stage.revive() else None
            if connection is None:
                return
            part(stage, connection)
    if not stage.revive():
        return
    _watch(stage, started + stage.pace.watch)
    exits = stage.life.exits
    for connection in stage.kubelet.connections().values():
        _cancel(stage, connection)
    # One that dies of a cancelled stream may serve the second one first.
    stage.wait(lambda: stage.life.exits > exits, stage.pace.death)


def _healthy(stage: Stage, connection: Connection) -> list[str]:
    lists = stage.wait_for_lists(connection)
    return list(dict.fromkeys(d.ID for d in lists[-1].devices if d.health == "Healthy")) if lists else []


def _allocate(connection: Connection, probe: Probe, *batches: Sequence[str]) -> None:
    requests = [api.ContainerAllocateRequest(devices_ids=ids) for ids in batches]
    connection.call(Method.ALLOCATE, api.AllocateRequest(container_requests=requests), probe)


def _ask(stage: Stage, connection: Connection) -> None:
    connection.call(Method.OPTIONS, api.Empty(), Probe.OPTIONS)
    ids = _healthy(stage, connection)[:_MOST_IDS]
    if not ids:
        return
    end = time.monotonic() + _BUDGET_SECONDS
    for probe, batches in (*_essential(ids), *_repeated(ids)):
        if time.monotonic() < end or (probe, batches) in _essential(ids):
            _allocate(connection, probe, *batches)


def _essential(ids: list[str]) -> list[tuple[Probe, list[list[str]]]]:
    """The allocations without which there is nothing to judge, however slow the subject is."""
    if len(ids) == 1:
        return [(Probe.SINGLE, [ids]), (Probe.SINGLE, [ids])]
    few = ids[:4]
    return [
        (Probe.SINGLE, [[ids[0]]]),
        (Probe.SINGLE, [[ids[1]]]),
        (Probe.ORDERED, [few]),
        (Probe.ORDERED, [few[::-1]]),
        (Probe.BATCH, [[ids[0]], [ids[1]]]),
    ]


def _repeated(ids: list[str]) -> list[tuple[Probe, list[list[str]]]]:
    """More of the same, in other shapes: chance, order and a container's place in a batch must not matter."""
    singles = [(Probe.SINGLE, [[device]]) for device in ids[:3] for _ in range(_REPEATS)]
    if len(ids) == 1:
        # No two devices for two containers: whoever accepts the only one twice owes two responses too.
        return [*singles, (Probe.SAME_TWICE, [ids, ids])]
    few = ids[:4]
    shapes = [(Probe.ORDERED, [few[1:] + few[:1]]), (Probe.ORDERED, [few]), (Probe.ALL, [ids])]
    shapes += [(Probe.BATCH, [[ids[1]], [ids[0]]]), (Probe.BATCH, [[device] for device in ids[:3]])]
    if len(ids) > 2:
        shapes += [(Probe.SINGLE, [ids[:2]]), (Probe.SINGLE, [ids[:2]]), (Probe.MIXED_SIZES, [ids[:2], ids[2:3]])]
    return [*shapes, *singles]


def _prefer(stage: Stage, connection: Connection) -> None:
    options = connection.call(Method.OPTIONS, api.Empty(), Probe.OPTIONS)
    offered = isinstance(options, api.DevicePluginOptions) and options.get_preferred_allocation_available
    if not (offered if stage.features is None else Feature.PREFERRED in stage.features):
        return
    ids = _healthy(stage, connection)
    if not ids:
        return
    end = time.monotonic() + _BUDGET_SECONDS
    for number, (available, must, size) in enumerate(_wishes(stage, ids[:_MOST_IDS])):
        if number >= _ESSENTIAL_WISHES and time.monotonic() > end:
            break
        edge = size in {len(available), len(must)}
        wish = api.ContainerPreferredAllocationRequest(
            available_deviceIDs=available, must_include_deviceIDs=must, allocation_size=size
        )
        request = api.PreferredAllocationRequest(container_requests=[wish])
        for _ in range(2):
            connection.call(Method.PREFERRED, request, Probe.EDGE if edge else Probe.VALID)


def _wishes(stage: Stage, ids: list[str]) -> Iterator[tuple[list[str], list[str], int]]:
    """(available, must include, size): the edges first, then a seeded choice of all that may be asked."""
    yield ids, [], 1
    yield ids, [], len(ids)
    yield ids, ids, len(ids)
    yield ids[:1], ids[:1], 1
    if len(ids) > 2:
        yield ids, ids[-1:], 2
        yield ids, ids[-2:], 2
        yield ids, [], 2
    for _ in range(_PREFERENCES):
        available = stage.chance.sample(ids, stage.chance.randint(1, len(ids)))
        size = stage.chance.randint(1, len(available))
        yield available, stage.chance.sample(available, stage.chance.randint(0, size)), size


def _ask_draft(stage: Stage, connection: Connection) -> None:
    lists = stage.wait_for_lists(connection)
    ids = list(dict.fromkeys(device.ID for device in lists[-1].devices)) if lists else []
    healthy = _healthy(stage, connection)[:_MOST_IDS]
    if healthy and (stage.features is None or Feature.DRAFT in stage.features):
        ask_draft(connection, ids, _wishes(stage, healthy), _BUDGET_SECONDS)


def _pre_start(stage: Stage, connection: Connection) -> None:
    options = connection.call(Method.OPTIONS, api.Empty(), Probe.OPTIONS)
    asked_for = isinstance(options, api.DevicePluginOptions) and options.pre_start_required
    if not (asked_for if stage.features is None else Feature.PRESTART in stage.features):
        return
    ids = _healthy(stage, connection)
    if ids:
        request = api.PreStartContainerRequest(devices_ids=ids[:1])
        connection.call(Method.PRE_START, request, Probe.VALID, PRESTART_SECONDS)


def _ask_wrongly(stage: Stage, connection: Connection) -> None:
    ids = _healthy(stage, connection)
    resource = connection.resource
    for probe, wrong in ((Probe.UNKNOWN, [UNKNOWN_ID]), (Probe.MIXED, [*ids[:1], UNKNOWN_ID]), (Probe.EMPTY, [])):
        current = stage.kubelet.connections().get(resource) if stage.revive() else None
        if current is None:
            return
        _allocate(current, probe, wrong)
        _see_death(stage, current)


def _see_death(stage: Stage, connection: Connection) -> None:
    """Give the end of a subject that dies of a call the time to be seen: its stream ends first."""
    stream, exits = connection.stream, stage.life.exits
    if stream is not None and stage.wait(stream.ended.is_set, 0.2):
        stage.wait(lambda: stage.life.exits > exits, 2)


def _watch(stage: Stage, until: float) -> None:
    """See whether the streams stay open."""
    left = until - time.monotonic()
    if left > 0:
        stage.wait(
            lambda: all(c.stream and c.stream.ended.is_set() for c in stage.kubelet.connections().values()), left
        )


def _cancel(stage: Stage, connection: Connection) -> None:
    if connection.stream is None or not stage.wait_for_lists(connection):
        return
    stage.tell(Happening.STREAM_CANCELLED, connection.resource)  # first: what the subject does of it comes after
    connection.stream.cancel()
    connection.watch(Probe.SECOND)
    stage.wait_for_lists(connection)
    connection.call(Method.OPTIONS, api.Empty(), Probe.AFTER_CANCEL)
