"""How many exclusive CPUs a container or a pod asks for."""

from fractions import Fraction

from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.pods.qos import is_pinned
from numaproof.harness.pods.quantity import milli_value, value
from numaproof.harness.pods.requests import pod_total


def exclusive_cpus(pod: Pod, container: Container) -> int:
    """The whole number of CPUs that a container of a Guaranteed pod asks for; 0: it runs in the shared pool."""
    return _whole_cpus(container) if is_pinned(pod) else 0


def exclusive_cpus_of_pod(pod: Pod) -> int:
    """The most exclusive CPUs that the pod's containers need at any one time."""
    return pod_total(pod, _whole_cpus, 0) if is_pinned(pod) else 0


def _whole_cpus(container: Container) -> int:
    asked = container.requests.get("cpu", Fraction(0))
    whole = value(asked)
    # Both sides are rounded up, as in the kubelet: what is finer than a thousandth of a CPU does not count.
    return whole if whole * 1000 == milli_value(asked) else 0
