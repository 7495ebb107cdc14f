"""The answer to an admission."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a pod is admitted, and if not the kubelet's reason and message."""

    admitted: bool
    reason: str = ""
    message: str = ""


ADMITTED = Verdict(True)
NO_COMMON_AFFINITY = Verdict(False, "TopologyAffinityError", "Resources cannot be allocated with Topology locality")


def unexpected(reason: str, error: str) -> Verdict:
    """A refusal because an allocation failed; all but the reasons with a text of their own get the kubelet's frame."""
    if reason == "UnexpectedAdmissionError":
        return Verdict(False, reason, f"Allocate failed due to {error}, which is unexpected")
    return Verdict(False, reason, error)
