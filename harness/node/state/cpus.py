"""`cpu_manager_state`: which CPUs belong to which container, in the kubelet's format."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from numaproof.fake_sysfs.lists import format_cpulist, parse_cpulist
from numaproof.harness.node.state import files
from numaproof.harness.node.state.checksum import fnv1a, go_map, go_struct
from numaproof.harness.vocabulary import ContainerKey


@dataclass(frozen=True, slots=True)
class CpuState:
    """What the CPU manager's file says."""

    policy: str
    shared: frozenset[int]
    assignments: Mapping[ContainerKey, frozenset[int]]


def dump(state: CpuState) -> str:
    """The file's text."""
    entries: dict[str, dict[str, str]] = {}
    for (uid, container), cpus in sorted(state.assignments.items()):
        entries.setdefault(uid, {})[container] = format_cpulist(sorted(cpus))
    shared = format_cpulist(sorted(state.shared))
    content: dict[str, object] = {"policyName": state.policy, "defaultCpuSet": shared}
    if entries:
        content["entries"] = entries
    return files.compact(content | {"checksum": checksum(state.policy, shared, entries)})


def load(path: Path, policy: str) -> CpuState | None:
    """The file's state; None when there is none yet."""
    content = files.read(path)
    if content is None:
        return None
    name, shared, entries = content.get("policyName"), content.get("defaultCpuSet"), content.get("entries", {})
    if not isinstance(name, str) or not isinstance(shared, str) or not _is_text_table(entries):
        raise files.corrupt(path, "is not a CPU manager's state")
    files.check_sum(path, content.get("checksum"), checksum(name, shared, entries))
    files.check_policy(path, name, policy)
    try:
        return CpuState(
            name,
            frozenset(parse_cpulist(shared)),
            {
                (uid, one): frozenset(parse_cpulist(text))
                for uid, table in entries.items()
                for one, text in table.items()
            },
        )
    except Exception as error:
        raise files.corrupt(path, f"has a CPU set that cannot be read ({error})") from None


def _is_text_table(entries: object) -> bool:
    return isinstance(entries, dict) and all(
        isinstance(table, dict) and all(isinstance(text, str) for text in table.values()) for table in entries.values()
    )


def checksum(policy: str, shared: str, entries: Mapping[str, Mapping[str, str] | str]) -> int:
    """The checksum of a file that says this; kubelets before 1.18 have entries without pods, by a container's id."""
    flat = bool(entries) and all(isinstance(one, str) for one in entries.values())
    printed = {key: one if isinstance(one, str) else go_map(one) for key, one in entries.items()}
    kind = "map[string]string" if flat else "map[string]map[string]string"
    content = go_struct(
        (
            ("PolicyName", "string", policy),
            ("DefaultCPUSet", "string", shared),
            ("Entries", kind, go_map(printed)),
            ("Checksum", "checksum.Checksum", "0"),
        )
    )
    return fnv1a(f"(*state.CPUManagerCheckpoint){content}")
