"""A change that may help a pod: remedies.py tries it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numaproof.harness.decision.managers import ManagerConfig
from numaproof.harness.pods.pod import Pod


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that is different, in words and for programs."""

    text: str
    apply: Mapping[str, Any]  # {"pod": {container: {resource: amount}}}, {"config": {...}} or {"remove": [names]}
    pod: Pod | None = None  # None: as it was
    config: ManagerConfig | None = None  # None: as it was
    gone: tuple[str, ...] = ()  # the uids of pods that are removed
    kept_cpus: int = 0  # that pods can ask for no longer
