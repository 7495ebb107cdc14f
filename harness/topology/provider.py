"""What the Topology Manager asks of a hint provider, and how an allocation says no."""

from typing import ClassVar, Protocol

from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.topology.hints import Hints, TopologyHint


class AllocationError(Exception):
    """A provider cannot give a container what it asks for; the text is the kubelet's."""

    reason: ClassVar[str] = "UnexpectedAdmissionError"


class SMTAlignmentError(AllocationError):
    """Whole physical cores are demanded and the request does not fill them."""

    reason: ClassVar[str] = "SMTAlignmentError"


class HintProvider(Protocol):
    """A manager of resources that has a say in where a container's resources come from."""

    def get_topology_hints(self, pod: Pod, container: Container) -> Hints:
        """Where one container's request can be satisfied, by resource."""

    def get_pod_topology_hints(self, pod: Pod) -> Hints:
        """Where the whole pod's request can be satisfied, by resource."""

    def allocate(self, pod: Pod, container: Container, affinity: TopologyHint) -> None:
        """Give the container its resources, near `affinity` where that is possible; AllocationError if not at all."""
