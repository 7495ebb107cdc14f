"""A kubelet's log, as people paste it: how its managers were set up, the hints of each decision, and the verdicts.

The lines are those of kubelets since v1.16: most are there at any verbosity, verdicts at --v=3 and above.
"""

import re
from collections.abc import Callable, Mapping

from numaproof.harness.intake.klog import Entry, entries, value_of
from numaproof.harness.intake.kubelet_log_old import take_old
from numaproof.harness.intake.log_facts import (
    CPU_POLICY,
    MEMORY_POLICY,
    POLICY,
    REFUSALS,
    SCOPE,
    LogFacts,
    LoggedVerdict,
    LogReading,
)
from numaproof.harness.intake.logged_hints import read_hint
from numaproof.harness.vocabulary import KUBELET_POLICIES, SCOPES


def read_kubelet_log(text: str, where: str) -> LogFacts:
    """What a log tells; a UserError if there is nothing of a Topology Manager in it."""
    reading = LogReading(where)
    for entry in entries(text, where):
        if entry.message in _BY_MESSAGE:
            _BY_MESSAGE[entry.message](reading, entry, entry.squeezed())
        elif not entry.message:
            take_old(reading, entry)
    return reading.facts()


# Whose a line is.

_POD_OBJECT = re.compile(r'(?<![\w/.-])pod":\{"name":"([^"]{1,253})"(?:,"namespace":"([^"]{1,63})")?\}')
_POD_TEXT = re.compile(r'(?<![\w/.-])(?:pod|object)"?[=:]"([^"]{1,320})"')
_CUT = ">.…"  # what stands where a pager or a person cut a line


def _whose(entry: Entry, squeezed: str) -> tuple[str, str | None]:
    """The pod and the container of a line with fields."""
    if found := _POD_OBJECT.search(squeezed) or _POD_OBJECT.search(squeezed.replace('\\"', '"')):
        pod = f"{found[2]}/{found[1]}" if found[2] else found[1]
    elif found := _POD_TEXT.search(squeezed):
        pod = found[1]
    else:
        return "", None
    container = value_of(squeezed, "containerName")
    if container is not None:
        return pod, container
    rest = squeezed[found.end() :].lstrip(',"')
    is_cut = "containerName".startswith(rest.rstrip(_CUT)[:13]) if rest else entry.is_open
    return pod, None if is_cut else ""


# Lines with fields.


def _hints(reading: LogReading, entry: Entry, squeezed: str) -> None:
    found = re.search(r'(?<![\w/.-])hints"?[=:]', squeezed)
    pod, container = _whose(entry, squeezed)
    reading.hinted(pod, container, squeezed, found.end() if found else len(squeezed))


_BEST = re.compile(r'bestHint"?[=:]')


def _best(reading: LogReading, entry: Entry, squeezed: str) -> None:
    found = _BEST.search(squeezed)
    hint = read_hint(squeezed, found.end()) if found else None
    if hint is None:
        return
    pod, container = _whose(entry, squeezed)
    if entry.message == "TopologyAffinity":
        reading.affirmed(pod, container, hint.hint)
        return
    if not pod:  # the first of the lines with a best hint, before v1.34
        container = "" if entry.message == "PodTopologyHint" else None
    reading.merged(pod, container, hint.hint)


def _asked(reading: LogReading, _entry: Entry, _squeezed: str) -> None:
    reading.come()


def _no_preference(reading: LogReading, _entry: Entry, squeezed: str) -> None:
    reading.said_of_nothing(value_of(squeezed, "resource"), None)


def _nowhere(reading: LogReading, _entry: Entry, squeezed: str) -> None:
    reading.said_of_nothing(value_of(squeezed, "resource"), ())


_CLOSEST = re.compile(r'PreferClosestNUMA"?:(true|false)')
_MOST_NODES = re.compile(r'MaxAllowableNUMANodes"?:(\d{1,9})(?!\d)')


def _created(reading: LogReading, _entry: Entry, squeezed: str) -> None:
    policy, scope = value_of(squeezed, "topologyPolicyName"), value_of(squeezed, "topologyScopeName")
    reading.tell(POLICY, policy if policy in KUBELET_POLICIES else None)
    reading.tell(SCOPE, scope if scope in SCOPES else None)
    if closest := _CLOSEST.search(squeezed):
        reading.options["prefer-closest-numa-nodes"] = closest[1]
    if most := _MOST_NODES.search(squeezed):
        reading.options["max-allowable-numa-nodes"] = most[1]


def _created_none(reading: LogReading, _entry: Entry, _squeezed: str) -> None:
    reading.tell(POLICY, "none")


def _configured(reading: LogReading, _entry: Entry, squeezed: str) -> None:
    reading.configure(squeezed)


