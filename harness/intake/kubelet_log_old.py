"""The lines of kubelets before v1.21, which have no fields."""

import re

from numaproof.harness.intake.klog import Entry
from numaproof.harness.intake.log_facts import CPU_POLICY, POLICY, REFUSALS, SCOPE, LoggedVerdict, LogReading
from numaproof.harness.intake.logged_hints import read_hint
from numaproof.harness.vocabulary import KUBELET_POLICIES, SCOPES

_LONG_NAME = re.compile(r"([^_()]{1,253})_([^_()]{1,63})(?:\(.*)?")  # name_namespace(uid)
_HINTS = re.compile(r"\[topologymanager\]TopologyHintsforpod'([^']{1,400})'(?:,container'([^']{0,63})')?:")
_MERGED = re.compile(r"\[topologymanager\](Container|Pod)TopologyHint:")
_BEST = re.compile(
    r"\[topologymanager\](Best|)Topology(?:Hint|Affinity)for\(pod:(.{1,400}?)(?:container:([^(){}]{0,63}))?\):(?=\{)"
)
_NOTHING = re.compile(
    r"\[topologymanager\]HintProviderhasno(preference|possible)\w{4,40}?(?:withresource|forresource)'([^']{1,320})'"
)
_CREATED = re.compile(r"\[topologymanager\]Creatingtopologymanagerwith([a-z-]{1,40}?)policy(?:per([a-z]{1,20}?)scope)?")
_RESERVED = re.compile(r'\[cpumanager\]reserved\d{1,6}CPUs\("([0-9,-]{0,4000})"\)')
_STARTED = re.compile(r"\[cpumanager\]startingwith(none|static)policy")
_EVENT = re.compile(
    r'Event\(v1\.ObjectReference\{Kind:"Pod",Namespace:"([^"]{1,63})",Name:"([^"]{1,253})".{0,600}?\}\):'
    r"type:'\w{1,20}'reason:'([^']{1,320})'"
)
_MESSAGE = re.compile(r"reason:\s*'[^']{1,320}'\s*([^\n]{0,1000})")
_VERSION = re.compile(r"Version:(v\d{1,3}\.\d{1,3}\.\d{1,4}[\w.+-]{0,60})")
_MAY_CONCERN = re.compile(r"\s{0,3}(?:\[|Event\(|Version:|Creating Container Manager)")


def take_old(reading: LogReading, entry: Entry) -> None:
    """Add a line to what was read, if it is one of ours."""
    if not _MAY_CONCERN.match(entry.body):
        return
    squeezed = entry.squeezed()
    if found := _HINTS.match(squeezed):
        # Until v1.19 there was no scope, and every line named its container.
        reading.hinted(_named(found[1]), found[2] or "", squeezed, found.end())
    elif squeezed.startswith("[topologymanager]TopologyHintsfor"):
        reading.cut += 1
    elif found := _MERGED.match(squeezed):
        if hint := read_hint(squeezed, found.end()):
            reading.merged("", None if found[1] == "Container" else "", hint.hint)
    elif found := _BEST.match(squeezed):
        if hint := read_hint(squeezed, found.end()):
            take = reading.merged if found[1] else reading.affirmed
            take(_named(found[2]), found[3] or "", hint.hint)
    elif found := _NOTHING.match(squeezed):
        reading.said_of_nothing(found[2], None if found[1] == "preference" else ())
    elif squeezed.startswith("[topologymanager]TopologyAdmitHandler"):
        reading.come()
    elif found := _CREATED.match(squeezed):
        reading.tell(POLICY, found[1] if found[1] in KUBELET_POLICIES else None)
        reading.tell(SCOPE, found[2] if found[2] in SCOPES else None)
    elif found := _RESERVED.match(squeezed):
        reading.reserve(found[1])
    elif found := _STARTED.match(squeezed):
        reading.tell(CPU_POLICY, found[1])
    elif (found := _EVENT.match(squeezed)) and REFUSALS.fullmatch(found[3]):
        message = _MESSAGE.search(entry.body)
        told = LoggedVerdict(f"{found[1]}/{found[2]}", False, found[3], message[1].strip() if message else "")
        reading.verdicts.append(told)
    elif found := _VERSION.match(squeezed):
        reading.version = found[1]
    elif squeezed.startswith("CreatingContainerManagerobject"):
        reading.configure(squeezed)


def _named(pod: str) -> str:
    """A pod as people name it."""
    found = _LONG_NAME.fullmatch(pod)
    return f"{found[2]}/{found[1]}" if found else pod
