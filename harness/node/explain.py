"""How a pod would be decided about, step by step, without changing anything."""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.decision.config import NodeConfig
from numaproof.harness.decision.managers import Managers
from numaproof.harness.node import snapshot
from numaproof.harness.node.admission import Admissions
from numaproof.harness.node.deciding import Decider
from numaproof.harness.node.manifests import read_manifest
from numaproof.harness.node.records import PodRecord
from numaproof.harness.node.views import PodView, hint_message, pod_message, verdict_message
from numaproof.harness.pods.pod import Container
from numaproof.harness.topology.bitmask import ids_of, masks_over
from numaproof.harness.topology.hints import HintFamily, Hints, TopologyHint
from numaproof.harness.topology.numa import NumaInfo
from numaproof.harness.topology.policies import Decision, find_policy, policy_options
from numaproof.harness.topology.provider import AllocationError
from numaproof.harness.topology.scopes import find_scope
from numaproof.harness.topology.store import NO_AFFINITY
from numaproof.harness.topology.verdict import NO_COMMON_AFFINITY, Verdict, unexpected

# Over many nodes there are more hints than anybody can read: so many of the smallest sets of nodes are looked at.
LISTED_MASKS = 4096

PROVIDERS = ("devices", "cpu", "memory")  # in the order in which they are asked


@dataclass(frozen=True, slots=True)
class Step:
    """What the providers said, and what the policy made of it."""

    hints: Sequence[Hints]
    decision: Decision


class Explainer:
    """Plays an admission through, takes notes, and takes it back."""

    def __init__(
        self, config: NodeConfig, managers: Managers, decider: Decider, admissions: Admissions, numa: NumaInfo
    ) -> None:
        self._config = config
        self._managers = managers
        self._decider = decider
        self._admissions = admissions
        self._numa = numa

    def explain(self, manifest: str) -> api.ExplainResponse:
        """How the pod would be decided about now; a UserError if the manifest is none."""
        named, content = read_manifest(manifest)
        # Under a uid of its own, as the pod may be here already, and has to stay as it is.
        pod = replace(named, uid=f"explained-{uuid.uuid4()}")
        record = PodRecord(pod, content)

        def attempt() -> tuple[Verdict, list[Step], PodView]:
            before = snapshot.before_attempt(self._managers)
            self._admissions.candidate = pod.uid
            try:
                verdict, steps = self._play(record)
                view = replace(self._admissions.view(record), pod=named) if verdict.admitted else PodView(named)
            finally:
                self._admissions.candidate = None
                snapshot.take_back(self._managers, pod.uid, before)
            return verdict, steps, view

        verdict, steps, view = self._decider.run(pod.uid, attempt)
        scope = self._config.topology_scope
        names = [container.name for container in pod.all_containers()] if scope == "container" else [""]
        return api.ExplainResponse(
            verdict=verdict_message(verdict),
            policy=self._config.topology_policy,
            scope=scope,
            decisions=[_decision_message(name, step) for name, step in zip(names, steps, strict=False)],
            pod=pod_message(view),
        )

    def _play(self, record: PodRecord) -> tuple[Verdict, list[Step]]:
        steps: list[Step] = []
        affinities: dict[str, TopologyHint] = {}
        record.affinities = affinities
        providers = [getattr(self._managers, name) for name in PROVIDERS]
        for container, decision in self._placed(record, steps):
            if not decision.admit:
                return NO_COMMON_AFFINITY, steps
            affinities[container.name] = decision.hint
            try:
                for provider in providers:
                    provider.allocate(record.pod, container, decision.hint)
            except AllocationError as error:
                return unexpected(error.reason, str(error)), steps
        self._admissions.note_devices(record)
        return self._admissions.fit(record), steps

    def _placed(self, record: PodRecord, steps: list[Step]) -> Iterator[tuple[Container, Decision]]:
        config = self._config
        if config.topology_policy == "none" or not config.enabled("TopologyManager"):
            for container in record.pod.all_containers():
                yield container, Decision(NO_AFFINITY, admit=True)
            return
        policy = find_policy(config.topology_policy, config.semantics)
        options = policy_options(config.topology_options)

        def decide(hints: Sequence[Hints]) -> Decision:
            steps.append(Step(hints, policy(hints, self._numa, options)))
            return steps[-1].decision

        providers = [getattr(self._managers, name) for name in PROVIDERS]
        yield from find_scope(config.topology_scope)(record.pod, providers, decide)


def _decision_message(container: str, step: Step) -> api.Decision:
    return api.Decision(
        container=container,
        providers=[
            api.ProviderHints(
                provider=name,
                resources=[
                    api.ResourceHints(
                        resource=resource, no_preference=found is None, hints=map(hint_message, _listed(found))
                    )
                    for resource, found in sorted(hints.items())
                ],
            )
            for name, hints in zip(PROVIDERS, step.hints, strict=True)
        ],
        merged=hint_message(step.decision.hint),
        admitted=step.decision.admit,
    )


def _listed(hints: Sequence[TopologyHint] | HintFamily | None) -> list[TopologyHint]:
    if not isinstance(hints, HintFamily):
        return list(hints or ())
    masks = islice(masks_over(ids_of(hints.nodes)), LISTED_MASKS)
    return [*hints.also, *(TopologyHint(mask, hints.prefers(mask)) for mask in masks if hints.accepts(mask))]
