"""Taints of a node and tolerations of a pod, and when one matches the other: Kubernetes' own rules.

The taints of the NUMA proposal are among them: three keys with values and an effect of their own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from numaproof.errors import UserError
from numaproof.harness.resource_names import is_domain, is_name_part
from numaproof.near import did_you_mean

CPU_AFFINITY: Final = "CPUAffinity"  # dedicated: pods have whole CPUs of their own
NUMA_CPU_AFFINITY: Final = "NUMACPUAffinity"  # strict: a pod's CPUs come from one NUMA node
NUMA_MEMORY_POLICY: Final = "NUMAMemoryPolicy"  # strict: so does its memory; preferred: if it can
NUMA_AFFINITY: Final = "NUMAAffinity"  # what the proposal once calls the toleration of NUMACPUAffinity

AFFINITY_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    CPU_AFFINITY: ("dedicated",),
    NUMA_CPU_AFFINITY: ("strict",),
    NUMA_MEMORY_POLICY: ("strict", "preferred"),
}
ALL_THREE: Final = "NoScheduleNoAdmitNoExecute"  # the effect of the proposal's taints
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute", ALL_THREE)
# With these a node refuses pods, and ends those that run; the others are the scheduler's business.
ENFORCED: Final = frozenset({"NoExecute", ALL_THREE})
SCHEDULED: Final = frozenset({"NoSchedule", "NoExecute", ALL_THREE})  # with these no pod is sent to a node
_LONGEST_TOLD: Final = 60  # characters of a text that a message repeats


@dataclass(frozen=True, slots=True)
class Taint:
    """What a node does not want, unless a pod tolerates it."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Toleration:
    """What a pod tolerates."""

    key: str  # empty: every key, with the operator Exists
    operator: str  # Equal or Exists
    value: str
    effect: str  # empty: every effect
    seconds: int | None = None  # how long after the taint came; None: for ever

    def matches(self, taint: Taint) -> bool:
        """Whether a pod with this toleration may be on a node with the taint."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        return self.operator == "Exists" or self.value == taint.value


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration], effects: frozenset[str]) -> Taint | None:
    """The first taint of one of these effects that no toleration matches; None: there is none."""
    own = tuple(tolerations)
    return next((one for one in taints if one.effect in effects and not any(t.matches(one) for t in own)), None)


def taints_from(listed: Any, where: str) -> tuple[Taint, ...]:
    """The taints of a list as in registerWithTaints; a UserError names the field that is wrong."""
    if not isinstance(listed, list):
        example = "[{key: CPUAffinity, value: dedicated, effect: NoScheduleNoAdmitNoExecute}]"
        raise UserError(f"{where}: {repr(listed)[:_LONGEST_TOLD]} is not a list of taints; write {example}")
    taints: list[Taint] = []
    for index, entry in enumerate(listed):
        here = f"{where}[{index}]"
        fields = _fields(entry, ("key", "value", "effect"), here, ignored=("timeAdded",))
        taint = checked_taint(Taint(fields.get("key", ""), fields.get("value", ""), fields.get("effect", "")), here)
        if any((one.key, one.effect) == (taint.key, taint.effect) for one in taints):
            raise UserError(f"{here}: {taint.key}:{taint.effect} is there twice; keep one")
        taints.append(taint)
    return tuple(taints)


def taint_from_text(text: str, where: str) -> Taint:
    """The taint of KEY[=VALUE]:EFFECT, as kubectl and the kubelet's flag have it."""
    front, colon, effect = text.rpartition(":")
    key, _, value = front.partition("=")
    if not colon:
        raise UserError(f"{where}: {_short(text)} is not a taint; write KEY=VALUE:EFFECT or KEY:EFFECT")
    return checked_taint(Taint(key, value, effect), where)


