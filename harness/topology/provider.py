"""What the Topology Manager asks of a hint provider, and how an allocation says no."""

from typing import Any, ClassVar, Protocol

from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.topology.hints import Hints, TopologyHint


class AllocationError(Exception):
    """A provider cannot give a container what it asks for; the text is the kubelet's."""

    reason: ClassVar[str] = "UnexpectedAdmissionError"

    def __init__(self, text: str, resource: str = "") -> None:
        super().__init__(text)
        self.resource = resource  # that cannot be given; empty: the provider's only one, or all of them


class SMTAlignmentError(AllocationError):
    """Whole physical cores are demanded and the request does not fill them."""

    reason: ClassVar[str] = "SMTAlignmentError"


class HintProvider(Protocol):
    """A manager of resources that has a say in where a container's resources come from."""

    @property
    def name(self) -> str:
        """What it is called in explanations and refusals; no two of one manager have the same."""

    def get_topology_hints(self, pod: Pod, container: Container) -> Hints:
        """Where one container's request can be satisfied, by resource."""

    def get_pod_topology_hints(self, pod: Pod) -> Hints:
        """Where the whole pod's request can be satisfied, by resource."""

    def allocate(self, pod: Pod, container: Container, affinity: TopologyHint) -> None:
        """Give the container its resources, near `affinity` where that is possible; AllocationError if not at all."""

    def remove(self, uid: str) -> None:
        """Take back all that a pod holds; one that is not known holds nothing."""

    def checkpoint(self) -> Any:
        """All that allocating and removing change, in a form that no later change reaches."""

    def rollback(self, checkpoint: Any) -> None:
        """Be as at the checkpoint, whatever happened since; each checkpoint is used once at most."""
