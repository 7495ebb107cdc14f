"""The pods that a kubelet's state files tell of: who they are as far as anybody knows, and what they hold."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from numaproof.errors import UserError
from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.decision.managers import NodeDescription
from numaproof.harness.explain.replica import Resident
from numaproof.harness.intake.state import KubeletState
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory.state import MEMORY
from numaproof.harness.topology.hints import TopologyHint

_LONGEST = 60  # characters of a uid in messages


def residents_of(state: KubeletState, machine: NodeDescription, manifests: Sequence[Pod]) -> tuple[Resident, ...]:
    """Every pod that holds something; what it asks for is its manifest's where there is one, else what it holds."""
    node_of = {row[0]: row[3] for row in machine.cpu_rows}
    unknown = {cpu for cpus in state.cpus.values() for cpu in cpus} - node_of.keys()
    if max(unknown, default=0) > max(node_of):  # of lower ones, some are offline now
        raise UserError(
            f"{'PodResources' if state.live else 'cpu_manager_state'}: pods hold CPUs {format_cpulist(unknown)[:80]}, "
            "which the machine does not have; give the machine that they are from"
        )
    _check_memory(state, machine)
    keys = dict.fromkeys((*state.cpus, *state.memory, *state.devices))
    by_uid: dict[str, dict[str, Assignment]] = {}
    for uid, container in keys:
        given = Assignment(
            TopologyHint(None, False),
            state.cpus.get((uid, container), frozenset()) - unknown,
            state.memory.get((uid, container), ()),
            state.devices.get((uid, container), {}),
        )
        by_uid.setdefault(uid, {})[container] = given
    known = _by_uid(state, manifests)
    return tuple(_resident(known.get(uid) or _stranger(uid, state, given), given) for uid, given in by_uid.items())


def _check_memory(state: KubeletState, machine: NodeDescription) -> None:
    """Whether the machine has what pods hold memory of; a UserError if it does not."""
    kinds = {node.id: {MEMORY, *node.hugepages} for node in machine.memory_nodes}
    who = "PodResources" if state.live else "memory_manager_state"
    for block in (block for blocks in state.memory.values() for block in blocks):
        for node in block.nodes:
            if block.resource not in kinds.get(node, ()):
                what = f"{block.resource[:60]} of NUMA node {node}"
                raise UserError(
                    f"{who}: pods hold {what}, which the machine does not have; give the machine that it is from"
                )


def devices_told(state: KubeletState, others: Mapping[str, tuple[Device, ...]]) -> dict[str, tuple[Device, ...]]:
    """The devices that the state files tell of; where they tell no NUMA node, that of `others` of the same id."""
    held: dict[str, dict[str, tuple[int, ...] | None]] = {resource: {} for resource in state.registered}
    for resource, ids in state.registered.items():
        held[resource].update(dict.fromkeys(ids))
        held[resource].update({one.id: one.numa for one in state.listed.get(resource, ())})
    for given in state.devices.values():
        for resource, devices in given.items():
            held.setdefault(resource, {}).update({one.id: one.numa for one in devices})
    for resource, found in held.items():
        places = {one.id: one.numa for one in others.get(resource, ())}
        found.update({one: places.get(one) for one, numa in found.items() if numa is None})
    return {
        resource: tuple(Device(one, numa) for one, numa in sorted(found.items())) for resource, found in held.items()
    }


def _by_uid(state: KubeletState, manifests: Sequence[Pod]) -> dict[str, Pod]:
    """The pods of which there are manifests, under the uids that the files know them by."""
    by_name = {f"{pod.namespace}/{pod.name}": pod for pod in manifests}
    found = {pod.uid: pod for pod in manifests}
    for uid, name in state.pod_names.items():
        if name in by_name:
            found[uid] = by_name[name]
    return found


def _stranger(uid: str, state: KubeletState, given: Mapping[str, Assignment]) -> Pod:
    """A pod of which nobody knows more than what it holds."""
    # Entries of kubelets before 1.18 have no pod: all of them together are as one.
    namespace, _, name = state.pod_names.get(uid, f"default/{uid[:_LONGEST] or 'unknown'}").partition("/")
    containers = tuple(Container(one, amounts := _amounts(held), amounts) for one, held in given.items())
    return Pod(name, uid, (), containers, namespace)


def _resident(pod: Pod, given: Mapping[str, Assignment]) -> Resident:
    """A pod with what it holds; a container that the files do not know holds nothing."""
    missing = [one.name for one in pod.all_containers() if one.name not in given]
    strangers = tuple(Container(name) for name in given if all(name != one.name for one in pod.all_containers()))
    whole = Pod(pod.name, pod.uid, pod.init_containers, (*pod.containers, *strangers), pod.namespace, pod.resources)
    return Resident(whole, {**given, **{name: Assignment() for name in missing}})


def _amounts(given: Assignment) -> dict[str, Fraction]:
    found = {"cpu": Fraction(len(given.cpus))} if given.cpus else {}
    for block in given.memory:
        found[block.resource] = found.get(block.resource, Fraction(0)) + block.size
    for resource, devices in given.devices.items():
        found[resource] = Fraction(len(devices))
    return found
