"""What a kubelet's log says of a decision, beside what is decided here."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from numaproof.harness.decision.trace import Trace
from numaproof.harness.explain.places import ResourceHints, mask_text, said_in, some_hints
from numaproof.harness.intake.log_facts import LogFacts, LoggedDecision, LoggedVerdict, is_same_pod
from numaproof.harness.intake.logged_hints import Said
from numaproof.harness.pods.pod import Pod
from numaproof.harness.topology.bitmask import NodeMask
from numaproof.harness.topology.hints import HintFamily, TopologyHint
from numaproof.harness.topology.placement import Step

_SHOWN = 4  # hints of a resource, and pods
# What is put behind the name of a workload: of a ReplicaSet's pod, of any other pod, of a StatefulSet's.
_GENERATED = re.compile(r"-[a-z0-9]{1,10}-[a-z0-9]{5}|-[a-z0-9]{5}|-\d{1,6}")
_VERSION = re.compile(r"v(\d+)\.(\d+)")
_DECIDED_HERE = (1, 36)  # the kubelet whose rules are ours


@dataclass(frozen=True, slots=True)
class Compared:
    """What the log and the decision here say of a resource, or which hint they make of all."""

    container: str  # empty: the pod as a whole
    resource: str  # empty: the best hint of all resources
    logged: Said  # None: it has no preference
    ours: Said  # of more than anybody lists, those of the fewest NUMA nodes
    agrees: bool
    is_logged: bool = True  # False: the log has the decision, but no hints of this resource
    is_here: bool = True  # False: nobody here gives hints of this resource


def comparison(facts: LogFacts, pod: Pod, trace: Trace) -> tuple[Compared, ...]:
    """The pod's last decision in the log beside that of the trace, container by container."""
    decisions = _about(facts.decisions, pod)
    found: list[Compared] = []
    for step in trace.steps:
        logged = [one for one in decisions if _is_of(one, step, trace)]
        hinted = next((one for one in reversed(logged) if one.hints), None)
        if hinted:
            found += _of_hints(hinted, step, is_older=_is_older(facts))
        if logged and logged[-1].merged is not None and (hinted is None or logged[-1] is hinted):
            theirs, ours = logged[-1].merged, step.decision.hint
            found.append(Compared(step.container, "", (theirs,), (ours,), theirs == ours))
    return tuple(found)


def comparison_lines(facts: LogFacts, pod: Pod, trace: Trace) -> Iterator[str]:
    """Where the log and the decision here agree, and where they do not."""
    for what, theirs, ours in (("policy", facts.policy, trace.policy), ("scope", facts.scope, trace.scope)):
        if theirs is not None and theirs != ours and not (what == "scope" and trace.policy == "none"):
            yield f"the log is of a kubelet with the {what} {theirs}, this is {ours}"
    decisions = _about(facts.decisions, pod)
    yield from _whose(facts, decisions, pod)
    named = {one.pod for one in decisions if one.pod}
    verdicts = [one for one in facts.verdicts if _name_of(pod, one.pod)]
    verdicts = [one for one in verdicts if not named or any(is_same_pod(one.pod, name) for name in named)]
    if verdicts:
        yield from _of_verdict(verdicts[-1], trace)
    compared = comparison(facts, pod, trace)
    if decisions and not compared and trace.steps:
        yield "none of its decisions is one that is made here: the containers or the scope are others"
    for step in trace.steps:
        of_step = [one for one in compared if one.container == step.container]
        alike = [one.resource for one in of_step if one.resource and one.agrees]
        who = f"container {step.container}" if step.container else "the pod"
        if alike:
            yield f"{who}: {', '.join(alike)}: the hints of the log are those here"
        for one in of_step:
            if not one.agrees or not one.resource:
                yield f"{who}: {_difference(one)}"
    if any(not one.agrees for one in compared):
        why = ["the node was in another state then", "not all of it is known here"]
        if facts.version and _is_older(facts):
            why.append(f"a kubelet {facts.version} decides otherwise")
        yield f"where they differ, {', '.join(why[:-1])}, or {why[-1]}"


def _is_older(facts: LogFacts) -> bool:
    """Whether the log may be of a kubelet with older rules than those here."""
    found = _VERSION.match(facts.version or "")
    return found is None or (int(found[1]), int(found[2])) < _DECIDED_HERE


# Which decisions of the log are meant.


def _about(decisions: Sequence[LoggedDecision], pod: Pod) -> list[LoggedDecision]:
    """The decisions about a pod, or else about the last that a workload of its name made, or else about nobody told."""
    found = [one for one in decisions if _name_of(pod, one.pod)]
    exact = [one for one in found if _is_name(pod, one.pod)]
    if found and not exact:
        return [one for one in found if one.pod == found[-1].pod]
    return exact or [one for one in decisions if not one.pod]


def _is_name(pod: Pod, name: str) -> bool:
    return name in (pod.name, f"{pod.namespace}/{pod.name}", pod.uid)


def _name_of(pod: Pod, name: str) -> bool:
    """Whether a name of the log is the pod's, or one that a workload of its name gives to its pods."""
    namespace, _, short = name.rpartition("/")
    is_generated = short.startswith(f"{pod.name}-") and _GENERATED.fullmatch(short, len(pod.name))
    return _is_name(pod, name) or (namespace in ("", pod.namespace) and bool(is_generated))


