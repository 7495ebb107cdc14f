"""The Topology Manager: asks the hint providers, merges, stores the affinity, has the resources allocated."""

from collections.abc import Sequence

from numaproof.harness.errors import UserError
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.topology.hints import Hints, TopologyHint
from numaproof.harness.topology.numa import NumaInfo
from numaproof.harness.topology.policies import Decision, PolicyOptions, find_policy
from numaproof.harness.topology.provider import AllocationError, HintProvider
from numaproof.harness.topology.scopes import find_scope
from numaproof.harness.topology.store import NO_AFFINITY, Store
from numaproof.harness.topology.verdict import ADMITTED, NO_COMMON_AFFINITY, Verdict, unexpected
from numaproof.harness.vocabulary import SMALLEST_NODE_LIMIT, Semantics


class Manager(Store):
    """Admits pods by one policy and one scope; the affinity of what it admitted stays until it is removed."""

    def __init__(
        self,
        numa: NumaInfo,
        policy: str = "none",
        scope: str = "container",
        options: PolicyOptions | None = None,
        semantics: Semantics = "current",
    ) -> None:
        super().__init__()
        self._numa = numa
        self._options = options or PolicyOptions()
        self._policy_name = policy
        self._policy = find_policy(policy, semantics)
        self._scope = find_scope(scope)
        self._providers: list[HintProvider] = []
        if policy != "none" and self._options.prefer_closest_numa_nodes:
            numa.check_distances()
        # v1.18 had no option for it, and semantics kep lists every mask as v1.18 did.
        current = semantics == "current"
        most = self._options.max_allowable_numa_nodes if current else SMALLEST_NODE_LIMIT
        if policy != "none" and len(numa.nodes) > most:
            remedy = "raise the policy option max-allowable-numa-nodes" if current else "use semantics current"
            raise UserError(
                f"topologyManagerPolicy: {policy}: unsupported on machines with more than {most} NUMA Nodes, "
                f"this one has {len(numa.nodes)} ({remedy})"
            )

    def add_hint_provider(self, provider: HintProvider) -> None:
        """Ask this provider too, after those that were added before."""
        self._providers.append(provider)

    def admit(self, pod: Pod) -> Verdict:
        """Place and allocate all containers of a pod, or say why not; what earlier containers got is the providers'
        to collect.
        """
        # Under `none` nobody is asked for hints, whatever the scope.
        if self._policy_name == "none":
            placed = iter([(container, Decision(NO_AFFINITY, admit=True)) for container in pod.all_containers()])
        else:
            placed = self._scope(pod, self._providers, self._decide)
        for container, decision in placed:
            if not decision.admit:
                return NO_COMMON_AFFINITY
            self.restore(pod.uid, container.name, decision.hint)
            try:
                self._allocate(pod, container, decision.hint)
            except AllocationError as error:
                return unexpected(error.reason, str(error))
        return ADMITTED

    def _decide(self, hints: Sequence[Hints]) -> Decision:
        return self._policy(hints, self._numa, self._options)

    def _allocate(self, pod: Pod, container: Container, affinity: TopologyHint) -> None:
        for provider in self._providers:
            provider.allocate(pod, container, affinity)
