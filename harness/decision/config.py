"""The node's configuration: a KubeletConfiguration and kubelet flags, checked by the kubelet's own rules."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from numaproof.errors import UserError
from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.fake_sysfs.strict_yaml import Document, Where
from numaproof.harness.decision.kubelet_keys import USED, WITHOUT_EFFECT
from numaproof.harness.pods.quantity import parse_amount, value
from numaproof.harness.pods.taints import CPU_AFFINITY, NUMA_CPU_AFFINITY, Taint, taints_from
from numaproof.harness.providers.cpu.options import parse_options
from numaproof.harness.providers.memory.manager import PolicyName as MemoryPolicy
from numaproof.harness.topology.go_bool import parse_bool
from numaproof.harness.topology.policies import check_cost_option
from numaproof.harness.vocabulary import POLICIES, SCOPES, SMALLEST_NODE_LIMIT, Semantics
from numaproof.near import did_you_mean

CPU_POLICIES = ("none", "static")
MEMORY_POLICIES = ("None", "Static")

# CPU Manager option -> the feature gate that it needs; all of them need CPUManagerPolicyOptions.
CPU_OPTIONS = {
    "full-pcpus-only": None,
    "strict-cpu-reservation": None,
    "prefer-align-cpus-by-uncorecache": None,
    "distribute-cpus-across-numa": "CPUManagerPolicyBetaOptions",
    "align-by-socket": "CPUManagerPolicyAlphaOptions",
    "distribute-cpus-across-cores": "CPUManagerPolicyAlphaOptions",
}

# The feature gates that change what the node does, and how they are set by default.
GATES = {
    "TopologyManager": True,
    "CPUManager": True,
    "MemoryManager": True,
    "CPUManagerPolicyOptions": True,
    "CPUManagerPolicyBetaOptions": True,
    "CPUManagerPolicyAlphaOptions": False,
    "TopologyManagerPolicyOptions": True,
}

_LONGEST_TOLD = 60  # characters of a value that a message repeats
KIND, VERSION = "KubeletConfiguration", "kubelet.config.k8s.io/v1beta1"

_RESERVED = ("cpu", "memory", "ephemeral-storage", "pid")  # and huge pages of every size
# What the kubelet may evict by; it refuses others.
_SIGNALS = (
    *("memory.available", "allocatableMemory.available", "pid.available"),
    *(f"{disk}.{what}" for disk in ("nodefs", "imagefs", "containerfs") for what in ("available", "inodesFree")),
)
DEFAULT_EVICTION = {"memory.available": "100Mi"}  # the part of the kubelet's defaults that has to do with memory


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """How a node decides; what depends on the machine is settled by numaproof.harness.decision.reservations."""

    topology_policy: str = "none"
    topology_scope: str = "container"
    topology_options: Mapping[str, str] = field(default_factory=dict)
    cpu_policy: str = "none"
    cpu_options: Mapping[str, bool] = field(default_factory=dict)
    reserved_system_cpus: frozenset[int] | None = None  # None: as many as the reserved amount of cpu
    memory_policy: MemoryPolicy = "None"
    reserved_memory: Mapping[int, Mapping[str, int]] = field(default_factory=dict)  # node -> resource -> bytes
    system_reserved: Mapping[str, Fraction] = field(default_factory=dict)
    kube_reserved: Mapping[str, Fraction] = field(default_factory=dict)
    eviction_hard: Mapping[str, str] = field(default_factory=lambda: dict(DEFAULT_EVICTION))
    feature_gates: Mapping[str, bool] = field(default_factory=lambda: dict(GATES))
    max_pods: int = 110
    taints: tuple[Taint, ...] = ()  # that a node registers with
    host_cpus: frozenset[int] | None = None  # where systemd keeps the host's processes; None: not told
    semantics: Semantics = "current"
    notes: tuple[str, ...] = ()  # what was given and has no effect here

    def enabled(self, gate: str) -> bool:
        """Whether a feature gate is on."""
        return self.feature_gates.get(gate, False)

    @property
    def policy_in_force(self) -> str:
        """The Topology Manager's policy; `none` where the feature gate has it off."""
        return self.topology_policy if self.enabled("TopologyManager") else "none"

    @property
    def reserves_whole_cpus(self) -> bool:
        """Whether pods may be bound to CPUs here, so that the host's processes need CPUs of their own."""
        return any(taint.key in (CPU_AFFINITY, NUMA_CPU_AFFINITY) for taint in self.taints)


class Setting(NamedTuple):
    """A value, and where it was given: what a message about it begins with."""

    where: str
    value: Any


def settings_in(document: Document) -> dict[str, Setting]:
    """The settings of a KubeletConfiguration's file; each knows its line."""
    if not isinstance(document.value, dict):
        remedy = "write keys such as topologyManagerPolicy: restricted"
        raise UserError(f"{document.where}: is not a KubeletConfiguration; {remedy}")
    return settings_of(document.value, document.where)


