"""A decision as a value: how the node came to its answer about a pod.

Admission keeps what a trace says, explaining takes it back; metrics, messages and texts are made from it alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.decision.fit import Shortage
from numaproof.harness.topology.placement import Failure, Step
from numaproof.harness.topology.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Trace:
    """The way from a pod to the verdict about it: hints and merges, allocations, the fit."""

    policy: str  # the one that decided: none without the feature gate
    scope: str
    steps: tuple[Step, ...]  # one for each container, or one for the pod; empty under policy none: nobody is asked
    given: Mapping[str, Assignment]  # by container, as far as it came; a refused pod keeps none of it
    failure: Failure | None  # the allocation that failed
    shortage: Shortage | None  # what the node has too little of beside the other pods; None: it fits, if it came so far
    verdict: Verdict
    broken_rule: Verdict | None = None  # the refusal by the NUMA proposal's rules; None: there is none

    @property
    def is_aligned(self) -> bool:
        """Whether the Topology Manager admits the pod; the node may have too little for it all the same."""
        return self.verdict.admitted or self.shortage is not None or self.broken_rule is not None
