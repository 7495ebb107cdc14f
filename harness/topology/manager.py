"""The Topology Manager: asks the hint providers, merges, stores the affinity, has the resources allocated."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from numaproof.errors import UserError
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.topology.bitmask import NodeMask
from numaproof.harness.topology.hints import Hints, TopologyHint
from numaproof.harness.topology.numa import NumaInfo
from numaproof.harness.topology.placement import Failure, Placement, Step
from numaproof.harness.topology.policies import Decision, PolicyOptions, find_policy
from numaproof.harness.topology.provider import AllocationError, HintProvider
from numaproof.harness.topology.scopes import find_scope
from numaproof.harness.topology.selection import NO_CHOICE, Choice, Selection, Selector
from numaproof.harness.topology.store import NO_AFFINITY, Store
from numaproof.harness.topology.verdict import ADMITTED, NO_COMMON_AFFINITY, Verdict, unexpected
from numaproof.harness.vocabulary import SELECTING_POLICY, SMALLEST_NODE_LIMIT, Semantics

BINDING = "binding"  # who speaks for the NUMA nodes that a pod is bound to


class Manager(Store):
    """Admits pods by one policy and one scope; the affinity of what it admitted stays until it is removed."""

    def __init__(
        self,
        numa: NumaInfo,
        policy: str = "none",
        scope: str = "container",
        options: PolicyOptions | None = None,
        semantics: Semantics = "current",
        selector: Selector | None = None,  # who chooses under the policy cost, which needs one
        bound: Callable[[Pod], NodeMask | None] = lambda _pod: None,  # the NUMA nodes that a pod is bound to, if it is
    ) -> None:
        super().__init__()
        self._numa = numa
        self._options = options or PolicyOptions()
        self._policy_name = policy
        self._scope_name = scope
        self._scope = find_scope(scope)
        self._providers: list[HintProvider] = []
        self._selector = selector
        self._bound = bound
        self._choice = NO_CHOICE
        if policy == SELECTING_POLICY:
            if selector is None:
                raise UserError(f"topologyManagerPolicy: {policy}: nobody is there to select; give a selector")
            return  # no sets of NUMA nodes are enumerated, so that their number does not matter
        self._policy = find_policy(policy, semantics)
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

    @property
    def choice(self) -> Choice:
        """What exactly the container shall get that something is being allocated for."""
        return self._choice

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
        for container, decision, choice in self._placed(pod, steps):
            if not decision.admit:
                return NO_COMMON_AFFINITY, None
            affinities[container.name] = decision.hint
            self.restore(pod.uid, container.name, decision.hint)
            self._choice = choice
            try:
                failure = self._allocate(pod, container, decision.hint)
            finally:
                self._choice = NO_CHOICE
            if failure is not None:
                return failure
        return ADMITTED, None

    def _allocate(self, pod: Pod, container: Container, hint: TopologyHint) -> tuple[Verdict, Failure] | None:
        """Have all providers allocate for a container; the first that cannot ends it."""
        for provider in self._providers:
            try:
                provider.allocate(pod, container, hint)
            except AllocationError as error:
                failure = Failure(container.name, provider.name, error.reason, error.resource)
                return unexpected(error.reason, str(error)), failure
        return None

    def _placed(self, pod: Pod, steps: list[Step]) -> Iterator[tuple[Container, Decision, Choice]]:
        bound = self._bound(pod)
        if bound is not None and self._policy_name in ("none", SELECTING_POLICY):
            # Who was bound has chosen: nothing is left to select, and what there is comes from there as far as it goes.
            near = Decision(TopologyHint(bound, False), admit=True, rule=BINDING)
            return iter([(container, near, NO_CHOICE) for container in pod.all_containers()])
        if self._policy_name == SELECTING_POLICY:
            return self._selected(pod, steps)
        return ((container, decision, NO_CHOICE) for container, decision in self._merged(pod, steps))

    def _selected(self, pod: Pod, steps: list[Step]) -> Iterator[tuple[Container, Decision, Choice]]:
        assert self._selector is not None

        def decide(container: str, selection: Selection) -> Decision:
            decision = Decision(selection.hint, selection.admit, rule="cost")
            steps.append(Step(container, {}, decision, selection))
            return decision

        if self._scope_name == "container":
            for container in pod.all_containers():
                selection = self._selector.select(pod, container, None)
                yield container, decide(container.name, selection), selection.choice
            return
        whole = self._selector.select(pod, None, None)
        decision = decide("", whole)
        for container in pod.all_containers():
            part = self._selector.select(pod, container, whole.choice) if whole.admit else whole
            yield container, decision, part.choice

    def _merged(self, pod: Pod, steps: list[Step]) -> Iterator[tuple[Container, Decision]]:
        # Under `none` nobody is asked for hints, whatever the scope.
        if self._policy_name == "none":
            return iter([(container, Decision(NO_AFFINITY, admit=True)) for container in pod.all_containers()])
        names = [provider.name for provider in self._providers]
        bound = self._bound(pod)
        fixed: dict[str, Hints] = {} if bound is None else {BINDING: {BINDING: [TopologyHint(bound, True)]}}

        def decide(container: str, hints: Sequence[Hints]) -> Decision:
            told = {**dict(zip(names, hints, strict=True)), **fixed}
            decision = _kept_within(bound, self._policy(tuple(told.values()), self._numa, self._options))
            steps.append(Step(container, told, decision))
            return decision

        return self._scope(pod, self._providers, decide)


def _kept_within(bound: NodeMask | None, decision: Decision) -> Decision:
    """The decision for a pod that is bound: it stays there, whatever the providers could not agree on."""
    affinity = decision.hint.affinity
    if bound is None or not decision.admit or (affinity is not None and not affinity & ~bound):
        return decision
    return replace(decision, hint=TopologyHint(bound, decision.hint.preferred and affinity is None))
