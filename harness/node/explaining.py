"""A node explains a decision: what its managers had at that moment, and what else was tried on a replica of it."""

from collections.abc import Iterable
from dataclasses import dataclass

from numaproof.harness.decision.fit import Amounts
from numaproof.harness.decision.managers import Managers
from numaproof.harness.explain.explanation import Explanation, explain
from numaproof.harness.explain.replica import Attempt, Resident, Setup, restored
from numaproof.harness.pods.pod import Pod
from numaproof.harness.providers.memory import MachineState

_KUBELETS_OWN = 3  # providers: devices, CPUs, memory


@dataclass(frozen=True, slots=True)
class Moment:
    """All that a replica of a node is made of; nothing changes it later."""

    setup: Setup
    residents: tuple[Resident, ...]
    memory: MachineState | None
    is_whole: bool  # whether a replica knows all that takes part; a provider that was added it does not


def moment_of(managers: Managers, allocatable: Amounts, pods: Iterable[Pod]) -> Moment:
    """How things are now; whoever calls holds the lock of the managers."""
    devices = {resource: managers.devices.devices(resource) for resource in managers.devices.healthy()}
    residents = tuple(
        Resident(pod, {one.name: managers.assignment(pod.uid, one.name) for one in pod.all_containers()})
        for pod in pods
    )
    return Moment(
        Setup(managers.description, managers.config, devices, allocatable),
        residents,
        managers.memory.state or None,
        len(managers.topology.providers) == _KUBELETS_OWN,
    )


def explained(moment: Moment, pod: Pod, attempt: Attempt) -> Explanation | None:
    """The explanation of what the node decided at a moment; None: such a node cannot be made again."""
    replica = restored(moment.setup, moment.residents, moment.memory)
    if replica is None:
        return None
    ruled = attempt.trace.broken_rule is not None  # by rules that a replica does not know
    came = [resident.pod for resident in moment.residents]  # in the order of their admission
    tries = moment.is_whole and not ruled
    return explain(replica, pod, came, attempt=attempt, remedies=tries, matrix=tries)