def settings_of(content: Mapping[str, Any], where: Where) -> dict[str, Setting]:
    """The settings of a KubeletConfiguration that has been parsed already; unknown keys are refused."""
    kind, version = content.get("kind", KIND), content.get("apiVersion", VERSION)
    if (kind, version) != (KIND, VERSION):
        raise UserError(f"{where}: is a {kind} of {version}; give a {KIND} of {VERSION}")
    settings = {}
    for key, one in content.items():
        if key in ("kind", "apiVersion"):
            continue
        if key not in USED | WITHOUT_EFFECT:
            meant = did_you_mean(key, USED | WITHOUT_EFFECT) or "; leave it out"
            raise UserError(f"{where.at(key)}: unknown key{meant}")
        settings[key] = Setting(str(where.at(key)), one)
    return settings


def config_of(settings: Mapping[str, Setting], semantics: Semantics = "current") -> NodeConfig:
    """The configuration that settings amount to; the first one that is wrong is a UserError."""
    gates, notes = _gates(settings.get("featureGates"))
    policy = _choice(settings.get("topologyManagerPolicy"), POLICIES, "none")
    return NodeConfig(
        topology_policy=policy,
        topology_scope=_choice(settings.get("topologyManagerScope"), SCOPES, "container"),
        topology_options=_topology_options(settings.get("topologyManagerPolicyOptions"), gates, policy),
        cpu_policy=_choice(settings.get("cpuManagerPolicy"), CPU_POLICIES, "none") if gates["CPUManager"] else "none",
        cpu_options=_cpu_options(settings.get("cpuManagerPolicyOptions"), gates),
        reserved_system_cpus=_cpu_set(settings.get("reservedSystemCPUs")),
        memory_policy=_memory_policy(settings.get("memoryManagerPolicy")) if gates["MemoryManager"] else "None",
        reserved_memory=_reserved_memory(settings.get("reservedMemory")),
        system_reserved=_amounts(settings.get("systemReserved")),
        kube_reserved=_amounts(settings.get("kubeReserved")),
        eviction_hard=_eviction(settings.get("evictionHard"), settings.get("mergeDefaultEvictionSettings")),
        feature_gates=gates,
        max_pods=_max_pods(settings.get("maxPods")),
        taints=_taints(settings.get("registerWithTaints")),
        semantics=semantics,
        notes=notes,
    )


def node_config(content: Mapping[str, Any], semantics: Semantics = "current") -> NodeConfig:
    """The configuration of a KubeletConfiguration that has been parsed already."""
    return config_of(settings_of(content, Where("kubelet")), semantics)


def _choice(setting: Setting | None, known: tuple[str, ...], default: str) -> str:
    if setting is None or setting.value in (None, ""):
        return default
    if setting.value not in known:
        told = f"unknown value {_short(setting.value)}; choose one of {', '.join(known)}"
        raise UserError(f"{setting.where}: {told}{did_you_mean(setting.value, known)}")
    return str(setting.value)


def _memory_policy(setting: Setting | None) -> MemoryPolicy:
    return "Static" if _choice(setting, MEMORY_POLICIES, "None") == "Static" else "None"


def _table(setting: Setting | None, read: Callable[[str, Any], Any], what: str) -> dict[str, Any]:
    if setting is None or setting.value is None:
        return {}
    if not isinstance(setting.value, Mapping):
        raise UserError(f"{setting.where}: {_short(setting.value)} is not a table; write {what}")
    return {str(key): read(f"{setting.where}: {str(key)[:_LONGEST_TOLD]}", one) for key, one in setting.value.items()}


def _truth(where: str, text: Any) -> bool:
    if isinstance(text, bool):
        return text
    truth = parse_bool(str(text))
    if truth is None:
        raise UserError(f"{where}: {_short(text)} is neither true nor false")
    return truth


def _gates(setting: Setting | None) -> tuple[dict[str, bool], tuple[str, ...]]:
    given = _table(setting, _truth, "names with true or false, such as TopologyManager: true")
    gates, notes = dict(GATES), []
    for gate, state in given.items():
        if gate in GATES:
            gates[gate] = state
            continue
        meant = did_you_mean(gate, GATES, 0.9)
        if meant and setting is not None:
            raise UserError(f"{setting.where}: unrecognized feature gate {gate}{meant}")
        notes.append(f"the feature gate {gate} has no effect on this node")
    return gates, tuple(notes)


def _topology_options(setting: Setting | None, gates: Mapping[str, bool], policy: str) -> dict[str, str]:
    options = _table(setting, lambda _where, one: str(one), "option: value")
    for name, text in options.items():
        where = f"{setting.where if setting else ''}: {name[:_LONGEST_TOLD]}"
        if not gates["TopologyManagerPolicyOptions"]:
            raise UserError(f"{where}: needs the feature gate TopologyManagerPolicyOptions=true")
        if name == "prefer-closest-numa-nodes":
            options[name] = str(_truth(where, text)).lower()
        elif name == "max-allowable-numa-nodes":
            if not (text.isascii() and text.isdigit()) or int(text) < SMALLEST_NODE_LIMIT:
                raise UserError(f"{where}: {_short(text)} is not a number of at least {SMALLEST_NODE_LIMIT}")
        else:
            check_cost_option(name, text, policy, where)
    return options


