"""`cpu_manager_state`, as copied or pasted: which CPUs belong to which container."""

from numaproof.errors import UserError
from numaproof.fake_sysfs.paste import shown
from numaproof.harness.intake.checkpoint import check_sum, cpus_from, is_name, read_checkpoint, table_at
from numaproof.harness.intake.loose_json import path_text
from numaproof.harness.intake.state import KubeletState
from numaproof.harness.node.state import cpus
from numaproof.harness.vocabulary import ContainerKey

_KEYS = ("policyName", "defaultCpuSet", "entries")
_MOST_CPUS = 1 << 20  # in all entries together: far more than any machine has


def read_cpu_state(text: str, where: str) -> KubeletState:
    """What the CPU manager's file says; entries of kubelets before 1.18 have a container's id, and no pod."""
    read = read_checkpoint(text, where, _KEYS, "cpu_manager_state", "machineState")
    content, notes = read.content, read.notes
    if "machineState" in content:
        raise UserError(f"{where}: is a memory_manager_state, not a cpu_manager_state; give the other file")
    policy = content.get("policyName")
    if not isinstance(policy, str):
        notes.append(f"{where}: policyName: is not there")
        policy = None
    shared = None
    if "defaultCpuSet" in content:
        shared = cpus_from(content["defaultCpuSet"], ("defaultCpuSet",), where, notes)
    else:
        notes.append(f"{where}: defaultCpuSet: is not there, so which CPUs are shared is not known")
    entries = table_at(content, "entries", where, notes)
    held: dict[ContainerKey, frozenset[int]] = {}
    total = flat = 0
    for uid, table in entries.items():
        if isinstance(table, str):
            one = {("", uid): table}
            flat += 1
        elif isinstance(table, dict):
            one = {(uid, container): listed for container, listed in table.items()}
        else:
            notes.append(
                f"{where}: {path_text(('entries', uid))}: {shown(table)} is not a container's CPUs, and is passed over"
            )
            continue
        for key, listed in one.items():
            if not all(map(is_name, filter(None, key))) or not key[1]:
                notes.append(f"{where}: {path_text(('entries', *key))}: is not a name, and is passed over")
                continue
            found = cpus_from(listed, ("entries", *filter(None, key)), where, notes)
            if found is not None:
                held[key] = found
                total += len(found)
        if total > _MOST_CPUS:
            raise UserError(f"{where}: its entries name more than {_MOST_CPUS} CPUs; give a kubelet's file")
    if flat:
        notes.append(f"{where}: the entries are by a container's id (a kubelet before 1.18): their pods are not known")
    if read.is_whole and "podEntries" not in content:
        check_sum(where, notes, content.get("checksum"), lambda: cpus.checksum(policy or "", _text(content), entries))
    return KubeletState(
        cpu_policy=policy,
        shared_cpus=shared,
        cpus_are_whole=read.is_whole and "podEntries" not in content,
        cpus=held,
        notes=tuple(notes),
    )


def _text(content: dict[str, object]) -> str:
    return str(content["defaultCpuSet"])
