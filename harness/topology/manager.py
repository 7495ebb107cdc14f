"""The Topology Manager: asks the hint providers, merges, stores the affinity, has the resources allocated."""

from collections.abc import Iterator, Sequence
from typing import Any

from numaproof.errors import UserError
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.topology.hints import Hints, TopologyHint
from numaproof.harness.topology.numa import NumaInfo
from numaproof.harness.topology.placement import Failure, Placement, Step
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
        self._scope_name = scope
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

    @property
    def providers(self) -> Sequence[HintProvider]:
        """Everybody who is asked, in that order."""
        return tuple(self._providers)

    def add_hint_provider(self, provider: HintProvider) -> None:
        """Ask this provider too, after those that were added before."""
        if any(provider.name == other.name for other in self._providers):
            raise UserError(f'hint provider "{provider.name}": there is one of this name already; choose another name')
        self._providers.append(provider)

    def admit(self, pod: Pod) -> Placement:
        """Place and allocate all containers of a pod, or say why not; what earlier containers got is the providers'
        to collect.
        """
        steps: list[Step] = []
        affinities: dict[str, TopologyHint] = {}
        verdict, failure = self._place(pod, steps, affinities)
        return Placement(self._policy_name, self._scope_name, tuple(steps), affinities, failure, verdict)

    def checkpoint(self) -> Any:
        """What is remembered here and by all providers, to come back to by `rollback`."""
        return super().checkpoint(), [(provider, provider.checkpoint()) for provider in self._providers]

    def rollback(self, checkpoint: Any) -> None:
        """Have everything here and with all providers as it was at the checkpoint."""
        own, providers = checkpoint
        super().rollback(own)
        for provider, mark in providers:
            provider.rollback(mark)

    def _place(
        self, pod: Pod, steps: list[Step], affinities: dict[str, TopologyHint]
    ) -> tuple[Verdict, Failure | None]:
        for container, decision in self._placed(pod, steps):
            if not decision.admit:
                return NO_COMMON_AFFINITY, None
            affinities[container.name] = decision.hint
            self.restore(pod.uid, container.name, decision.hint)
            for provider in self._providers:
                try:
                    provider.allocate(pod, container, decision.hint)
                except AllocationError as error:
                    verdict = unexpected(error.reason, str(error))
                    return verdict, Failure(container.name, provider.name, error.reason)
        return ADMITTED, None

    def _placed(self, pod: Pod, steps: list[Step]) -> Iterator[tuple[Container, Decision]]:
        # Under `none` nobody is asked for hints, whatever the scope.
        if self._policy_name == "none":
            return iter([(container, Decision(NO_AFFINITY, admit=True)) for container in pod.all_containers()])
        names = [provider.name for provider in self._providers]

        def decide(container: str, hints: Sequence[Hints]) -> Decision:
            decision = self._policy(hints, self._numa, self._options)
            steps.append(Step(container, dict(zip(names, hints, strict=True)), decision))
            return decision

        return self._scope(pod, self._providers, decide)
