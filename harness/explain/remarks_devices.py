"""What is known about cases of devices like this one: plugins, GPUs, network cards, virtual machines."""

from collections import Counter
from collections.abc import Iterator

from numaproof.harness.explain import blame as causes
from numaproof.harness.explain.explanation import Explanation
from numaproof.harness.explain.places import said_in, some_hints
from numaproof.harness.explain.remark import Remark
from numaproof.harness.explain.stock import CPU
from numaproof.harness.providers.cpu.topology import Level
from numaproof.harness.topology.provider import SMTAlignmentError

_REPLICA = "::"  # between the id of a GPU and the number of its replica, in the ids of NVIDIA's plugin


def _nobody_offers(explanation: Explanation) -> Iterator[Remark]:
    """The pod gets none of the devices that it asks for, and is admitted."""
    offered = explanation.replica.setup.devices
    for container in explanation.pod.all_containers():
        for resource, amount in container.limits.items():
            if "/" in resource and amount and resource not in offered:
                yield Remark(
                    f"no plugin of {resource} is known here: a scheduler keeps the pod Pending (Insufficient "
                    f"{resource}); a kubelet that gets it all the same, before the plugin has registered, starts it "
                    "without the devices",
                    "kubernetes issues 102880 and 116125",
                )
                return


def _of_no_numa_node(explanation: Explanation) -> Iterator[Remark]:
    """Devices were given of which their plugin tells no topology; one of no NUMA node says that it has none."""
    if len(explanation.replica.setup.description.node_ids) < 2:
        return
    for given in explanation.trace.given.values() if explanation.trace.verdict.admitted else ():
        for resource, devices in given.devices.items():
            if any(one.numa is None for one in devices):
                yield Remark(
                    f"the plugin of {resource} tells no NUMA node, so that nothing is aligned with what it gives, and "
                    "nothing is refused either: see in sysfs (numa_node) where it is, and take a plugin that tells it",
                    "kubernetes enhancement issue 693 and NVIDIA/kubevirt-gpu-device-plugin PR 86",
                )
                return


def _not_healthy(explanation: Explanation) -> Iterator[Remark]:
    """Some devices cannot be had though nobody holds them."""
    blame = explanation.blame
    if blame is None or blame.what != causes.DEVICES or blame.stock is None or not blame.stock.ill:
        return
    count = len(explanation.replica.setup.devices.get(blame.resource, ()))
    if blame.stock.ill < count:
        yield Remark(
            f"{blame.stock.ill} of {count} {blame.resource} are not healthy: Capacity counts them, Allocatable does "
            "not; the log of the plugin says why",
            "NVIDIA/k8s-device-plugin issues 58 and 75",
        )


def _in_pieces(explanation: Explanation) -> Iterator[Remark]:
    """Enough devices are free on the whole, and on no NUMA node."""
    blame = explanation.blame
    if (
        not explanation.trace.verdict.admitted
        and blame is not None
        and (blame.what, blame.cause) == (causes.DEVICES, causes.IN_USE)
        and blame.stock is not None
        and blame.stock.best < blame.stock.wanted <= sum(blame.stock.free.values())
    ):
        yield Remark(
            f"enough {blame.resource} are free in all, and a scheduler counts no more than that: it will send the pod "
            "here again and again; the scheduler plugin NodeResourceTopologyMatch counts by NUMA node",
            "kubernetes issue 84869 and pytorch/ci-infra issue 696",
        )


def _counts_ignored(explanation: Explanation) -> Iterator[Remark]:
    """The NUMA node with fewer devices may be the one that counts."""
    blame, trace = explanation.blame, explanation.trace
    if (
        trace.verdict.admitted
        and trace.policy == "best-effort"
        and blame is not None
        and blame.what == causes.DEVICES
        and blame.stock is not None
        and len(set(blame.stock.most.values())) > 1
    ):
        yield Remark(
            "best-effort does not look at how many devices a NUMA node has: it may choose the one that has fewer",
            "kubernetes issue 136431",
        )


