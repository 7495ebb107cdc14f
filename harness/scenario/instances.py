"""One scenario, many instances: a machine and a value of each row of the matrix."""

import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from numaproof.fake_sysfs import Machine
from numaproof.fake_sysfs.catalogue import machine_beside, machine_names
from numaproof.harness.scenario.kubelet import kubelet_values
from numaproof.harness.scenario.model import Expected, Scenario, Step
from numaproof.harness.scenario.sizes import Sizes
from numaproof.harness.vocabulary import SMALLEST_NODE_LIMIT

# Where a scenario names no machines: two sockets are the least on which placement matters.
DEFAULT_MACHINES = ("xeon-2s",)
_EVICTION = 100 << 20  # the kubelet's own threshold for free memory, unless told otherwise


@dataclass(frozen=True, slots=True)
class Instance:
    """A scenario on one machine, with one value of each row of its matrix."""

    scenario: Scenario
    machine: str
    values: Mapping[str, str]
    of_matrix: bool = False  # the scenario names the machine, not who runs it

    @property
    def id(self) -> str:
        """`theme/file[machine-policy-scope]`."""
        return f"{self.scenario.id}[{'-'.join([self.machine, *self.values.values()])}]"

    @property
    def words(self) -> dict[str, str]:
        """What results say of it: id, machine, theme, and a word for each row of the matrix."""
        return {"id": self.id, "machine": self.machine, "theme": self.scenario.theme, **self.values}

    @property
    def semantics(self) -> str:
        """Whose rules its node decides by: those of the newest kubelet unless the matrix says otherwise."""
        return self.values.get("semantics", "current")

    def expects(self, step: Step) -> list[Expected]:
        """What a step expects in this instance."""
        met = {**self.values, "machine": self.machine}
        return [one for one in step.expected if all(met.get(key) in values for key, values in one.when.items())]

    @property
    def argument(self) -> str:
        """The machine as `parse_machine` takes it.

        What lies in `machines` beside `scenarios` goes by its name; a file that a scenario names is relative to it.
        """
        scenarios = self.scenario.path.parent.parent
        file = machine_beside(scenarios.parent / "machines", self.machine) if scenarios.name == "scenarios" else None
        if file is None and self.of_matrix and self.machine not in ("host", *machine_names()):
            beside = self.scenario.path.parent / self.machine
            # A name may be anything that a user writes, which os.path puts up with.
            file = beside if os.path.isfile(beside) else None  # noqa: PTH113
        return str(file or self.machine)


def instances(scenario: Scenario, machines: tuple[str, ...] = ()) -> Iterator[Instance]:
    """Every instance of a scenario, on these machines, or else on those that it names."""
    rows = {key: values for key, values in scenario.matrix.items() if key != "machine"}
    # A machine that is given twice would make two instances of one id.
    for machine in dict.fromkeys(machines) or scenario.matrix.get("machine", DEFAULT_MACHINES):
        for values in itertools.product(*rows.values()):
            yield Instance(scenario, machine, dict(zip(rows, values, strict=True)), of_matrix=not machines)


def kubelet_configuration(instance: Instance, machine: Machine, sizes: Sizes) -> dict[str, Any]:
    """The KubeletConfiguration of an instance: the scenario's, the matrix's, and the reservations that those need."""
    config: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cpuManagerPolicy": "static",
        **instance.scenario.kubelet,
        **kubelet_values(instance.values),
    }
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
