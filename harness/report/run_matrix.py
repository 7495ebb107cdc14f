"""The matrix policy x scope x machine of a run as a page shows it: its columns, its rows, the counts of its cells."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from numaproof.fake_sysfs import Machine
from numaproof.harness.drawing.words import count
from numaproof.harness.report.matrix import InstanceResult
from numaproof.harness.vocabulary import POLICIES, SCOPES

OTHER = "other"  # the policy of a story whose matrix has none
NO_SCOPE = "-"
_POLICIES = (*POLICIES, OTHER)
_SCOPES = (*SCOPES, NO_SCOPE)


@dataclass(frozen=True, slots=True)
class Cell:
    """What of a run a cell, a row or a column of the matrix is about; empty: any."""

    policy: str = ""
    scope: str = ""
    machine: str = ""


@dataclass(frozen=True, slots=True)
class MachineRow:
    """A machine of a run."""

    name: str
    told: str  # "2 NUMA nodes, 96 CPUs"; empty: it is not known


@dataclass(frozen=True, slots=True)
class Matrix:
    """Policies and their scopes from left to right, machines by their size from top to bottom."""

    columns: Mapping[str, Sequence[str]]  # policy -> its scopes
    groups: Mapping[str, Sequence[MachineRow]]  # "2 NUMA nodes" -> its machines
    counts: Mapping[Cell, Counter[str]]  # how many instances ended how; also of rows, columns and all


def policy_of(result: InstanceResult) -> str:
    """Its policy, as far as the matrix of its story says it."""
    return result.words.get("policy", OTHER)


def scope_of(result: InstanceResult) -> str:
    """Its scope, likewise."""
    return result.words.get("scope", NO_SCOPE)


def matrix_of(results: Sequence[InstanceResult], machines: Mapping[str, Machine]) -> Matrix:
    """The matrix of these results."""
    counts: dict[Cell, Counter[str]] = {}
    for result in results:
        policy, scope, machine = policy_of(result), scope_of(result), result.words["machine"]
        whole = Cell(policy, scope, machine)
        for cell in (whole, Cell(policy, scope), Cell(policy), Cell(machine=machine), Cell()):
            counts.setdefault(cell, Counter())[result.outcome] += 1
    columns = {
        policy: _ordered({cell.scope for cell in counts if cell.policy == policy and cell.scope}, _SCOPES)
        for policy in _ordered({cell.policy for cell in counts if cell.policy}, _POLICIES)
    }
    return Matrix(columns, _groups({cell.machine for cell in counts if cell.machine}, machines), counts)


def _ordered(found: Iterable[str], known: Sequence[str]) -> list[str]:
    """Those that are known in their order, then what else there is."""
    return sorted(found, key=lambda word: (known.index(word) if word in known else len(known), word))


def _groups(names: Iterable[str], machines: Mapping[str, Machine]) -> dict[str, list[MachineRow]]:
    def size(name: str) -> tuple[bool, int, int]:
        machine = machines.get(name)
        return (machine is None, *((len(machine.node_ids), len(machine.cpus)) if machine else (0, 0)))

    groups: dict[str, list[MachineRow]] = {}
    for name in sorted(names, key=lambda name: (size(name), name)):
        if machine := machines.get(name):
            title = count(len(machine.node_ids), "NUMA node")
            told = count(len(machine.cpus), "CPU")
        else:
            title, told = "other machines", ""
        groups.setdefault(title, []).append(MachineRow(name, told))
    return groups
