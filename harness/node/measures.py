"""Which of the kubelet's metrics a decision changes."""

from numaproof.harness.decision.config import NodeConfig
from numaproof.harness.decision.managers import Managers
from numaproof.harness.decision.trace import Trace
from numaproof.harness.node.metrics import Metrics
from numaproof.harness.pods.pod import Pod
from numaproof.harness.providers.cpu import CpuManager
from numaproof.harness.providers.memory import MemoryManager
from numaproof.harness.topology.placement import Failure
from numaproof.harness.topology.provider import SMTAlignmentError


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

    def decided(self, pod: Pod, trace: Trace, seconds: float) -> None:
        """A topology admission has ended; what a refused pod was given before counts, too."""
        metrics, options = self.metrics, self._config.cpu_options
        metrics.admission_requests.add()
        metrics.admission_duration.observe(value=seconds * 1000)
        pinned = [given.cpus for given in trace.given.values() if given.cpus]
        metrics.cpu_requests.add(by=len(pinned))
        metrics.memory_requests.add(by=sum(1 for given in trace.given.values() if given.memory))
        if options.get("full-pcpus-only"):
            metrics.aligned.add("container", "physical_cpu", by=len(pinned))
        if options.get("prefer-align-cpus-by-uncorecache"):
            together = sum(1 for cpus in pinned if len({self._uncore_caches[cpu] for cpu in cpus}) == 1)
            metrics.aligned.add("container", "uncore_cache", by=together)
        single = trace.policy == "single-numa-node"
        if trace.is_aligned:
            if single:
                metrics.aligned.add(
                    trace.scope, "numa_node", by=1 if trace.scope == "pod" else len(pod.all_containers())
                )
            return
        # Under policy none nothing has to be aligned, and the kubelet counts no error.
        metrics.admission_errors.add(by=0 if trace.policy == "none" else 1)
        if trace.failure is not None:
            self._failed(trace.failure)
        elif single:
            metrics.aligned_failures.add(trace.scope, "numa_node")

    def _failed(self, failure: Failure) -> None:
        metrics = self.metrics
        if failure.provider == CpuManager.name:
            metrics.cpu_requests.add()
            metrics.cpu_errors.add()
            if failure.reason == SMTAlignmentError.reason:
                metrics.aligned_failures.add("container", "physical_cpu")
        elif failure.provider == MemoryManager.name:
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
