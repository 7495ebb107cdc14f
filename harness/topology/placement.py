"""How the Topology Manager placed a pod, as a value: who said what, what came of it, and what went wrong."""

from collections.abc import Mapping
from dataclasses import dataclass

from numaproof.harness.topology.hints import Hints, TopologyHint
from numaproof.harness.topology.policies import Decision
from numaproof.harness.topology.selection import Selection
from numaproof.harness.topology.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Step:
    """One question to the policy: what each provider said, or what was selected, and what was made of it."""

    container: str  # empty: the pod as a whole
    hints: Mapping[str, Hints]  # by provider, in the order in which they were asked
    decision: Decision
    selection: Selection | None = None  # of a policy that selects: it asks nobody for hints


@dataclass(frozen=True, slots=True)
class Failure:
    """An allocation that failed: whose it was, and of which kind."""

    container: str
    provider: str
    reason: str  # the kubelet's: UnexpectedAdmissionError, SMTAlignmentError
    resource: str = ""  # that could not be given; empty: the provider's only one, or all of them


@dataclass(frozen=True, slots=True)
class Placement:
    """The answer about a pod, and the way to it."""

    policy: str
    scope: str
    steps: tuple[Step, ...]  # one for each container, or one for the pod; empty under policy none: nobody is asked
    affinities: Mapping[str, TopologyHint]  # by container, of all that something was allocated for
    failure: Failure | None  # None: no allocation failed
    verdict: Verdict
