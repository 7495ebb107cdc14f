"""What a kubelet's log tells, and how its lines add up to it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from numaproof.errors import UserError
from numaproof.harness.intake.logged_hints import Said, read_hints
from numaproof.harness.topology.hints import TopologyHint

# What a log tells at each start of the kubelet.
POLICY, SCOPE, CPU_POLICY, MEMORY_POLICY = "policy", "scope", "CPU manager's policy", "memory manager's policy"
_CPU_LIST = re.compile(r"\d{1,6}(?:[,-]\d{1,6}){0,500}")
REFUSALS = re.compile(
    r"TopologyAffinityError|UnexpectedAdmissionError|SMTAlignmentError|[A-Z]\w{2,60}AlignmentError|OutOf\S{1,300}"
)
_CONFIGURED = (
    (POLICY, re.compile(r'TopologyManagerPolicy"?:"?(none|best-effort|restricted|single-numa-node)')),
    (SCOPE, re.compile(r'TopologyManagerScope"?:"?(container|pod)')),
    (CPU_POLICY, re.compile(r'CPUManagerPolicy"?:"?(none|static)')),
    (MEMORY_POLICY, re.compile(r'MemoryManagerPolicy"?:"?(None|Static)')),
)
_UID = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class LoggedDecision:
    """What one decision of the Topology Manager was made of, as far as the log has it."""

    pod: str  # namespace/name; of a kubelet before v1.20 its name or uid alone; empty: not told
    container: str | None  # empty: the pod as a whole; None: not told
    hints: Mapping[str, Said]  # by resource
    merged: TopologyHint | None  # None: not told
    unsure: frozenset[str] = frozenset()  # resources without a hint: no preference, or nowhere
    is_whole: bool = True  # False: some of the hints are cut off


@dataclass(frozen=True, slots=True)
class LoggedVerdict:
    """What became of a pod."""

    pod: str
    admitted: bool  # by the Topology Manager, that is, where it is admitted
    reason: str  # empty: not told
    message: str


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What a kubelet's log tells; of what it tells twice, as after a restart, the last."""

    policy: str | None  # None here and below: not told
    scope: str | None
    options: Mapping[str, str]  # the Topology Manager's policy options, by their names in a configuration
    cpu_policy: str | None
    cpu_options: Mapping[str, str]
    reserved_cpus: str | None  # a list such as 0-1,8
    memory_policy: str | None
    version: str | None  # v1.30.2
    decisions: tuple[LoggedDecision, ...]  # in their order
    verdicts: tuple[LoggedVerdict, ...]
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Open:
    """A decision of which lines may follow."""

    pod: str
    container: str | None
    hints: dict[str, Said] = field(default_factory=dict)
    merged: TopologyHint | None = None
    unsure: set[str] = field(default_factory=set)
    is_whole: bool = True

    def closed(self, scope: str | None) -> LoggedDecision:
        # With scope container, a line without its container was cut off.
        container = None if scope == "container" and not self.container else self.container
        return LoggedDecision(self.pod, container, self.hints, self.merged, frozenset(self.unsure), self.is_whole)


