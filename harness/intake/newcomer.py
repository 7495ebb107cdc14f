"""The pod that is asked about, where one of its name is on the node already."""

from dataclasses import replace

from numaproof.harness.intake.assembly import Assembled
from numaproof.harness.pods.pod import Pod


def newcomer(node: Assembled, pod: Pod) -> tuple[Pod, tuple[str, ...]]:
    """The pod as one that comes now, and what had to be assumed for that; it may go from the node before.

    What state files tell is how things are: there it is the pod itself, which comes again. Of pods that were said to
    be running one may well be another one like it, of the same manifest.
    """
    name = f"{pod.namespace}/{pod.name}"
    same = [one.pod.uid for one in node.replica.residents if one.name == name or one.pod.uid == pod.uid]
    if not same:
        return pod, ()
    if node.history is None:
        node.replica.remove(same)
        return pod, (f"pod {name} is on the node already: explained as if it came again, without what it holds now",)
    return replace(pod, uid=f"{pod.uid}-again"), (f"pod {name} runs already: this is another one like it",)
