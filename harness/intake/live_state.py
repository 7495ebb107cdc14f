"""A node's state files together with what its running kubelet told: each knows what the other does not."""

from collections.abc import Mapping

from numaproof.harness.intake.state import KubeletState
from numaproof.harness.providers.devices import Device
from numaproof.harness.vocabulary import ContainerKey


def with_live(files: KubeletState, live: KubeletState) -> KubeletState:
    """Who holds what is as the running kubelet told; the files add what it does not tell: what init containers keep
    that have ended, the state of the NUMA nodes' memory, and resources of which it lists no device.

    The files know pods by their uids, and it by their names: a pod is known again by the CPUs or devices that it holds.
    """
    notes = [*files.notes, *live.notes]
    taken = []
    same_time = _held_cpus(live) <= _held_cpus(files)
    left = _left_by_init_containers(files, live) if same_time else {}
    if left:
        taken.append("the CPUs of init containers that have ended")
    if not same_time:
        notes.append("cpu_manager_state is of another time than PodResources, and is passed over")
    if files.memory_nodes is not None:
        taken.append("the state of the NUMA nodes' memory")
    unlisted = {name: ids for name, ids in files.registered.items() if name not in live.registered}
    if unlisted:
        taken.append(f"the devices of {', '.join(sorted(unlisted)[:3])[:120]}, of which PodResources lists none")
    for what, old, new in (
        ("the CPU manager's policy", files.cpu_policy, live.cpu_policy),
        ("the memory manager's policy", files.memory_policy, live.memory_policy),
    ):
        if old is not None and new is None:
            taken.append(what)
        elif old is not None and old != new:
            notes.append(f"{what}: the state file says {old[:40]}, and the running kubelet acts as {new}, which counts")
    told = f"of the state files: {', '.join(taken)}" if taken else "the state files add nothing"
    notes.append(f"who holds what is as PodResources tells; {told}")
    return KubeletState(
        cpu_policy=live.cpu_policy or files.cpu_policy,
        shared_cpus=files.shared_cpus if same_time else None,
        cpus={**live.cpus, **left},
        memory_policy=live.memory_policy or files.memory_policy,
        memory=live.memory,
        memory_nodes=files.memory_nodes,
        devices=live.devices,
        registered={**unlisted, **live.registered},
        pod_names=live.pod_names,
        listed=live.listed,
        allocatable_cpus=live.allocatable_cpus,
        allocatable_memory=live.allocatable_memory,
        live=True,
        notes=tuple(dict.fromkeys(notes)),
    )


def _held_cpus(state: KubeletState) -> set[int]:
    return {cpu for cpus in state.cpus.values() for cpu in cpus}


def _left_by_init_containers(files: KubeletState, live: KubeletState) -> dict[ContainerKey, frozenset[int]]:
    """The CPUs that the file tells of and the running kubelet does not, by the names of their pods."""
    names = _names(files, live)
    return {
        (names[uid], container): cpus
        for (uid, container), cpus in files.cpus.items()
        if uid in names and (names[uid], container) not in live.cpus
    }


def _names(files: KubeletState, live: KubeletState) -> dict[str, str]:
    """uid -> namespace/name of the pods of which a container holds the same CPUs or devices in both."""
    owners = {(container, mark): name for (name, container), mark in _marks(live)}
    found: dict[str, str] = {}
    for (uid, container), mark in _marks(files):
        if (container, mark) in owners:
            found.setdefault(uid, owners[container, mark])
    return found


def _marks(state: KubeletState) -> list[tuple[ContainerKey, object]]:
    """What only one container at a time can hold."""
    return [*state.cpus.items(), *((key, _ids(held)) for key, held in state.devices.items())]


def _ids(held: Mapping[str, tuple[Device, ...]]) -> frozenset[tuple[str, str]]:
    return frozenset((resource, one.id) for resource, devices in held.items() for one in devices)