_CPU_OPTIONS = {
    "FullPhysicalCPUsOnly": "full-pcpus-only",
    "DistributeCPUsAcrossNUMA": "distribute-cpus-across-numa",
    "AlignBySocket": "align-by-socket",
    "DistributeCPUsAcrossCores": "distribute-cpus-across-cores",
    "StrictCPUReservation": "strict-cpu-reservation",
    "PreferAlignByUncoreCacheOption": "prefer-align-cpus-by-uncorecache",
}
_CPU_OPTION = re.compile(rf'({"|".join(_CPU_OPTIONS)})"?:(true|false)')


def _static(reading: LogReading, _entry: Entry, squeezed: str) -> None:
    reading.tell(CPU_POLICY, "static")
    reading.cpu_options |= {_CPU_OPTIONS[one[1]]: one[2] for one in _CPU_OPTION.finditer(squeezed)}


def _reserved(reading: LogReading, _entry: Entry, squeezed: str) -> None:
    reading.reserve(value_of(squeezed, "reserved"))


def _started(reading: LogReading, entry: Entry, squeezed: str) -> None:
    if entry.message == "StartingCPUmanager" or entry.file == "cpu_manager.go":
        policy = value_of(squeezed, "policy")
        reading.tell(CPU_POLICY, policy if policy in ("none", "static") else None)


def _memory_started(reading: LogReading, _entry: Entry, squeezed: str) -> None:
    policy = value_of(squeezed, "policy")
    reading.tell(MEMORY_POLICY, policy if policy in ("None", "Static") else None)


_VERSION = re.compile(r"v\d{1,3}\.\d{1,3}[\w.+-]{0,60}")


def _version(reading: LogReading, _entry: Entry, squeezed: str) -> None:
    told = value_of(squeezed, "kubeletVersion") or ""
    reading.version = told if _VERSION.fullmatch(told) else reading.version


# What became of pods.

_MESSAGES = {"".join(one.split()): one for one in ("Resources cannot be allocated with Topology locality",)}


def message_of(entry: Entry, name: str) -> str:
    told = entry.told(name).removeprefix("Pod was rejected: ")
    return _MESSAGES.get("".join(told.split()), told)  # a terminal wraps within words


def _result(reading: LogReading, entry: Entry, squeezed: str) -> None:
    reading.come()
    pod, _ = _whose(entry, squeezed)
    if pod and value_of(squeezed, "Message") is not None:
        message = message_of(entry, "Message")
        reading.verdicts.append(LoggedVerdict(pod, not message, "", message))


def _denied(reading: LogReading, entry: Entry, squeezed: str) -> None:
    pod, _ = _whose(entry, squeezed)
    reason = value_of(squeezed, "reason")
    if pod and reason:
        reading.verdicts.append(LoggedVerdict(pod, False, reason, message_of(entry, "message")))


def _event(reading: LogReading, entry: Entry, squeezed: str) -> None:
    found = re.search(r'(?<![\w/.-])object":\{"name":"([^"]{1,253})","namespace":"([^"]{1,63})"\}', squeezed)
    pod = f"{found[2]}/{found[1]}" if found else _whose(entry, squeezed)[0]
    reason = value_of(squeezed, "reason") or ""
    if pod and value_of(squeezed, "kind") == "Pod" and REFUSALS.fullmatch(reason):
        reading.verdicts.append(LoggedVerdict(pod, False, reason, message_of(entry, "message")))


_BY_MESSAGE: Mapping[str, Callable[[LogReading, Entry, str], None]] = {
    "TopologyHints": _hints,
    **dict.fromkeys(("ContainerTopologyHint", "PodTopologyHint", "BestTopologyHint", "TopologyAffinity"), _best),
    **dict.fromkeys(("TopologyAdmitHandler", "Topologymanageradmissioncheck"), _asked),
    "HintProviderhasnopreferenceforNUMAaffinitywithresource": _no_preference,
    "HintProviderhasnopossibleNUMAaffinitiesforresource": _nowhere,
    "Creatingtopologymanagerwithpolicyperscope": _created,
    "Creatingtopologymanagerwithnonepolicy": _created_none,
    "CreatingContainerManagerobjectbasedonNodeConfig": _configured,
    **dict.fromkeys(("Staticpolicycreatedwithconfiguration", "createdwithconfiguration"), _static),
    "ReservedCPUsnotavailableforexclusiveassignment": _reserved,
    **dict.fromkeys(("StartingCPUmanager", "Starting"), _started),
    "Startingmemorymanager": _memory_started,
    "Kubeletversion": _version,
    "PodAdmitResult": _result,
    "Podadmissiondenied": _denied,
    "Eventoccurred": _event,
}
