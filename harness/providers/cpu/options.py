"""The CPU manager's policy options, by the kubelet's names."""

from collections.abc import Mapping
from dataclasses import dataclass

from numaproof.errors import UserError
from numaproof.harness.providers.cpu.topology import CpuTopology, Level
from numaproof.harness.topology.go_bool import parse_bool
from numaproof.harness.vocabulary import SELECTING_POLICY

_FIELDS = {
    "full-pcpus-only": "full_cores_only",
    "distribute-cpus-across-numa": "distribute_across_nodes",
    "align-by-socket": "align_by_socket",
    "distribute-cpus-across-cores": "distribute_across_cores",
    "strict-cpu-reservation": "strict_reservation",
    "prefer-align-cpus-by-uncorecache": "align_by_cache",
}
NAMES = tuple(_FIELDS)
_CHOOSING = (
    *("distribute-cpus-across-numa", "distribute-cpus-across-cores"),
    *("align-by-socket", "prefer-align-cpus-by-uncorecache"),
)
_EXCLUSIVE = (
    ("full-pcpus-only", "distribute-cpus-across-cores"),
    ("distribute-cpus-across-numa", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"),
)


@dataclass(frozen=True, slots=True)
class CpuOptions:
    """Which options of the static policy are on."""

    full_cores_only: bool = False
    distribute_across_nodes: bool = False
    align_by_socket: bool = False
    distribute_across_cores: bool = False
    strict_reservation: bool = False
    align_by_cache: bool = False


def parse_options(given: Mapping[str, bool | str]) -> CpuOptions:
    """The options of a kubelet configuration; raises UserError for what the kubelet refuses."""
    values: dict[str, bool] = {}
    for name, value in given.items():
        if name not in _FIELDS:
            raise UserError(f'unknown CPU Manager Policy option: "{name}" (known: {", ".join(NAMES)})')
        values[name] = value if isinstance(value, bool) else _truth(name, value)
    for first, second in _EXCLUSIVE:
        if values.get(first) and values.get(second):
            raise UserError(
                f"static policy options {first} and {second} can not be used at the same time; switch one off"
            )
    return CpuOptions(**{_FIELDS[name]: value for name, value in values.items()})


def _truth(name: str, value: str) -> bool:
    truth = parse_bool(value)
    if truth is None:
        raise UserError(f'bad value for option "{name}": "{value}" (use "true" or "false")')
    return truth


def check_options(options: CpuOptions, topology: CpuTopology, topology_policy: str) -> None:
    """Refuse what does not fit this machine or this Topology Manager policy, as the kubelet does."""
    if topology_policy == SELECTING_POLICY:
        for name in _CHOOSING:
            if getattr(options, _FIELDS[name]):
                raise UserError(
                    f"cpuManagerPolicyOptions: {name}: chooses CPUs, as the Topology Manager policy {topology_policy} "
                    "does; drop the option or take another policy"
                )
    if not options.align_by_socket:
        return
    if topology_policy == "single-numa-node":
        raise UserError(
            "Topology manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option; "
            "drop the option or take another policy"
        )
    sockets, nodes = len(topology.groups[Level.SOCKET]), len(topology.nodes)
    if sockets > nodes:
        raise UserError(
            "align-by-socket is not compatible with hardware where the number of sockets is more than the number of "
            f"NUMA nodes ({sockets} sockets, {nodes} NUMA nodes); drop the option"
        )
