"""What a kubelet's log says of a decision, beside what is decided here."""

from collections.abc import Iterator

from numaproof.harness.intake.kubelet_log import LogFacts, LoggedDecision

from numaproof.harness.decision.trace import Trace
from numaproof.harness.explain.places import mask_text, said_in, some_hints
from numaproof.harness.pods.pod import Pod
from numaproof.harness.topology.hints import HintFamily, TopologyHint

_SHOWN = 4  # hints of a resource


def comparison_lines(facts: LogFacts, pod: Pod, trace: Trace) -> Iterator[str]:
    """Where the log and the decision here agree, and where they do not."""
    for what, theirs, ours in (("policy", facts.policy, trace.policy), ("scope", facts.scope, trace.scope)):
        if theirs is not None and theirs != ours:
            yield f"the log is of a kubelet with the {what} {theirs}, this is {ours}"
    decisions = [one for one in facts.decisions if _is_about(one, pod)]
    if not decisions:
        if facts.decisions:
            yield f"the log has no hints of pod {pod.namespace}/{pod.name}"
        return
    for step in trace.steps:
        logged = next((one for one in reversed(decisions) if one.container in (step.container, "")), None)
        if logged is None:
            continue
        who = f"container {step.container}" if step.container else "the pod"
        said = said_in(step)
        for resource, hints in logged.hints.items():
            if resource not in said:
                yield f"{who}: {resource}: in the log {_text(hints)}, here it has no hints"
                continue
            ours_of_it = said[resource]
            if isinstance(ours_of_it, HintFamily):
                continue  # more than anybody lists
            here = None if ours_of_it is None else some_hints(ours_of_it)
            if _as_set(hints) == _as_set(here):
                yield f"{who}: {resource}: the hints of the log are those here"
            else:
                yield (
                    f"{who}: {resource}: in the log {_text(hints)}, here {_text(here)}: the node was in another state "
                    "then, or not all of it is known"
                )
        if logged.merged is not None and logged.merged != step.decision.hint:
            yield f"{who}: the log has {_hint(logged.merged)} as the best hint, here it is {_hint(step.decision.hint)}"


def _is_about(decision: LoggedDecision, pod: Pod) -> bool:
    return decision.pod in ("", pod.name, f"{pod.namespace}/{pod.name}", pod.uid)


def _as_set(hints: "tuple[TopologyHint, ...] | None") -> "frozenset[TopologyHint] | None":
    return None if hints is None else frozenset(hints)


def _text(hints: "tuple[TopologyHint, ...] | None") -> str:
    if hints is None:
        return "it has no preference"
    if not hints:
        return "it fits nowhere"
    more = f" and {len(hints) - _SHOWN} more" if len(hints) > _SHOWN else ""
    return ", ".join(map(_hint, hints[:_SHOWN])) + more


def _hint(hint: TopologyHint) -> str:
    return f"{mask_text(hint.affinity)} ({'preferred' if hint.preferred else 'not preferred'})"
