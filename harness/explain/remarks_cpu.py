"""What is known about cases of CPUs, and of the Topology Manager at large."""

from collections.abc import Iterator

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.explain import blame as causes
from numaproof.harness.explain import pinning
from numaproof.harness.explain.explanation import Explanation
from numaproof.harness.explain.leavings import unused
from numaproof.harness.explain.places import preferred_width, said_in
from numaproof.harness.explain.remark import Remark, Rule
from numaproof.harness.explain.stock import CPU
from numaproof.harness.providers.cpu.sets import ids_of
from numaproof.harness.providers.cpu.topology import Level
from numaproof.harness.topology.provider import SMTAlignmentError
from numaproof.harness.topology.verdict import NO_COMMON_AFFINITY
from numaproof.harness.vocabulary import SMALLEST_NODE_LIMIT

_MANY_NODES = 20  # NUMA nodes of which to walk through all sets takes a kubelet seconds, and then hours


def _refused_again(explanation: Explanation) -> Iterator[Remark]:
    blame = explanation.blame
    if blame is not None and (blame.what, blame.cause) == (causes.DEVICES, causes.IN_USE):
        return  # the remarks of devices say more
    if explanation.trace.verdict.reason in (NO_COMMON_AFFINITY.reason, SMTAlignmentError.reason):
        yield Remark(
            "the default scheduler knows neither NUMA nodes nor cores: what a Deployment or a Job creates instead of a "
            "refused pod can come to the same node, and is refused there again and again",
            "kubernetes issues 84757 and 84869",
        )


def _left_over(explanation: Explanation) -> Iterator[Remark]:
    blame = explanation.blame
    node_of = explanation.replica.managers.cpu.topology.node_of
    if blame is None or blame.resource != CPU or blame.cause not in (causes.IN_USE, causes.NOT_GIVEN):
        return
    if any(unused(one.pod, one.given, CPU, node_of) for one in explanation.replica.residents):
        yield Remark(
            "CPUs that an init container had and no later container took over stay with the pod until it is gone, "
            "though the scheduler does not count them; let init containers ask for part of a CPU",
            "kubernetes issues 112228 and 124797",
        )


def _decided_on_fewer(explanation: Explanation) -> Iterator[Remark]:
    trace = explanation.trace
    if not trace.verdict.admitted or trace.policy != "best-effort":
        return
    for step in trace.steps:
        affinity = step.decision.hint.affinity
        widest = max(map(preferred_width, said_in(step).values()), default=0)
        if not step.decision.hint.preferred and affinity is not None and affinity.bit_count() < widest:
            yield Remark(
                "best-effort may decide on fewer NUMA nodes than a resource needs, where another one fits no more of "
                "them",
                "kubernetes issue 136431",
            )
            return


def _taken_given(explanation: Explanation) -> Iterator[Remark]:
    cpu, replica = explanation.replica.managers.cpu, explanation.replica
    given = frozenset[int]().union(*(one.cpus for one in explanation.trace.given.values()))
    held = frozenset[int]().union(*(one.cpus for resident in replica.residents for one in resident.given.values()))
    taken = given & (replica.setup.config.reserved_cpus | held)
    threads = max((core.bit_count() for core in cpu.topology.groups[Level.CORE].values()), default=0)
    if taken and cpu.topology.cpus_per_core < threads:
        yield Remark(
            f"CPUs that are reserved or that others hold are given here ({format_cpulist(taken)}): where a CPU is "
            "offline or cores are of two kinds, a kubelet counts fewer threads of a core than there are, and takes "
            "whole cores; it does not start again on this state. Reserve whole cores, or take all threads of a core "
            "offline",
            "kubernetes issue 124066",
        )