class LogReading:
    """The lines so far."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.decisions: list[_Open] = []
        self.open: _Open | None = None
        self.verdicts: list[LoggedVerdict] = []
        self.told: dict[str, str] = {}  # policies and the scope
        self.changed: dict[str, str] = {}  # what the first start said of one that changed
        self.options: dict[str, str] = {}
        self.cpu_options: dict[str, str] = {}
        self.reserved_cpus: str | None = None
        self.version: str | None = None
        self.asked = False  # whether a pod came to the Topology Manager
        self.cut = 0  # lines of hints
        self.lost = False  # whether the next decision may lack one of them

    def tell(self, what: str, value: str | None) -> None:
        """A policy or scope; None: the line does not tell it."""
        if value is None:
            return
        if self.told.setdefault(what, value) != value:
            self.changed.setdefault(what, self.told[what])
            self.told[what] = value

    def configure(self, squeezed: str) -> None:
        """The line with all that the managers are made of."""
        for what, pattern in _CONFIGURED:
            found = pattern.search(squeezed)
            self.tell(what, found[1] if found else None)

    def reserve(self, cpus: str | None) -> None:
        """The line of the static policy with the CPUs that nobody is given."""
        self.tell(CPU_POLICY, "static")
        if cpus and _CPU_LIST.fullmatch(cpus):
            self.reserved_cpus = cpus

    def come(self) -> None:
        """A pod comes to the Topology Manager, or leaves it."""
        self.asked = True
        self.open = None
        self.lost = False

    def _begin(self, pod: str, container: str | None) -> _Open:
        self.open = _Open(pod, container, is_whole=not self.lost)
        self.lost = False
        self.decisions.append(self.open)
        return self.open

    def hinted(self, pod: str, container: str | None, squeezed: str, at: int) -> None:
        """A line with the hints of a provider."""
        found = read_hints(squeezed, at)
        self.cut += not found.is_whole
        if not pod:
            self.cut += found.is_whole  # whose they are is cut off: perhaps of the decision before or after it
            self.lost = True
            if self.open:
                self.open.is_whole = False
            return
        now = self.open
        if (
            now is None
            or now.merged is not None
            or not (is_same_pod(now.pod, pod) and _is_same_container(now.container, container))
            or now.hints.keys() & found.hints.keys()
        ):
            now = self._begin(pod, container)
        now.hints |= found.hints
        now.unsure |= found.unsure
        now.is_whole = now.is_whole and found.is_whole

    def merged(self, pod: str, container: str | None, hint: TopologyHint) -> None:
        """A line with the best hint; each decision has several such lines, and they agree."""
        now = self.open
        if (
            now is None
            or not (is_same_pod(now.pod, pod) and _is_same_container(now.container, container))
            or now.merged not in (None, hint)
        ):
            now = self._begin(pod, container)
        now.merged = hint
        now.pod = now.pod or pod
        now.container = container if now.container is None else now.container

    def affirmed(self, pod: str, container: str | None, hint: TopologyHint) -> None:
        """A line with what a container is given: with scope pod too it names each container."""
        now = self.open
        if not (now and now.container == "" and now.merged is not None and is_same_pod(now.pod, pod)):
            self.merged(pod, container, hint)

    def said_of_nothing(self, resource: str | None, said: Said) -> None:
        """A line that tells what an empty list of hints means."""
        if self.open and resource in self.open.unsure:
            self.open.hints[resource] = said
            self.open.unsure.remove(resource)

    def facts(self) -> LogFacts:
        """All of it; a UserError if nothing is of a Topology Manager."""
        if not (self.told.keys() & {POLICY, SCOPE} or self.decisions or self.verdicts or self.asked or self.cut):
            raise UserError(
                f"{self.where}: has no line of a kubelet's Topology Manager; give what `journalctl -u kubelet` has "
                "from the kubelet's start or from when the pod came"
            )
        scope = self.told.get(SCOPE) or self._scope_of_decisions()
        return LogFacts(
            self.told.get(POLICY),
            scope,
            self.options,
            self.told.get(CPU_POLICY),
            self.cpu_options,
            self.reserved_cpus,
            self.told.get(MEMORY_POLICY),
            self.version,
            tuple(one.closed(scope) for one in self.decisions),
            tuple(self.verdicts),
            tuple(f"{self.where}: {note}" for note in self._notes()),
        )

    def _scope_of_decisions(self) -> str | None:
        named = {bool(one.container) for one in self.decisions if one.container is not None}
        return None if not named else "container" if True in named else "pod"

    def _notes(self) -> list[str]:
        notes = [
            f"the {what} was {first} at first, and {self.told[what]} later: the last one counts"
            for what, first in self.changed.items()
        ]
        if self.cut:
            lines = "1 line of hints is" if self.cut == 1 else f"{self.cut} lines of hints are"
            notes.append(f"{lines} cut off, elided or damaged; what is whole of them counts")
        unnamed = sum(not one.pod for one in self.decisions)
        if unnamed:
            notes.append(f"{'1 decision does' if unnamed == 1 else f'{unnamed} decisions do'} not tell of which pod")
        if not any(one.hints for one in self.decisions):
            notes.append("it shows no hints of a provider")
        return notes


def is_same_pod(one: str, other: str) -> bool:
    """Whether two lines may be of the same pod: some name it without its namespace, by its uid or not at all."""
    if one == other or not one or not other or _UID.fullmatch(one) or _UID.fullmatch(other):
        return True
    return one.rpartition("/")[2] == other.rpartition("/")[2] and not ("/" in one and "/" in other)


def _is_same_container(one: str | None, other: str | None) -> bool:
    return one == other or one is None or other is None
