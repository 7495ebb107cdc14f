"""What a kubelet's log says beside a decision, for programs: plain values, ready for JSON."""

from typing import Any

from numaproof.harness.decision.trace import Trace
from numaproof.harness.intake.log_comparison import comparison, comparison_lines
from numaproof.harness.intake.log_facts import LogFacts
from numaproof.harness.intake.logged_hints import Said
from numaproof.harness.pods.pod import Pod
from numaproof.harness.topology.bitmask import ids_of


def log_as_json(facts: LogFacts, pod: Pod, trace: Trace) -> dict[str, Any]:
    """What the log tells, and where it and the decision agree."""
    return {
        "version": facts.version,
        "policy": facts.policy,
        "scope": facts.scope,
        "lines": list(comparison_lines(facts, pod, trace)),
        "compared": [
            {
                "container": one.container,
                "resource": one.resource or None,
                "logged": _hints(one.logged) if one.is_logged else "nothing",
                "here": _hints(one.ours) if one.is_here else "nothing",
                "agrees": one.agrees,
            }
            for one in comparison(facts, pod, trace)
        ],
    }


def _hints(said: Said) -> list[dict[str, Any]] | None:
    """None: no preference."""
    if said is None:
        return None
    return [
        {"numa": None if one.affinity is None else list(ids_of(one.affinity)), "preferred": one.preferred}
        for one in said
    ]
