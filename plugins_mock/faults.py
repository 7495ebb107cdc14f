"""Faults as data: which call goes wrong, in which way, how often."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numaproof.near import did_you_mean
from numaproof.plugins_mock.errors import PluginError

# gRPC's, in its order: whoever only reads faults does not wait for gRPC to be imported.
STATUS_CODES = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)

_SERVED = (
    "GetDevicePluginOptions",
    "ListAndWatch",
    "GetPreferredAllocation",
    "GetPreferredAllocations",
    "Allocate",
    "PreStartContainer",
    "GetInfo",
    "NotifyRegistrationStatus",
)

# What may go wrong with any call that the plugin serves.
_ANY = {
    "error": "answers with the gRPC status code VALUE (UNAVAILABLE)",
    "delay": "answers VALUE seconds late (1)",
    "hang": "never answers",
    "die": "the process ends at once with exit code VALUE (1)",
}

# What may go wrong with one call in particular. Register, Start and Stop are the plugin's own doing.
_OWN: dict[str, dict[str, str]] = {
    "GetDevicePluginOptions": {},
    "ListAndWatch": {
        "drop": "ends the stream VALUE seconds (0) after the first list",
        "silent": "sends no list at all",
        "duplicate-ids": "lists the first device twice, once with each health",
        "bad-health": "gives the first device the health VALUE (healthy)",
        "bad-numa": "gives the first device the NUMA id VALUE (-1)",
        "oversized": "lists VALUE more devices (60000), all unhealthy, past the 4 MiB that the kubelet accepts",
        "partial": "lists only what changed after the first list",
        "stale": "tells a change to the first stream only",
        "no-recovery": "never reports a device Healthy again",
        "single": "serves one stream, then no other",
        "fragile": "a cancelled stream ends the process",
    },
    "GetPreferredAllocation": {
        "wrong-size": "answers one id more than asked for",
        "outside": "answers an id that is not available",
        "ignore-must": "leaves out what must be included",
        "repeat": "answers the first id twice",
        "unsteady": "answers the same request differently each time",
        "edge-empty": "answers nothing when all that is available, or all that must be included, is asked for",
    },
    "GetPreferredAllocations": {
        "wrong-size": "its sets have one id more than asked for",
        "outside": "its sets have an id that is not available",
        "ignore-must": "its sets leave out what must be included",
        "sized": "a request for costs only, of size 0, is answered with INVALID_ARGUMENT",
        "negative-cost": "its first cost is VALUE (-1)",
        "unknown-id": "its first cost starts at a device that does not exist",
        "bad-domain": "its first cost is to the domain VALUE (gpu)",
        "bad-instance": "its first cost is to a CPU called VALUE (7)",
        "twice": "tells its first cost again, as another one",
        "unsteady": "answers the same request differently each time",
    },
    "Allocate": {
        "no-responses": "answers without any container response",
        "wrong-count": "answers VALUE responses (1), however many were asked for",
        "leak": "a later container of a batch gets the environment of the earlier ones too",
        "accept-unknown": "allocates ids that do not exist",
        "die-unknown": "an id that does not exist ends the process with exit code VALUE (2)",
        "accept-empty": "allocates no ids",
        "unsteady": "answers the same request differently each time",
        "ordered": "the answer depends on the order of the ids",
        "duplicate-path": "two device specs with one container path",
        "relative-path": "a mount with a relative path",
        "bad-permissions": "a device spec with the permissions VALUE (rwx)",
        "bad-cdi": "a CDI device with the unqualified name VALUE (gpu0)",
        "common-env": "sets the environment variable VALUE (PATH)",
    },
    "PreStartContainer": {},
    "GetInfo": {
        "bad-type": "says that it is a plugin of the type VALUE (CSIPlugin)",
    },
    "NotifyRegistrationStatus": {
        "give-up": "stops serving after a refusal",
    },
    "Register": {
        "version": "registers with the API version VALUE (v1alpha)",
        "resource": "registers the resource name VALUE (gpu)",
        "endpoint": "registers the endpoint VALUE (its absolute path)",
        "options": "registers other options than it serves",
        "early": "registers before it serves",
        "once": "never registers again",
        "overlap": "keeps its old stream open while it registers again",
        "slow": "waits VALUE seconds (10) before it registers again",
        "give-up": "does nothing more after a refusal",
        "dot": "puts a dot before its socket's name",
    },
    "Start": {
        "give-up": "does nothing when there is no kubelet yet",
        "exit": "ends with exit code VALUE (0) when there is no kubelet yet",
        "stale": "stops with exit code 0 when its own socket is there already",
    },
    "Stop": {
        "ignore": "does not react to SIGTERM",
        "leave-socket": "leaves its socket behind",
        "exit": "ends with exit code VALUE (3) on SIGTERM",
    },
}


def _kinds_of(call: str) -> dict[str, str]:
    return {**(_ANY if call in _SERVED else {}), **_OWN[call]}


# Call -> kind -> what it does.
FAULTS: dict[str, dict[str, str]] = {call: _kinds_of(call) for call in _OWN}


@dataclass(frozen=True, slots=True)
class Fault:
    """One way for a call to go wrong."""

    kind: str
    value: str = ""  # empty: the kind's default, in brackets in FAULTS
    times: int | None = None  # None: every time

    def number(self, default: float) -> float:
        """The value as a number."""
        return float(self.value) if self.value else default


def parse_fault(text: str) -> tuple[str, Fault]:
    """A fault from `CALL=KIND[:VALUE][*TIMES]`, such as `Allocate=error:UNAVAILABLE*2`."""
    call, separator, rest = text.partition("=")
    if not separator:
        raise PluginError(
            f"fault {text!r}: not of the form CALL=KIND[:VALUE][*TIMES], as in Allocate=error:UNAVAILABLE"
        )
    times: int | None = None
    if "*" in rest:
        rest, _, count = rest.rpartition("*")
        if not count.isdigit():
            raise PluginError(f"fault {text!r}: {count!r} is not a number of times; write *2 for the first two calls")
        times = int(count)
    kind, _, value = rest.partition(":")
    fault = Fault(kind, value, times)
    _check(call, fault)
    return call, fault


def _check(call: str, fault: Fault) -> None:
    if call not in FAULTS:
        meant = did_you_mean(call, FAULTS)
        raise PluginError(f"fault {call}={fault.kind}: no call {call!r}; known: {', '.join(FAULTS)}{meant}")
    if fault.kind not in FAULTS[call]:
        known = ", ".join(FAULTS[call])
        meant = did_you_mean(fault.kind, FAULTS[call])
        raise PluginError(f"fault {call}={fault.kind}: {call} has no fault {fault.kind!r}; known: {known}{meant}")
    if fault.kind == "error" and fault.value and fault.value not in STATUS_CODES:
        known = ", ".join(code for code in STATUS_CODES if code != "OK")
        meant = did_you_mean(fault.value, STATUS_CODES)
        raise PluginError(f"fault {call}=error:{fault.value}: not a gRPC status code; known: {known}{meant}")
    if fault.kind in {
        "delay",
        "drop",
        "slow",
        "oversized",
        "wrong-count",
        "bad-numa",
        "die",
        "die-unknown",
        "exit",
        "negative-cost",
    }:
        try:
            fault.number(0)
        except ValueError:
            raise PluginError(f"fault {call}={fault.kind}:{fault.value}: {fault.value!r} is not a number") from None


class FaultPlan:
    """The faults of one plugin, with the count of how often each has happened."""

    def __init__(self, faults: Mapping[str, Sequence[Fault]]) -> None:
        for call, planned in faults.items():
            for fault in planned:
                _check(call, fault)
        self._lock = threading.Lock()
        self._left = {call: [(fault, fault.times) for fault in planned] for call, planned in faults.items()}

    def take(self, call: str) -> dict[str, Fault]:
        """The faults that this one call meets, by kind; each is counted."""
        with self._lock:
            met = {fault.kind: fault for fault, left in self._left.get(call, ()) if left is None or left > 0}
            self._left[call] = [
                (fault, left if left is None else max(left - 1, 0)) for fault, left in self._left.get(call, ())
            ]
            return met

    def look(self, call: str, kind: str) -> Fault | None:
        """A fault that is planned, without counting it."""
        with self._lock:
            return next((f for f, left in self._left.get(call, ()) if f.kind == kind and left != 0), None)