def _is_of(decision: LoggedDecision, step: Step, trace: Trace) -> bool:
    if decision.container is None:
        return len(trace.steps) == 1
    return decision.container == step.container


def _whose(facts: LogFacts, decisions: Sequence[LoggedDecision], pod: Pod) -> Iterator[str]:
    """A line about the pod of the log, if it is not simply this one."""
    if not decisions:
        others = list(dict.fromkeys(one.pod for one in facts.decisions))
        if others:
            more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
            told = ", ".join(others[:_SHOWN]) + more
            yield f"the log has no hints of pod {pod.namespace}/{pod.name}, but of {told}"
    elif not decisions[-1].pod:
        yield "the log does not tell the pod of its hints; they are taken as this pod's"
    elif not _is_name(pod, decisions[-1].pod):
        yield f"the log's pod is {decisions[-1].pod}"


# What they say.


def _of_verdict(logged: LoggedVerdict, trace: Trace) -> Iterator[str]:
    ours = trace.verdict
    why = ": ".join(filter(None, (logged.reason, logged.message)))
    # Of an admission the log tells the Topology Manager's part only.
    if logged.admitted:
        if not trace.is_aligned:
            yield f"in the log the Topology Manager admits the pod, here it is refused: {ours.reason}"
    elif ours.admitted:
        yield f"in the log the pod is refused ({why}), here it is admitted"
    elif logged.reason and logged.reason != ours.reason:
        yield f"in the log the pod is refused for another reason ({why}), here it is {ours.reason}"
    else:
        yield f"the pod is refused in the log as here ({why})"


def _of_hints(logged: LoggedDecision, step: Step, *, is_older: bool) -> Iterator[Compared]:
    said = said_in(step)
    for resource, hints in logged.hints.items():
        if resource not in said:
            yield Compared(step.container, resource, hints, None, agrees=False, is_here=False)
            continue
        ours = said[resource]
        here = None if ours is None else some_hints(ours)
        theirs = _of_its_nodes(hints, ours) if is_older and "/" in resource else hints
        is_same = _is_same(theirs, ours) or (resource in logged.unsure and not here)
        yield Compared(step.container, resource, hints, here, is_same)
    if logged.is_whole and logged.merged is not None:
        for resource, ours in said.items():
            if resource not in logged.hints and ours is not None:
                yield Compared(step.container, resource, None, some_hints(ours), agrees=False, is_logged=False)


def _of_its_nodes(logged: Said, ours: ResourceHints) -> Said:
    """The logged hints of a device without those that a kubelet before v1.36 has beside them.

    It lists sets with NUMA nodes that no device of the resource is on, too: wherever the others of the set are enough,
    and never preferred, as fewer nodes would do.
    """
    if not logged or not ours:
        return logged
    masks = {hint.affinity for hint in ours if hint.affinity} if not isinstance(ours, HintFamily) else set()
    nodes = ours.nodes if isinstance(ours, HintFamily) else reduce(or_, masks, 0)
    kept = []
    for hint in logged:
        within = NodeMask((hint.affinity or 0) & nodes)
        is_enough = ours.accepts(within) if isinstance(ours, HintFamily) else within in masks
        if hint.preferred or within == hint.affinity or not is_enough:
            kept.append(hint)
    return tuple(kept)


def _is_same(logged: Said, ours: ResourceHints) -> bool:
    """Whether two say the same.

    Of more hints than anybody lists: whether each logged one is among them, and the narrowest of them are logged.
    """
    if logged is None or ours is None:
        return logged is None and ours is None
    if not isinstance(ours, HintFamily):
        return frozenset(logged) == frozenset(ours)
    return all(_is_in(ours, hint) for hint in logged) and frozenset(some_hints(ours)) <= frozenset(logged)


def _is_in(family: HintFamily, hint: TopologyHint) -> bool:
    if hint in family.also:
        return True
    mask = hint.affinity
    return mask is not None and family.accepts(mask) and family.prefers(mask) == hint.preferred


def _difference(one: Compared) -> str:
    if not one.resource:
        theirs, ours = _text(one.logged), _text(one.ours)
        if one.agrees:
            return f"the best hint of the log is that here: {ours}"
        return f"the best hint is {theirs} in the log, and {ours} here"
    if not one.is_here:
        return f"{one.resource}: in the log {_text(one.logged)}, here nobody gives hints of it"
    if not one.is_logged:
        return f"{one.resource}: the log has no hints of it, here {_text(one.ours)}"
    return f"{one.resource}: in the log {_text(one.logged)}, here {_text(one.ours)}"


def _text(hints: Said) -> str:
    if hints is None:
        return "it has no preference"
    if not hints:
        return "it fits nowhere"
    more = f" and {len(hints) - _SHOWN} more" if len(hints) > _SHOWN else ""
    return ", ".join(map(_hint, hints[:_SHOWN])) + more


def _hint(hint: TopologyHint) -> str:
    nodes = "no NUMA node" if hint.affinity == 0 else mask_text(hint.affinity)
    return f"{nodes} ({'preferred' if hint.preferred else 'not preferred'})"
