"""What is kept of an instance that ran, for reports: every step, what the node decided and why, and who held what then.

Plain values all the way down: a worker sends them to whoever writes the reports.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

# resource -> call -> how often
Calls = Mapping[str, Mapping[str, int]]
# What a step's `why` begins with among the differences.
FROM_NODE = "the node: "


@dataclass(frozen=True, slots=True)
class HintRecord:
    """A placement that a provider could give."""

    nodes: tuple[int, ...] | None  # None: any NUMA node will do
    preferred: bool


@dataclass(frozen=True, slots=True)
class WishRecord:
    """What a provider told of a resource."""

    resource: str
    hints: tuple[HintRecord, ...]  # empty: nothing fits, unless it has no preference
    no_preference: bool = False
    more: int = 0  # hints that are left out here; there can be more than anybody reads


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """How the hints about a container, or about a whole pod, were merged, and what the policy made of that."""

    container: str  # empty: the pod as a whole
    wishes: tuple[WishRecord, ...]
    merged: HintRecord | None  # None: nobody was asked for hints
    admitted: bool
    lines: tuple[str, ...] = ()  # what else decided, in words: a selection by cost


@dataclass(frozen=True, slots=True)
class HeldRecord:
    """What a pod holds after a step; a container's own part is in the words of the step that gave it."""

    pod: str
    cpus: str  # as the kernel lists them: "0-3,8"
    memory: Mapping[int, int]  # NUMA node -> bytes; of a group of nodes each has its share
    devices: tuple[str, ...]  # ids


@dataclass(frozen=True, slots=True)
class DeviceRecord:
    """A device of a fake plugin, as it stands after a step."""

    resource: str
    id: str
    numa: tuple[int, ...]  # empty: it belongs to no NUMA node
    healthy: bool = True


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One thing that happened, and what was seen then."""

    number: int  # steps[NUMBER] of the file, from 0
    line: int | None  # of the file
    told: str  # what happened, in words: "admit web: app 4 CPUs, 2 example.com/gpu (Guaranteed)"
    # "admitted", "refused", "waiting"; "done": nothing was decided about a pod; "failed": the instance broke off here.
    verdict: str
    reason: str = ""
    message: str = ""
    expected: tuple[str, ...] = ()  # what the scenario expects of it, in words
    decisions: tuple[DecisionRecord, ...] = ()
    given: Mapping[str, str] = field(default_factory=dict)  # container -> what it was given, in words
    why: tuple[str, ...] = ()  # of a refusal, and what would help, as far as the node tells
    calls: Calls = field(default_factory=dict)  # of the plugins in this step
    held: tuple[HeldRecord, ...] = ()  # by all pods, afterwards
    devices: tuple[DeviceRecord, ...] = ()  # of all plugins, afterwards
    differences: tuple[str, ...] = ()  # from what was expected


@dataclass(frozen=True, slots=True)
class InstanceRecord:
    """An instance from the start of its node to its end."""

    steps: tuple[StepRecord, ...]
    reserved_cpus: str = ""  # as the kernel lists them
    reserved_memory: Mapping[int, int] = field(default_factory=dict)  # NUMA node -> bytes
    configuration: str = ""  # the node's KubeletConfiguration, as YAML
    log: tuple[str, ...] = ()  # what the node printed; of a long log the first and the last lines
    devices: tuple[DeviceRecord, ...] = ()  # of all plugins, before the first step
