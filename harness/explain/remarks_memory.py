"""What is known about cases of memory like this one, and of nodes that have too little as a whole."""

from collections.abc import Iterator

from numaproof.harness.explain import blame as causes
from numaproof.harness.explain.explanation import Explanation
from numaproof.harness.explain.remark import Remark
from numaproof.harness.providers.memory.state import MEMORY


def _no_hints(explanation: Explanation) -> Iterator[Remark]:
    """The memory manager was not asked in vain: it said nothing where it had to say no."""
    blame = explanation.blame
    if blame is not None and (blame.what, blame.cause) == (MEMORY, causes.NOT_GIVEN):
        yield Remark(
            "where no NUMA nodes will do for it, the memory manager tells the Topology Manager nothing at all: every "
            "policy goes on without it, and the pod fails at the allocation",
            "kubernetes issue 128708 and PR 138605",
        )


def _serving_together(explanation: Explanation) -> Iterator[Remark]:
    """A NUMA node has enough free, and belongs to a group."""
    blame = explanation.blame
    if blame is None or blame.what != MEMORY or blame.stock is None or blame.cause == causes.NOT_GIVEN:
        return
    for node, one in explanation.replica.managers.memory.state.items():
        if len(one.cells) > 1 and blame.stock.free.get(node, 0) >= blame.stock.wanted:
            yield Remark(
                "NUMA nodes that serve a pod together serve no pod alone until that pod is gone, however much they "
                "have free",
                "kubernetes enhancement 1769",
            )
            return


def _wider_than_cpus(explanation: Explanation) -> Iterator[Remark]:
    """Once the pods are gone that keep NUMA nodes from joining, the policy refuses it."""
    blame, empty = explanation.blame, explanation.empty
    if (
        blame is not None
        and (blame.what, blame.cause) == (MEMORY, causes.NOT_GIVEN)
        and empty.policy == "restricted"
        and not empty.verdict.admitted
        and empty.failure is None
        and blame.stock is not None
        and blame.stock.wanted > max(blame.stock.most.values(), default=0)
    ):
        yield Remark(
            "without the other pods restricted refuses it, too: it wants memory of more NUMA nodes than its CPUs need",
            "kubernetes issue 128669",
        )


def _init_containers(explanation: Explanation) -> Iterator[Remark]:
    """Init containers ask for their memory again when a kubelet restarts."""
    blame, pod = explanation.blame, explanation.pod
    if explanation.trace.verdict.admitted or blame is None or blame.what != MEMORY:
        return
    if any(MEMORY in one.limits for one in pod.init_containers if pod.ends(one)):
        yield Remark(
            "a pod that ran before the kubelet was restarted is refused like this, too: memory is asked for again for "
            "its init containers, though they have ended; it has to be created again",
            "kubernetes issue 123971",
        )


def _fewest_nodes(explanation: Explanation) -> Iterator[Remark]:
    """CPUs lie on more NUMA nodes than memory does."""
    node_of = explanation.replica.managers.cpu.topology.node_of
    for given in explanation.trace.given.values() if explanation.trace.verdict.admitted else ():
        nodes = {node_of[cpu] for cpu in given.cpus}
        if given.memory and not nodes <= {node for block in given.memory for node in block.nodes}:
            yield Remark(
                "the memory manager takes memory and huge pages from the fewest NUMA nodes that have enough; it has no "
                "option to spread them as CPUs can be spread",
                "kubernetes issue 119851",
            )
            return


def _short_as_a_whole(explanation: Explanation) -> Iterator[Remark]:
    """The scheduler sent a pod to a node that is full."""
    blame = explanation.blame
    if blame is not None and blame.what == causes.FIT and explanation.empty.verdict.admitted:
        yield Remark(
            "a scheduler may take for free what a kubelet still counts, of pods that are about to end or that another "
            "scheduler sends: a pod that is refused so stays refused, and whoever made it has to make another",
            "kubernetes issues 106884 and 115325",
        )


RULES = (
    _no_hints,
    _serving_together,
    _wider_than_cpus,
    _init_containers,
    _fewest_nodes,
    _short_as_a_whole,
)