def checked_taint(taint: Taint, where: str) -> Taint:
    """The taint itself; a UserError if it is none that a node may have."""
    domain, slash, part = taint.key.rpartition("/")
    if not is_name_part(part) or (slash and not is_domain(domain)):
        told = f"{_short(taint.key)} is not a taint's key"
        raise UserError(f"{where}.key: {told}; write one, such as {CPU_AFFINITY} or example.com/gpu")
    if taint.value and not is_name_part(taint.value):
        told = f"{_short(taint.value)} is not a taint's value"
        raise UserError(f"{where}.value: {told}; write up to 63 letters, digits, dashes, dots and underscores")
    if taint.effect not in EFFECTS:
        told = f"{_short(taint.effect)} is unknown; choose one of {', '.join(EFFECTS)}"
        raise UserError(f"{where}.effect: {told}{did_you_mean(taint.effect, EFFECTS)}")
    if taint.key == NUMA_AFFINITY:
        raise UserError(f"{where}.key: there is no taint {NUMA_AFFINITY}; write {NUMA_CPU_AFFINITY}")
    known = AFFINITY_VALUES.get(taint.key)
    if known is None:
        if taint.effect == ALL_THREE:
            own = ", ".join(AFFINITY_VALUES)
            raise UserError(f"{where}.effect: {ALL_THREE} is for the taints {own}; take NoSchedule or NoExecute")
        return taint
    if taint.value not in known:
        raise UserError(f"{where}.value: {taint.key} has no value {taint.value!r}; write {' or '.join(known)}")
    if taint.effect != ALL_THREE:
        raise UserError(f"{where}.effect: {taint.key} does not go with {taint.effect}; write {ALL_THREE}")
    return taint


def tolerations_from(listed: Any, where: str) -> tuple[Toleration, ...]:
    """The tolerations of a pod's spec; a UserError names the field that is wrong."""
    if listed is None:
        return ()
    if not isinstance(listed, list):
        raise UserError(f"{where}: {listed!r} is not a list of tolerations")
    return tuple(_toleration(entry, f"{where}[{index}]") for index, entry in enumerate(listed))


def _toleration(entry: Any, where: str) -> Toleration:
    keys = ("key", "operator", "value", "effect")
    fields = _fields(entry, keys, where, ignored=("tolerationSeconds",))
    key, value, effect = fields.get("key", ""), fields.get("value", ""), fields.get("effect", "")
    operator = fields.get("operator", "") or "Equal"
    if operator not in ("Equal", "Exists"):
        raise UserError(f"{where}.operator: {operator!r} is unknown; write Equal or Exists")
    if operator == "Exists" and value:
        raise UserError(f"{where}.value: Exists takes no value, {value!r} is given; drop it, or write Equal")
    if not key and operator != "Exists":
        raise UserError(f"{where}.operator: a toleration without a key is for all taints; write Exists")
    if effect and effect not in EFFECTS:
        raise UserError(f"{where}.effect: {effect!r} is unknown; choose one of {', '.join(EFFECTS)}, or none for all")
    if key == NUMA_AFFINITY:
        key = NUMA_CPU_AFFINITY
    known = AFFINITY_VALUES.get(key)
    if known is not None and operator == "Equal" and value not in known:
        raise UserError(f"{where}.value: {key} has no value {value!r}; write {' or '.join(known)}")
    seconds = entry.get("tolerationSeconds")
    if seconds is not None:
        if isinstance(seconds, bool) or not isinstance(seconds, int):
            raise UserError(f"{where}.tolerationSeconds: {seconds!r} is not a number of seconds")
        if effect not in ENFORCED:
            raise UserError(f"{where}.tolerationSeconds: goes with the effects {', '.join(sorted(ENFORCED))} only")
    return Toleration(key, operator, value, effect, seconds)


def _short(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_TOLD else f"{text[:_LONGEST_TOLD]}...")


def _fields(entry: Any, known: tuple[str, ...], where: str, ignored: tuple[str, ...]) -> dict[str, str]:
    """The texts of an entry; what it leaves out or has as null is not there."""
    if not isinstance(entry, Mapping):
        raise UserError(f"{where}: {repr(entry)[:_LONGEST_TOLD]} is not a mapping; give some of {', '.join(known)}")
    found = {}
    for key, value in entry.items():
        if key in ignored or value is None:
            continue
        if key not in known:
            every = (*known, *ignored)
            told = f"unknown key {_short(str(key))}; known: {', '.join(every)}"
            raise UserError(f"{where}: {told}{did_you_mean(key, every)}")
        if not isinstance(value, str):
            raise UserError(f"{where}.{key}: {repr(value)[:_LONGEST_TOLD]} is not a text; write one")
        found[key] = value
    return found
