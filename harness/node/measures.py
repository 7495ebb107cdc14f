"""Which of the kubelet's metrics a decision changes."""

from numaproof.harness.decision.config import NodeConfig
from numaproof.harness.decision.managers import Managers
from numaproof.harness.node.metrics import Metrics
from numaproof.harness.pods.pod import Pod
from numaproof.harness.topology.verdict import NO_COMMON_AFFINITY, Verdict


class Measures:
    """Counts decisions and what is held."""

    def __init__(self, metrics: Metrics, config: NodeConfig, uncore_caches: dict[int, int]) -> None:
        self.metrics = metrics
        self._config = config
        self._uncore_caches = uncore_caches  # by CPU
        if config.cpu_policy == "static":
            # As the kubelet does: these are there from the start, at zero.
            metrics.aligned_failures.add("container", "physical_cpu", by=0)
            metrics.aligned.add("container", "physical_cpu", by=0)
            metrics.aligned.add("container", "uncore_cache", by=0)

    def decided(self, pod: Pod, verdict: Verdict, managers: Managers, seconds: float) -> None:
        """A topology admission has ended; what the pod was given is still there, also if it was refused."""
        metrics, config = self.metrics, self._config
        metrics.admission_requests.add()
        metrics.admission_duration.observe(value=seconds * 1000)
        pinned = [cpus for (uid, _), cpus in managers.cpu.assignments.items() if uid == pod.uid]
        blocks = [key for key in managers.memory.blocks if key[0] == pod.uid]
        metrics.cpu_requests.add(by=len(pinned))
        metrics.memory_requests.add(by=len(blocks))
        if config.cpu_options.get("full-pcpus-only"):
            metrics.aligned.add("container", "physical_cpu", by=len(pinned))
        if config.cpu_options.get("prefer-align-cpus-by-uncorecache"):
            together = sum(1 for cpus in pinned if len({self._uncore_caches[cpu] for cpu in cpus}) == 1)
            metrics.aligned.add("container", "uncore_cache", by=together)
        if not verdict.admitted:
            # Under policy none nothing has to be aligned, and the kubelet counts no error.
            metrics.admission_errors.add(by=0 if config.topology_policy == "none" else 1)
            self._failed(verdict)
        elif config.topology_policy == "single-numa-node":
            scope = config.topology_scope
            metrics.aligned.add(scope, "numa_node", by=1 if scope == "pod" else len(pod.all_containers()))

    def _failed(self, verdict: Verdict) -> None:
        metrics = self.metrics
        if verdict == NO_COMMON_AFFINITY:
            if self._config.topology_policy == "single-numa-node":
                metrics.aligned_failures.add(self._config.topology_scope, "numa_node")
        elif verdict.reason == "SMTAlignmentError" or "not enough cpus available" in verdict.message:
            metrics.cpu_requests.add()
            metrics.cpu_errors.add()
            if verdict.reason == "SMTAlignmentError":
                metrics.aligned_failures.add("container", "physical_cpu")
        elif "[memorymanager]" in verdict.message:
            metrics.memory_requests.add()
            metrics.memory_errors.add()

    def holdings(self, managers: Managers) -> None:
        """What is held now."""
        metrics = self.metrics
        exclusive: set[int] = set()
        for cpus in managers.cpu.assignments.values():
            exclusive |= cpus
        topology = managers.cpu.topology
        per_node = dict.fromkeys(topology.nodes, 0)
        for cpu in exclusive:
            per_node[topology.node_of[cpu]] += 1
        metrics.exclusive_cpus.set(to=len(exclusive))
        # The kubelet leaves reserved CPUs out here, though shared containers may use them.
        metrics.shared_pool.set(to=1000 * len(managers.cpu.shared_pool & managers.cpu.allocatable))
        metrics.cpus_per_node.replace({(str(node),): count for node, count in per_node.items()})