def _torn_apart(explanation: Explanation) -> Iterator[Remark]:
    """CPUs lie on several NUMA nodes though one had enough."""
    trace = explanation.trace
    node_of = explanation.replica.managers.cpu.topology.node_of
    if not trace.verdict.admitted or trace.policy != "best-effort":
        return
    for step in trace.steps:
        single = any(
            hint.preferred and hint.affinity and hint.affinity.bit_count() == 1
            for hint in some_hints(said_in(step).get(CPU))
        )
        given = trace.given.get(step.container)
        if single and given is not None and len({node_of[cpu] for cpu in given.cpus}) > 1:
            yield Remark(
                "where resources have no NUMA node in common, best-effort keeps to the NUMA nodes of one of them: CPUs "
                "are taken from what is left there and the rest from elsewhere, though one NUMA node has enough",
                "kubernetes issue 106270",
            )
            return


def _topology_left_out(explanation: Explanation) -> Iterator[Remark]:
    """Devices are elsewhere than what they should be near."""
    blame = explanation.blame
    if blame is None or not blame.others or blame.cause not in (causes.APART, causes.IN_USE):
        return
    devices = explanation.replica.setup.devices
    if any(one in devices for one in (blame.resource, *blame.others)):
        yield Remark(
            "a plugin that tells no NUMA node of its devices has no say in this: who can do with a remote one may "
            "leave it out (excludeTopology of the SR-IOV plugin), and have the rest aligned",
            "k8snetworkplumbingwg/sriov-network-operator PR 435",
        )


def _same_node_other_bridge(explanation: Explanation) -> Iterator[Remark]:
    """Devices of two kinds are on one NUMA node, and nobody asked for more."""
    if explanation.blame is not None:
        return
    for given in explanation.trace.given.values():
        if sum(any(one.numa for one in devices) for devices in given.devices.values()) > 1:
            yield Remark(
                "a kubelet knows NUMA nodes, and nothing of PCIe bridges: devices of the same NUMA node may be below "
                "different ones; DRA can ask for more",
                "k8snetworkplumbingwg/sriov-network-operator issue 736",
            )
            return


def _replicas(explanation: Explanation) -> Iterator[Remark]:
    """A container got the same GPU twice."""
    for given in explanation.trace.given.values():
        for resource, devices in given.devices.items():
            counts = Counter(one.id.rpartition(_REPLICA)[0] for one in devices if _REPLICA in one.id)
            if any(count > 1 for count in counts.values()):
                yield Remark(
                    f"replicas of one device (time slicing) are as good as any {resource} to a kubelet: a container "
                    "that asks for two may get the same one twice",
                    "NVIDIA/k8s-device-plugin issue 491",
                )
                return


def _init_containers(explanation: Explanation) -> Iterator[Remark]:
    """Init containers ask for their devices again when a kubelet restarts."""
    blame, pod = explanation.blame, explanation.pod
    if explanation.trace.verdict.admitted or blame is None or blame.what != causes.DEVICES:
        return
    if any(blame.resource in one.limits for one in pod.init_containers if pod.ends(one)):
        yield Remark(
            "a pod that ran before the kubelet was restarted is refused like this, too: devices are asked for again "
            "for its init containers, though they have ended; it has to be created again",
            "kubernetes issues 124345 and 138446",
        )


def _emulator_thread(explanation: Explanation) -> Iterator[Remark]:
    """A virtual machine has a CPU more than its owner asked for."""
    failure, pod = explanation.trace.failure, explanation.pod
    if failure is None or failure.reason != SMTAlignmentError.reason or not pod.name.startswith("virt-launcher-"):
        return
    cores = explanation.replica.managers.cpu.topology.groups[Level.CORE].values()
    if max(core.bit_count() for core in cores) > 1:
        yield Remark(
            "isolateEmulatorThread adds a CPU to those of the virtual machine, and makes an even number odd: KubeVirt "
            "adds two with its annotation alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity and the gate AlignCPUs",
            "kubevirt PR 10593 and PR 10872",
        )


def _claimed(explanation: Explanation) -> Iterator[Remark]:
    """Devices come another way, too."""
    if explanation.pod.has_claims:
        yield Remark(
            "resource claims (Dynamic Resource Allocation) take no part in hints: no policy brings CPUs and memory "
            "near the devices that they get, and what is said here leaves them out",
            "kubernetes enhancement 4381",
        )


RULES = (
    _claimed,
    _nobody_offers,
    _of_no_numa_node,
    _not_healthy,
    _in_pieces,
    _counts_ignored,
    _torn_apart,
    _topology_left_out,
    _same_node_other_bridge,
    _replicas,
    _init_containers,
    _emulator_thread,
)
