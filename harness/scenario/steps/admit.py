"""`admit`: a pod is given to the node."""

from dataclasses import dataclass, replace
from typing import Any, Self

from numaproof.errors import UserError
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.scenario.fields import Fields
from numaproof.harness.scenario.pods import PodSpec, pod_from_file, written_pod
from numaproof.harness.scenario.steps.action import Action, Done, Known, Story


@dataclass(frozen=True, slots=True)
class Admit(Action):
    """A pod is given to the node, written in the scenario or in a file beside it.

    - admit: {name: first, containers: [{name: app, requests: {cpu: half numa.cpus, example.com/nic: 1}}]}
      expect: {admitted: true, aligned: container}
    - admit: {file: pod.yaml, name: second}
      expect: {reason: TopologyAffinityError}
    """

    name = "admit"
    must_expect = True
    pod: PodSpec

    @classmethod
    def parse(cls, value: Any, where: Where, known: Known) -> Self:
        """`name` and `containers`, or `file` and perhaps `name`."""
        fields = Fields(value, where, ("name", "containers", "file"))
        if "file" in fields and "containers" in fields:
            raise UserError(f"{fields.at('file')}: the file has the containers; drop one of file, containers")
        pod = pod_from_file(fields) if "file" in fields else written_pod(fields)
        for resource in sorted(pod.resources - known.devices.keys()):
            offered = ", ".join(sorted(known.devices)) or "none"
            raise UserError(f"{where}: asks for {resource}, which no plugin here offers (offered: {offered})")
        known.pods[pod.name] = pod
        return cls(pod)

    def act(self, story: Story, where: str) -> Done:
        """Give the pod to the node; what it gets it must keep."""
        outcome = story.rig.node.admit(self.pod.manifest(story.sizes, where))
        if outcome.admitted:
            kept = {name: given for name, given in outcome.containers.items() if name in self.pod.lasting}
            story.pods[self.pod.name] = replace(outcome, containers=kept)
        return Done(outcome)

    def explain(self, story: Story, where: str) -> list[str]:
        """What the node decided about the pod, and why."""
        if "explain" not in story.rig.node.offers:
            return []
        return story.rig.node.explain(self.pod.manifest(story.sizes, where))
