"""The session of restarts: health, a kubelet that restarts, health again, and registrations that may overlap."""

import time
from typing import NamedTuple

from numaproof.harness.conformance.happenings import Happening
from numaproof.harness.conformance.stage import Flips, Stage

_QUIET_SECONDS = 300
_OVERLAP_SECONDS = 4  # and twice what it took before: a subject that watches kubelet.sock comes by then


class _FlipWords(NamedTuple):
    """What is told of one change of health and back."""

    unhealthy_asked: Happening
    unhealthy_seen: Happening
    unhealthy_not_seen: Happening
    healthy_asked: Happening
    healthy_seen: Happening
    healthy_not_seen: Happening


_BEFORE = _FlipWords(
    Happening.UNHEALTHY_ASKED_BEFORE,
    Happening.UNHEALTHY_SEEN_BEFORE,
    Happening.UNHEALTHY_NOT_SEEN_BEFORE,
    Happening.HEALTHY_ASKED_BEFORE,
    Happening.HEALTHY_SEEN_BEFORE,
    Happening.HEALTHY_NOT_SEEN_BEFORE,
)
_AFTER = _FlipWords(
    Happening.UNHEALTHY_ASKED_AFTER,
    Happening.UNHEALTHY_SEEN_AFTER,
    Happening.UNHEALTHY_NOT_SEEN_AFTER,
    Happening.HEALTHY_ASKED_AFTER,
    Happening.HEALTHY_SEEN_AFTER,
    Happening.HEALTHY_NOT_SEEN_AFTER,
)


def run_restart(stage: Stage) -> None:
    """Play it; the checks read what is told here."""
    stage.kubelet.start()
    stage.launch()
    if not stage.wait_for_registration():
        stage.tell(Happening.NOT_REGISTERED, stage.life.last_output())
        return
    if stage.flips:
        # The subjects of all sessions may look at the same file: those that are asked for devices are not disturbed.
        stage.wait(stage.quiet.is_set, _QUIET_SECONDS)
    healed = _may_flip(stage) and stage.flips is not None and _flip(stage, stage.flips, _BEFORE)
    seconds = _restart(stage)
    if seconds is None:
        return
    if stage.flips and healed and _may_flip(stage):
        _flip(stage, stage.flips, _AFTER)
    _overlap(stage, seconds)


def _may_flip(stage: Stage) -> bool:
    """Whether every stream has brought a list: without one no change can be seen."""
    return all(stage.wait_for_lists(connection) for connection in stage.kubelet.connections().values())


def _restart(stage: Stage) -> float | None:
    """Restart the kubelet; the seconds until everything was registered again, None when it was not."""
    resources = set(stage.kubelet.connections())
    stage.kubelet.restart()
    started = time.monotonic()
    if not stage.wait(lambda: resources <= set(stage.kubelet.connections())):
        missing = ", ".join(sorted(resources - set(stage.kubelet.connections())))
        stage.tell(Happening.NOT_REGISTERED_AGAIN, f"{missing}, within {stage.pace.timeout:g} s")
        return None
    seconds = time.monotonic() - started
    stage.tell(Happening.REGISTERED_AGAIN, f"after {seconds:.2f} s")
    # Some come twice: once for their socket that is gone, once for the kubelet's that is new.
    stage.wait_for_registration()
    return seconds


def _flip(stage: Stage, flips: Flips, when: _FlipWords) -> bool:
    """Make a device unhealthy and healthy again, and see which lists follow; False: it is still called unhealthy."""
    before = _missing(stage)
    if not _execute(stage, flips.unhealthy, when.unhealthy_asked):
        return True
    stage.wait(lambda: bool(_missing(stage) - before) or _all_ended(stage))
    flipped = _missing(stage) - before
    stage.tell(when.unhealthy_seen if flipped else when.unhealthy_not_seen, _names(flipped) or _patience(stage))
    if not _execute(stage, flips.healthy, when.healthy_asked) or not flipped:
        return True
    # Of a list that names nothing but what changed, the change still counts: that it is not full is another check's.
    listed = frozenset((r, d) for r, d in flipped if d in _newest(stage, r)) or flipped
    healed = stage.wait(lambda: not (listed & _missing(stage)) or _all_ended(stage)) and not (listed & _missing(stage))
    stage.tell(when.healthy_seen if healed else when.healthy_not_seen, "" if healed else _patience(stage))
    return healed


def _names(found: frozenset[tuple[str, str]]) -> str:
    return ", ".join(sorted(device for _, device in found)[:5])


def _patience(stage: Stage) -> str:
    return "because the streams have ended" if _all_ended(stage) else f"within {stage.pace.timeout:g} s"


def _all_ended(stage: Stage) -> bool:
    return all(c.stream is None or c.stream.ended.is_set() for c in stage.kubelet.connections().values())


def _missing(stage: Stage) -> frozenset[tuple[str, str]]:
    """(resource, id) of the devices that the current streams called healthy, and no longer do."""
    return frozenset(
        (resource, device)
        for resource, connection in stage.kubelet.connections().items()
        if connection.stream
        for device in connection.stream.missing()
    )


def _newest(stage: Stage, resource: str) -> frozenset[str]:
    """The ids in the newest list of a resource."""
    connection = stage.kubelet.connections().get(resource)
    lists = connection.stream.lists() if connection and connection.stream else []
    return frozenset(device.ID for message in lists[-1:] for device in message.devices)


def _execute(stage: Stage, command: str, what: Happening) -> bool:
    done = stage.life.execute(command)
    stage.tell(what, f"{command}: exit code {done.code} {done.output.strip()}".strip(), done.code)
    return done.code == 0


def _overlap(stage: Stage, seconds: float) -> None:
    """A new kubelet.sock while the streams are open; a subject that registers now must have ended them."""
    arrived, accepted = stage.kubelet.arrived, stage.kubelet.accepted
    stage.kubelet.replace()
    if stage.wait(lambda: stage.kubelet.arrived > arrived, min(stage.pace.timeout, _OVERLAP_SECONDS + 2 * seconds)):
        stage.wait(lambda: stage.kubelet.accepted > accepted)
    else:
        stage.tell(Happening.NO_OVERLAPPING_REGISTRATION)
