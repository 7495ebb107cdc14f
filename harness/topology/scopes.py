"""The scopes: whether hints are merged for each container by itself or once for the whole pod."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from numaproof.errors import UserError
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.topology.hints import Hints
from numaproof.harness.topology.policies import Decision
from numaproof.harness.topology.provider import HintProvider

# What the policy makes of the providers' hints for a container, or for the whole pod, which has no container's name.
Decide = Callable[[str, Sequence[Hints]], Decision]
# Each container and the decision for it, made when it is that container's turn: the ones before are allocated by then.
Placed = Iterator[tuple[Container, Decision]]
Scope = Callable[[Pod, Sequence[HintProvider], Decide], Placed]


def container_scope(
    pod: Pod, providers: Sequence[HintProvider], decide: Decide
) -> Iterator[tuple[Container, Decision]]:
    """Every container is placed by itself."""
    for container in pod.all_containers():
        yield container, decide(container.name, [provider.get_topology_hints(pod, container) for provider in providers])


def pod_scope(pod: Pod, providers: Sequence[HintProvider], decide: Decide) -> Placed:
    """One placement serves all containers of the pod."""
    decision = decide("", [provider.get_pod_topology_hints(pod) for provider in providers])
    for container in pod.all_containers():
        yield container, decision


SCOPES: Mapping[str, Scope] = {"container": container_scope, "pod": pod_scope}


def find_scope(name: str) -> Scope:
    """The scope of that name; a UserError lists the names there are."""
    try:
        return SCOPES[name]
    except KeyError:
        raise UserError(f'topologyManagerScope: "{name}" is unknown (known: {", ".join(SCOPES)})') from None
