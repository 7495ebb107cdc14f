"""A hint provider of one's own: memory bandwidth, so many GB/s a NUMA node, asked for as `example.com/bandwidth`."""

from numaproof.harness.decision.managers import ManagerConfig, Managers, NodeDescription
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.pods.requests import pod_total
from numaproof.harness.topology import AllocationError, Hints, TopologyHint, ids_of, mask_of

RESOURCE = "example.com/bandwidth"


class BandwidthManager:
    """Gives containers bandwidth of single NUMA nodes."""

    name = "bandwidth"

    def __init__(self, free: dict[int, int]) -> None:
        self.free = free
        self.given: dict[tuple[str, str], tuple[int, int]] = {}  # pod uid and container -> node, amount

    def get_topology_hints(self, pod: Pod, container: Container) -> Hints:
        return self._hints(asked(container))

    def get_pod_topology_hints(self, pod: Pod) -> Hints:
        return self._hints(pod_total(pod, asked, 0))

    def allocate(self, pod: Pod, container: Container, affinity: TopologyHint) -> None:
        amount = asked(container)
        if not amount:
            return
        wanted = self.free if affinity.affinity is None else ids_of(affinity.affinity)
        node = next((node for node in wanted if self.free.get(node, 0) >= amount), None)
        if node is None:
            raise AllocationError(f"no NUMA node has {amount} GB/s left")
        self.free[node] -= amount
        self.given[pod.uid, container.name] = node, amount

    def remove(self, uid: str) -> None:
        for key in [key for key in self.given if key[0] == uid]:
            node, amount = self.given.pop(key)
            self.free[node] += amount

    def checkpoint(self) -> tuple[dict[int, int], dict[tuple[str, str], tuple[int, int]]]:
        return self.free.copy(), self.given.copy()

    def rollback(self, checkpoint: tuple[dict[int, int], dict[tuple[str, str], tuple[int, int]]]) -> None:
        self.free, self.given = checkpoint

    def _hints(self, amount: int) -> Hints:
        if not amount:
            return {}  # no opinion
        fitting = [node for node, free in self.free.items() if free >= amount]
        return {RESOURCE: [TopologyHint(mask_of([node]), preferred=True) for node in fitting]}


def asked(container: Container) -> int:
    return int(container.requests.get(RESOURCE, 0))


def main() -> None:
    # A machine of two nodes, four CPUs each; node 0 keeps CPU 0 for the system.
    rows = [(cpu, cpu, cpu // 4, cpu // 4, cpu // 4) for cpu in range(8)]
    config = ManagerConfig(topology_policy="restricted", cpu_policy="static", reserved_cpus=frozenset({0}))
    managers = Managers(NodeDescription(rows, (), (0, 1)), config, providers=[BandwidthManager({0: 100, 1: 40})])
    for name, cpus, bandwidth in (("small", 2, 30), ("wide", 4, 60), ("fast", 1, 60)):
        limits = {"cpu": str(cpus), "memory": "1Gi", RESOURCE: str(bandwidth)}
        spec = {"containers": [{"name": "main", "resources": {"limits": limits}}]}
        trace = managers.admit(pod_from({"metadata": {"name": name, "uid": name}, "spec": spec}))
        print(name, f"on CPUs {sorted(trace.given['main'].cpus)}" if trace.verdict.admitted else trace.verdict.reason)


if __name__ == "__main__":
    main()
