"""What is said beside an explanation: how sure it is, and what else is known of the node."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Beside:
    """Lines, each of them a sentence."""

    obstacles: tuple[str, ...] = ()  # why a kubelet would not start so, whatever it would decide
    assumptions: tuple[str, ...] = ()
    log: tuple[str, ...] = ()  # what a kubelet's log says of the same decision
