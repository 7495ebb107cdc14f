"""The pods of a node: those being admitted and those that are."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from numaproof.errors import UserError
from numaproof.harness.api import deviceplugin_v1beta1_pb2 as plugin_api
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.decision.fit import Amounts, requests_of
from numaproof.harness.node.plugins import merge_responses
from numaproof.harness.node.state.pods import SavedPod
from numaproof.harness.pods.pod import Pod

# What the plugins answered, by container and resource.
Responses = Mapping[tuple[str, str], plugin_api.ContainerAllocateResponse]


class Phase(Enum):
    """Where a pod is on its way."""

    DECIDING = "being decided about"  # it has nothing yet
    PENDING = "waiting to be bound"  # it has nothing, and stays until it is bound or removed
    BINDING = "being bound"  # it has nothing yet, and waits again if it is refused
    COMMITTING = "being admitted"  # it has all that it will get, but was not answered
    ADMITTED = "admitted"
    REMOVING = "being removed"


@dataclass(slots=True, eq=False)
class PodRecord:
    """A pod and all that belongs to it; guarded by the lock of the admissions."""

    pod: Pod
    manifest: Mapping[str, Any]
    phase: Phase = Phase.DECIDING
    assignments: Mapping[str, Assignment] = field(default_factory=dict)  # by container
    responses: Responses = field(default_factory=dict)
    merged: dict[str, plugin_api.ContainerAllocateResponse] = field(default_factory=dict)  # by container
    start_errors: dict[str, str] = field(default_factory=dict)  # by container
    starts: dict[str, int] = field(default_factory=dict)  # by container: how often it was started
    waiting_as: SavedPod | None = None  # what its file says while it waits to be bound; None: it does not
    requests: Amounts = field(init=False)

    def __post_init__(self) -> None:
        self.requests = requests_of(self.pod)

    @property
    def waits(self) -> bool:
        """Whether it was not started yet, for want of a place: it is PENDING, or on its way from there."""
        return self.waiting_as is not None

    @property
    def is_shown(self) -> bool:
        """Whether others may see the pod as one that runs."""
        return self.phase in (Phase.ADMITTED, Phase.REMOVING) and not self.waits

    def release(self) -> None:
        """Forget all that the pod was given: it was refused, and waits on."""
        self.assignments, self.responses = {}, {}
        self.merged.clear()

    def respond(self, responses: Responses, log: Callable[[str], None]) -> None:
        """Note what the plugins answered, and merge it container by container; conflicts are logged."""
        self.responses = responses
        for container in self.pod.all_containers():
            answers = [(resource, one) for (name, resource), one in responses.items() if name == container.name]
            self.merged[container.name] = merge_responses(sorted(answers, key=lambda answer: answer[0]), log)


class PodRecords:
    """All pods, by uid and by name; guarded by the lock of the admissions."""

    def __init__(self) -> None:
        self._by_uid: dict[str, PodRecord] = {}
        self._uids: dict[tuple[str, str], str] = {}

    def __iter__(self) -> Iterator[PodRecord]:
        return iter(self._by_uid.values())

    def get(self, uid: str) -> PodRecord | None:
        """The pod of a uid."""
        return self._by_uid.get(uid)

    def named(self, namespace: str, name: str) -> PodRecord | None:
        """The pod of a name."""
        uid = self._uids.get((namespace, name))
        return None if uid is None else self._by_uid[uid]

    def add(self, record: PodRecord) -> None:
        """Take a pod in; a UserError if its name is taken by another."""
        name = (record.pod.namespace, record.pod.name)
        holder = self.named(*name)
        if holder is not None:
            raise UserError(
                f"pod {'/'.join(name)}: there is one of this name already, {holder.phase.value}, with the uid "
                f"{holder.pod.uid}; remove it first"
            )
        self._by_uid[record.pod.uid] = record
        self._uids[name] = record.pod.uid

    def drop(self, record: PodRecord) -> None:
        """Forget a pod."""
        del self._by_uid[record.pod.uid]
        del self._uids[record.pod.namespace, record.pod.name]

    def find(self, reference: str) -> PodRecord | None:
        """The pod of a uid, or of "namespace/name"."""
        namespace, slash, name = reference.partition("/")
        return self.named(namespace, name) if slash else self.get(reference)