def _isolated(explanation: Explanation) -> Iterator[Remark]:
    setup = explanation.replica.setup
    isolated = setup.description.isolated_cpus - setup.config.reserved_cpus
    if isolated and setup.config.cpu_policy == "static":
        yield Remark(
            f"the CPU manager does not know that the kernel isolates CPUs {format_cpulist(isolated)} (isolcpus): they "
            "are given like all others, and containers without CPUs of their own run there, too, where the kernel "
            "balances no load",
            "kubernetes issue 87862, kubernetes/community PR 2435",
        )


def _sidecars(explanation: Explanation) -> Iterator[Remark]:
    pod, given = explanation.pod, explanation.trace.given
    if any(one.restartable and one.name in given and given[one.name].cpus for one in pod.init_containers):
        yield Remark(
            "older kubelets gave the CPUs of a sidecar to the containers after it as well",
            "kubernetes PR 119447",
            "v1.29",
        )


def _other_policy(explanation: Explanation) -> Iterator[Remark]:
    blame = explanation.blame
    if blame is not None and blame.what == causes.POLICY and explanation.replica.setup.config.cpu_policy == "none":
        yield Remark(
            "CPUs of their own need cpuManagerPolicy static, with some CPUs reserved; a kubelet does not start with "
            "another policy than its state has (could not restore state from checkpoint): drain the node, and delete "
            "/var/lib/kubelet/cpu_manager_state",
            "kubespray issue 8535, talos issue 7504",
        )


def _pod_level(explanation: Explanation) -> Iterator[Remark]:
    blame = explanation.blame
    if blame is not None and (blame.what, blame.cause) == (causes.QOS, pinning.POD_LEVEL):
        yield Remark(
            "with the feature gate PodLevelResourceManagers kubelets do pin what a pod has as a whole; it is off by "
            "default",
            "kubernetes PR 134768",
            "v1.36",
        )


def _many_nodes(explanation: Explanation) -> Iterator[Remark]:
    trace = explanation.trace
    count = len(explanation.replica.setup.description.node_ids)
    if count > SMALLEST_NODE_LIMIT and trace.policy != "none":
        yield Remark(
            f"older kubelets do not start with a policy on more than {SMALLEST_NODE_LIMIT} NUMA nodes: they have no "
            "option max-allowable-numa-nodes",
            "kubernetes issue 124144",
            "v1.31",
        )
    devices = explanation.replica.managers.devices
    asked = {name for container in explanation.pod.all_containers() for name in container.limits}
    placed = [one for one in asked if devices.manages(one) and any(devices.masks(one).values())]
    if count >= _MANY_NODES and trace.steps and placed:
        yield Remark(
            f"older kubelets walk through all sets of the {count} NUMA nodes for a device, be it on one of them, which "
            "never ends",
            "kubernetes issue 135541 and PR 138244",
            "v1.36",
        )


def _endless(explanation: Explanation) -> Iterator[Remark]:
    failure = explanation.trace.failure
    if failure is not None and failure.provider == CPU and "never returns" in explanation.trace.verdict.message:
        yield Remark(
            "older kubelets hang here, and admit no other pod either: distribute-cpus-across-numa beside "
            "full-pcpus-only, where what is free of a NUMA node is no multiple of a core; reserve whole cores",
            "kubernetes PR 140730",
            "v1.38",
        )


def _half_cores(explanation: Explanation) -> Iterator[Remark]:
    cpu = explanation.replica.managers.cpu
    reserved = explanation.replica.setup.config.reserved_cpus
    if not cpu.options.full_cores_only:
        return
    cores = cpu.topology.groups[Level.CORE].values()
    if any(0 < len(reserved & ids_of(core)) < core.bit_count() for core in cores):
        yield Remark(
            "of some cores one thread is reserved and the other is not: full-pcpus-only gives those to nobody, and "
            "older kubelets gave half cores away; reserve whole cores",
            "kubernetes PR 114114",
            "v1.27",
        )


RULES: tuple[Rule, ...] = (
    _left_over,
    _decided_on_fewer,
    _taken_given,
    _isolated,
    _sidecars,
    _other_policy,
    _pod_level,
    _many_nodes,
    _endless,
    _half_cores,
    _refused_again,
)