def _cpu_options(setting: Setting | None, gates: Mapping[str, bool]) -> dict[str, bool]:
    options = _table(setting, _truth, "option: true")
    for name in options:
        where = f"{setting.where if setting else ''}: {name[:_LONGEST_TOLD]}"
        if name not in CPU_OPTIONS:
            raise UserError(
                f"{where}: unknown option; choose of {', '.join(CPU_OPTIONS)}{did_you_mean(name, CPU_OPTIONS)}"
            )
        for gate in filter(None, ("CPUManagerPolicyOptions", CPU_OPTIONS[name])):
            if not gates[gate]:
                raise UserError(f"{where}: needs the feature gate {gate}=true")
    try:
        parse_options(options)
    except UserError as error:
        raise UserError(f"{setting.where if setting else ''}: {error}") from None
    return options


def _cpu_set(setting: Setting | None) -> frozenset[int] | None:
    if setting is None or setting.value in (None, ""):
        return None
    try:
        return frozenset(parse_cpulist(str(setting.value)))
    except ValueError as error:
        raise UserError(f"{setting.where}: {error}") from None


def _amount(where: str, text: Any) -> Fraction:
    return parse_amount(text, where)


def _amounts(setting: Setting | None) -> dict[str, Fraction]:
    amounts: dict[str, Fraction] = _table(setting, _amount, "cpu: 500m, memory: 1Gi")
    for name in amounts:
        if name not in _RESERVED and not name.startswith("hugepages-"):
            where = setting.where if setting else ""
            choose = f"choose {', '.join(_RESERVED)} or hugepages-SIZE{did_you_mean(name, _RESERVED)}"
            raise UserError(f"{where}: {name[:_LONGEST_TOLD]}: cannot be reserved; {choose}")
    return amounts


def _reserved_memory(setting: Setting | None) -> dict[int, dict[str, int]]:
    if setting is None or setting.value is None:
        return {}
    form = "a list such as [{numaNode: 0, limits: {memory: 1Gi}}]"
    if not isinstance(setting.value, list):
        raise UserError(f"{setting.where}: {_short(setting.value)} is not a list; write {form}")
    found: dict[int, dict[str, int]] = {}
    for index, entry in enumerate(setting.value):
        where = f"{setting.where}[{index}]"
        complete = isinstance(entry, Mapping) and set(entry) == {"numaNode", "limits"}
        if not complete or not isinstance(entry["limits"], Mapping):
            raise UserError(f"{where}: {_short(entry)} is not of the form of {form}")
        node = entry["numaNode"]
        if not isinstance(node, int) or isinstance(node, bool) or node < 0:
            raise UserError(f"{where}: numaNode: {_short(node)} is not a NUMA node's id")
        for resource, text in entry["limits"].items():
            here = f"{where}: limits: {resource}"
            if resource != "memory" and not str(resource).startswith("hugepages-"):
                meant = did_you_mean(resource, ["memory", "hugepages-2Mi", "hugepages-1Gi"])
                raise UserError(f"{here}: only memory and hugepages-SIZE can be reserved on a NUMA node{meant}")
            amount = value(_amount(here, text))
            if amount == 0:
                raise UserError(f"{here}: may not be zero for NUMA node {node}; leave it out")
            if resource in found.setdefault(node, {}):
                raise UserError(f"{here}: given twice for NUMA node {node}; keep one")
            found[node][str(resource)] = amount
    return found


def _eviction(setting: Setting | None, merge: Setting | None) -> dict[str, str]:
    given = _table(setting, lambda _where, one: str(one), 'memory.available: "100Mi"')
    for name in given:
        if name not in _SIGNALS:
            told = f"{name[:_LONGEST_TOLD]}: is not an eviction signal; choose one of {', '.join(_SIGNALS)}"
            raise UserError(f"{setting.where if setting else ''}: {told}{did_you_mean(name, _SIGNALS)}")
    text = given.get("memory.available")
    if text is not None and setting is not None:
        where = f"{setting.where}: memory.available"
        if text.endswith("%"):
            share = _amount(where, text[:-1])
            if share > 100:
                raise UserError(f"{where}: {text} is more than everything; give 0% to 100%")
        else:
            _amount(where, text)
    if setting is None or setting.value is None or (merge is not None and _truth(merge.where, merge.value)):
        return DEFAULT_EVICTION | given
    return given


def _taints(setting: Setting | None) -> tuple[Taint, ...]:
    return () if setting is None or setting.value is None else taints_from(setting.value, setting.where)


def _max_pods(setting: Setting | None) -> int:
    if setting is None or setting.value is None:
        return 110
    if not isinstance(setting.value, int) or isinstance(setting.value, bool) or setting.value < 0:
        raise UserError(f"{setting.where}: {_short(setting.value)} is not a count of pods; give a number of 0 or more")
    return setting.value


def _short(value: object) -> str:
    told = repr(value)
    return told if len(told) <= _LONGEST_TOLD else told[: _LONGEST_TOLD - 3] + "..."
