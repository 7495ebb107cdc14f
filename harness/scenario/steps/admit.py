"""`admit`: a pod is given to the node."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from numaproof.errors import UserError
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.scenario.binding import OFFER
from numaproof.harness.scenario.fields import Fields
from numaproof.harness.scenario.pods import POD, PodSpec, parse_pod
from numaproof.harness.scenario.steps.action import Action, Done, Known, Story
from numaproof.harness.scenario.told import pod_told
from numaproof.near import did_you_mean


@dataclass(frozen=True, slots=True)
class Admit(Action):
    """A pod is given to the node, written in the scenario or in a file beside it.

    - admit: {name: first, containers: [{name: app, requests: {cpu: half numa.cpus, example.com/nic: 1}}]}
      expect: {admitted: true, aligned: container}
    - admit: {file: pod.yaml, name: second}
      expect: {reason: TopologyAffinityError}
    - admit:
        name: bound
        tolerations: [CPUAffinity=dedicated, {key: NUMACPUAffinity, operator: Exists}]
        numa: 1
        cpus: {numa: 1, count: 2, skip: 1}
        containers: [{name: app, requests: {cpu: 2}}]
      expect: {admitted: true, confined: {cpus: {1: 2}, memory_nodes: [1]}}
    """

    name = "admit"
    form = POD
    must_expect = True
    pod: PodSpec

    @classmethod
    def parse(cls, value: Any, where: Where, known: Known) -> Self:
        """`name`, `containers` and where the pod is bound to, or `file` and perhaps `name`."""
        pod = parse_pod(Fields(value, where, POD))
        for resource in sorted(pod.resources - known.devices.keys()):
            offered = ", ".join(sorted(known.devices)) or "none"
            meant = did_you_mean(resource, known.devices)
            raise UserError(f"{where}: asks for {resource}, which no plugin here offers (offered: {offered}){meant}")
        known.pods[pod.name] = pod
        return cls(pod)

    @property
    def needs_offer(self) -> str:
        """A kubelet knows no pods that are bound."""
        return OFFER if self.pod.is_bound else ""

    @property
    def about(self) -> PodSpec:
        """The pod."""
        return self.pod

    def named_nodes(self) -> Iterator[int]:
        """Where it is bound to."""
        return self.pod.named_nodes()

    def act(self, story: Story, where: str) -> Done:
        """Give the pod to the node; what it gets it must keep."""
        outcome = story.rig.node.admit(self.pod.manifest(story.sizes, where))
        story.decided(self.pod, outcome)
        return Done(outcome)

    def told(self, story: Story, where: str) -> str:
        """The pod, by what it asks for."""
        return f"admit {pod_told(self.pod.manifest(story.sizes, where))}"

    def explain(self, story: Story, where: str) -> list[str]:
        """What the node decided about the pod, and why."""
        if "explain" not in story.rig.node.offers:
            return []
        return story.rig.node.explain(self.pod.manifest(story.sizes, where))
