"""What is known about cases like this one: what kubelets do by design, which bugs they had, what is no fault at all."""

import math
from collections.abc import Iterator

from numaproof.harness.explain import blame as causes
from numaproof.harness.explain import remarks_cpu, remarks_devices, remarks_memory
from numaproof.harness.explain.explanation import Explanation
from numaproof.harness.explain.places import said_in
from numaproof.harness.explain.remark import Remark, Rule
from numaproof.harness.explain.stock import CPU
from numaproof.harness.providers.memory.state import MEMORY
from numaproof.harness.topology.hints import HintFamily
from numaproof.harness.topology.provider import SMTAlignmentError

_SLOW = 1 << 20  # combinations of hints from which on a kubelet takes seconds
_ENDLESS = 1 << 44  # from which on it takes months
_OF_ONE_NODE = ("single-numa-node",)


def remarks(explanation: Explanation) -> tuple[Remark, ...]:
    """All that is known of a case."""
    return tuple(remark for rule in _RULES for remark in rule(explanation))


def _init_containers(explanation: Explanation) -> Iterator[Remark]:
    blame = explanation.blame
    if blame is not None and blame.cause == causes.LEFT_BY_INIT:
        way = "; let init containers ask for part of a CPU, or for as many CPUs as the container after them"
        yield Remark(
            "a kubelet has later containers take whatever an init container leaves, though they need none of it"
            f"{way if blame.resource == CPU else ''}",
            "kubernetes issues 94220, 110306 and 123816",
        )


def _memory_groups(explanation: Explanation) -> Iterator[Remark]:
    blame = explanation.blame
    if blame is None or (blame.what, blame.cause) != (MEMORY, causes.NOT_GIVEN):
        return
    held = any(one.assignments for one in explanation.replica.managers.memory.state.values())
    if held or any(given.memory for given in explanation.trace.given.values()):
        yield Remark(
            "a NUMA node that serves a pod by itself cannot join a group of NUMA nodes, nor the other way round, until "
            "that pod is gone: the order in which pods come decides",
            "kubernetes issues 120733, 128708 and 138495",
        )


def _unequal_widths(explanation: Explanation) -> Iterator[Remark]:
    blame = explanation.blame
    if blame is not None and blame.cause == causes.WIDER and explanation.trace.policy == "restricted":
        yield Remark(
            "restricted wants all resources on one and the same set of NUMA nodes, be the node empty or not: what fits "
            "fewer NUMA nodes than another resource needs is refused with it",
            "kubernetes issue 128669",
        )


def _width_of_an_empty_node(explanation: Explanation) -> Iterator[Remark]:
    blame, trace = explanation.blame, explanation.trace
    if blame is None or blame.stock is None or blame.resource != CPU or trace.policy in _OF_ONE_NODE:
        return
    stock = blame.stock
    enough = sum(stock.free.values()) >= stock.wanted
    if not trace.verdict.admitted and enough and blame.cause in (causes.IN_USE, causes.TOO_MUCH):
        yield Remark(
            "how many NUMA nodes are preferred is counted as if none of their CPUs were in use or reserved: that "
            "enough CPUs are free over more NUMA nodes does not help",
            "kubernetes issues 84597 and 132187",
        )


def _restarted(explanation: Explanation) -> Iterator[Remark]:
    failure = explanation.trace.failure
    if (
        failure is not None
        and failure.reason == SMTAlignmentError.reason
        and "not enough free" in _message(explanation)
    ):
        yield Remark(
            "a pod that ran before the kubelet was restarted is refused like this, too, though it holds its CPUs; it "
            "has to be deleted and created again",
            "kubernetes issue 129078",
            "v1.37",
        )


def _plugins(explanation: Explanation) -> Iterator[Remark]:
    failure = explanation.trace.failure
    if failure is None or failure.provider != causes.DEVICES:
        return
    if "no healthy devices" in _message(explanation):
        yield Remark(
            "until a plugin has registered again, after a restart of node or kubelet, its devices count as unhealthy "
            "and pods that ask for them are refused for good; create the pod again once the plugin is there",
            "kubernetes issues 109595 and 125579 (so since v1.28)",
        )
    elif "unavailable for" in _message(explanation) and not (explanation.blame and _missing_are_ill(explanation.blame)):
        yield Remark(
            "where no pod holds the devices that are missing, the kubelet may have kept them for pods that are gone: "
            "restart it",
            "kubernetes issue 130145",
        )


