"""One scenario, many instances: a machine and a value of each row of the matrix; what does not apply says why."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from numaproof.fake_sysfs import Machine
from numaproof.harness.scenario.model import Expected, Needs, Scenario, Step
from numaproof.harness.scenario.sizes import Sizes
from numaproof.harness.vocabulary import SMALLEST_NODE_LIMIT, is_gpu

# Where a scenario names no machines: one of each shape that decides differently.
DEFAULT_MACHINES = ("xeon-2s",)
_KEYS = {"policy": "topologyManagerPolicy", "scope": "topologyManagerScope"}
_EVICTION = 100 << 20  # the kubelet's own threshold for free memory, unless told otherwise


@dataclass(frozen=True, slots=True)
class Instance:
    """A scenario on one machine, with one value of each row of its matrix."""

    scenario: Scenario
    machine: str
    values: Mapping[str, str]

    @property
    def id(self) -> str:
        """`theme/file[machine-policy-scope]`."""
        return f"{self.scenario.id}[{'-'.join([self.machine, *self.values.values()])}]"

    def expects(self, step: Step) -> list[Expected]:
        """What a step expects in this instance."""
        met = {**self.values, "machine": self.machine}
        return [one for one in step.expected if all(met.get(key) in values for key, values in one.when.items())]

    @property
    def argument(self) -> str:
        """The machine as `parse_machine` takes it; what lies in `machines` beside `scenarios` goes by its name."""
        scenarios = self.scenario.path.parent.parent
        file = scenarios.parent / "machines" / f"{self.machine}.yaml"
        return str(file) if scenarios.name == "scenarios" and file.is_file() else self.machine


def instances(scenario: Scenario, machines: tuple[str, ...] = ()) -> Iterator[Instance]:
    """Every instance of a scenario, on these machines, or else on those that it names."""
    rows = {key: values for key, values in scenario.matrix.items() if key != "machine"}
    for machine in machines or scenario.matrix.get("machine", DEFAULT_MACHINES):
        for values in itertools.product(*rows.values()):
            yield Instance(scenario, machine, dict(zip(rows, values, strict=True)))


def reason_to_skip(needs: Needs, machine: Machine, sizes: Sizes) -> str | None:
    """Why a scenario means nothing on a machine; None: it applies."""
    numa = sizes.names["numa.count"]
    if numa < needs.numa:
        return f"needs {needs.numa} NUMA nodes with CPUs, {machine.name} has {numa}"
    if sizes.names["numa.cpus"] < (cpus := sizes.count(needs.numa_cpus, "needs.numa_cpus")):
        return f"needs {cpus} free CPUs a NUMA node, {machine.name} has {sizes.names['numa.cpus']}"
    if sizes.names["numa.memory"] < 0:
        return f"needs memory on every NUMA node with CPUs, {machine.name} has none on some"
    if sizes.names["core.cpus"] < needs.threads:
        return f"needs {needs.threads} threads a core, {machine.name} has cores with {sizes.names['core.cpus']}"
    if needs.most_threads is not None and max(map(len, sizes.cores)) > needs.most_threads:
        most = max(map(len, sizes.cores))
        return f"is for at most {needs.most_threads} threads a core, {machine.name} has cores with {most}"
    for size in needs.hugepages:
        if not sizes.names[f"numa.hugepages-{size}"]:
            return f"needs hugepages of {size} on every NUMA node with CPUs, {machine.name} has none on some"
    gpus = sum(1 for device in machine.devices() if is_gpu(device.class_code))
    if gpus < needs.gpus:
        return f"needs {needs.gpus} GPUs in the PCI tree, {machine.name} has {gpus}"
    return None


def kubelet_configuration(instance: Instance, machine: Machine, sizes: Sizes) -> dict[str, Any]:
    """The KubeletConfiguration of an instance: the scenario's, the matrix's, and the reservations that those need."""
    config: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cpuManagerPolicy": "static",
        **instance.scenario.kubelet,
    }
    for key, value in instance.values.items():
        config[_KEYS.get(key, key)] = value
    if len(machine.node_ids) > SMALLEST_NODE_LIMIT and instance.scenario.refuses is None:
        # Without it no policy but none starts on so many NUMA nodes.
        options = {"max-allowable-numa-nodes": str(len(machine.node_ids))}
        config["topologyManagerPolicyOptions"] = options | config.get("topologyManagerPolicyOptions", {})
    config.setdefault("reservedSystemCPUs", ",".join(map(str, sizes.reserved_cpus)))
    if config.get("memoryManagerPolicy") == "Static" and "reservedMemory" not in config:
        kept = sizes.reserved_memory
        config["reservedMemory"] = [{"numaNode": node, "limits": {"memory": str(kept[node])}} for node in kept]
        config["evictionHard"] = {"memory.available": str(_EVICTION)}
        config["systemReserved"] = {"memory": str(sum(kept.values()) - _EVICTION)}
    return config