def _missing_are_ill(blame: causes.Blame) -> bool:
    stock = blame.stock
    return stock is not None and stock.ill >= stock.wanted - sum(stock.free.values()) - stock.nowhere


def _slow_merge(explanation: Explanation) -> Iterator[Remark]:
    nodes = len(explanation.replica.setup.description.node_ids)
    for step in explanation.trace.steps:
        counts = [
            (1 << hints.nodes.bit_count()) - 1 if isinstance(hints, HintFamily) else max(len(hints or ()), 1)
            for hints in said_in(step).values()
        ]
        if math.prod(counts) >= _SLOW:
            time = "never ends" if math.prod(counts) >= _ENDLESS else "takes it from seconds to hours"
            yield Remark(
                f"a kubelet walks through {math.prod(counts):.1g} combinations of hints here ({nodes} NUMA nodes, "
                f"{len(counts)} resources), which {time} while no other pod is admitted",
                "kubernetes issues 131738, 135541 and 137700",
            )
            return


def _shared_by_design(explanation: Explanation) -> Iterator[Remark]:
    if explanation.blame is not None and explanation.blame.what == causes.QOS:
        yield Remark(
            "only containers of Guaranteed pods that ask for whole CPUs get CPUs of their own: every container, init "
            "containers and sidecars too, needs limits of CPU and memory equal to its requests",
            "kubernetes issues 93282, 102324 and 116086",
        )


def _page_cache(explanation: Explanation) -> Iterator[Remark]:
    pinned = any(given.memory for given in explanation.trace.given.values())
    if explanation.trace.verdict.admitted and pinned:
        yield Remark(
            "pages that others touched first, of shared libraries and files, may lie on other NUMA nodes; that is no "
            "fault of the memory manager",
            "kubernetes issue 138523",
        )


def _distributed(explanation: Explanation) -> Iterator[Remark]:
    options = explanation.replica.managers.cpu.options
    node_of = explanation.replica.managers.cpu.topology.node_of
    for given in explanation.trace.given.values() if options.distribute_across_nodes else ():
        used = len({node_of[cpu] for cpu in given.cpus})
        if given.affinity.affinity is not None and 0 < used < given.affinity.affinity.bit_count():
            yield Remark(
                "distribute-cpus-across-numa spreads CPUs over the fewest NUMA nodes that have enough, not over those "
                "that were decided on",
                "kubernetes issue 139430 and PR 139456",
                "v1.38",
            )
            return


def _unaligned_options(explanation: Explanation) -> Iterator[Remark]:
    options = explanation.replica.managers.cpu.options
    if options.align_by_socket and options.distribute_across_nodes:
        yield Remark(
            "align-by-socket has no effect beside distribute-cpus-across-numa", "kubernetes issue 114642", "v1.37"
        )


def _overlapping(explanation: Explanation) -> Iterator[Remark]:
    blame, trace = explanation.blame, explanation.trace
    many = len(explanation.replica.setup.description.node_ids) > 2
    if blame is not None and blame.cause == causes.APART and many and trace.policy in ("restricted", "best-effort"):
        yield Remark(
            "older kubelets took hints that overlap, as 0+1 and 0+2 do, for a match",
            "kubernetes PR 108052",
            "v1.24",
        )


def _empty_topologies(explanation: Explanation) -> Iterator[Remark]:
    asked = {name for container in explanation.pod.all_containers() for name in container.limits}
    devices = explanation.replica.setup.devices
    if any(one.numa == () for resource in asked for one in devices.get(resource, ())):
        yield Remark(
            "older kubelets refused every pod that asked for a device whose topology names no NUMA node",
            "kubernetes issue 112234 and PR 112387",
            "v1.26",
        )


def _message(explanation: Explanation) -> str:
    return explanation.trace.verdict.message


_RULES: tuple[Rule, ...] = (
    _init_containers,
    _memory_groups,
    _unequal_widths,
    _width_of_an_empty_node,
    _restarted,
    _plugins,
    _slow_merge,
    _shared_by_design,
    _page_cache,
    _distributed,
    _unaligned_options,
    _overlapping,
    _empty_topologies,
    *remarks_cpu.RULES,
    *remarks_memory.RULES,
    *remarks_devices.RULES,
)
