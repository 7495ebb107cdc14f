"""What pods cost that the policies none, best-effort and cost place: the table in docs/costs.md.

`--write` puts it there; without, the table that is there is compared. It has no times: the same on every machine.
"""

import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from benchmarks.cost_requests import GPU, NIC
from benchmarks.timing import judge
from numaproof.fake_sysfs import Machine, preset, preset_names
from numaproof.harness.cost.costs import Costs
from numaproof.harness.cost.machine_costs import machine_costs
from numaproof.harness.cost.names import CPU, MEMORY, cpu_id, node_id
from numaproof.harness.cost.pairs import Chosen, cost_of
from numaproof.harness.cost.solve import solve
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.decision.discovery import describe
from numaproof.harness.decision.managers import ManagerConfig, Managers
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.providers.devices import Device
from numaproof.harness.topology.bitmask import MAX_NODE

PAGE = Path(__file__).parent.parent / "docs" / "costs.md"
BEGIN, END = "<!-- written by benchmarks/cost_table.py -->", "<!-- end of what is written -->"

POLICIES = ("none", "best-effort", "cost")
GIB = 1 << 30
MOST_CPUS = 64  # a share is cut off there: pairs are counted one by one

# CPUs, or a share of all; GPUs; NICs. A machine that has fewer GPUs or NICs free is asked for those.
REQUESTS: tuple[tuple[int | Fraction, int, int], ...] = (
    (2, 0, 0),
    (5, 0, 0),
    (Fraction(1, 6), 0, 0),
    (Fraction(1, 3), 0, 0),
    (3, 1, 0),
    (4, 1, 1),
    (6, 2, 0),
    (8, 2, 2),
    (10, 3, 1),
    (Fraction(1, 4), 4, 4),
)


@dataclass(frozen=True, slots=True)
class Case:
    """A request to a machine of which a third is in use already: the same third with every policy."""

    machine: Machine
    costs: Costs
    busy_cpus: frozenset[int]
    busy_devices: frozenset[str]
    limits: Mapping[str, str]  # as a container writes them


def cases(machine: Machine) -> Iterator[Case]:
    """The ten requests, as much of them as fits."""
    costs = machine_costs(machine)
    cores: dict[int, list[int]] = defaultdict(list)
    for cpu, core, *_ in describe(machine).cpu_rows:
        cores[core].append(cpu)
    for number, (cpus, gpus, nics) in enumerate(REQUESTS):
        chance = random.Random(f"{machine.name} {number}")
        busy_cores = chance.sample(sorted(cores), max(1, len(cores) // 3))
        busy = {
            one
            for resource in (report.reporter for report in costs.reports)
            for one in chance.sample(costs.instances[resource], len(costs.instances[resource]) // 3)
        }
        free = {resource: len(set(ids) - busy) for resource, ids in costs.instances.items()}
        wanted = {
            CPU: cpus if isinstance(cpus, int) else min(MOST_CPUS, int(cpus * len(costs.instances[CPU]))),
            GPU: min(gpus, free.get(GPU, 0)),
            NIC: min(nics, free.get(NIC, 0)),
        }
        limits = {"memory": "1Gi", **{resource: str(count) for resource, count in wanted.items() if count}}
        busy_cpus = frozenset(cpu for core in busy_cores for cpu in cores[core])
        yield Case(machine, costs, busy_cpus, frozenset(busy), limits)


def managers_of(case: Case, policy: str) -> Managers:
    """A node with all managers at work, and plugins that tell NUMA nodes and costs."""
    machine, costs = case.machine, case.costs
    first = next(node for node in machine.nodes if node.memory)
    config = ManagerConfig(
        topology_policy=policy,
        topology_options={"max-allowable-numa-nodes": str(max(8, len(machine.nodes)))},
        cpu_policy="static",
        reserved_cpus=case.busy_cpus,
        memory_policy="Static",
        reserved_memory={first.id: {"memory": GIB}},
    )
    managers = Managers(describe(machine), config)
    node_of = {device.address: device.numa_node for device in machine.devices()}
    for report in costs.reports:
        devices = [
            Device(one, (node_of[one],) if node_of[one] >= 0 else None, healthy=one not in case.busy_devices)
            for one in costs.instances[report.reporter]
        ]
        managers.devices.update(report.reporter, devices)
        managers.update_costs(report.reporter, report.entries)
    return managers


def chosen_in(held: Assignment) -> Chosen:
    """What a container got, by the names that costs have."""
    nodes = {node for block in held.memory for node in block.nodes}
    return {
        CPU: tuple(map(cpu_id, sorted(held.cpus))),
        MEMORY: tuple(map(node_id, sorted(nodes))),
        **{resource: tuple(sorted(ids)) for resource, ids in held.device_ids().items()},
    }


def placed(case: Case, policy: str) -> Fraction:
    """What the CPUs, memory nodes and devices cost that a pod gets."""
    container = {"name": "c", "resources": {"limits": case.limits}}
    pod = pod_from({"metadata": {"name": "p", "uid": "p"}, "spec": {"containers": [container]}})
    managers = managers_of(case, policy)
    verdict = managers.admit(pod).verdict
    if not verdict.admitted:
        raise RuntimeError(f"{case.machine.name}: {policy}: {case.limits}: {verdict.message}")
    return cost_of(case.costs, chosen_in(managers.assignment("p", "c")))


def solved(case: Case) -> Fraction:
    """What the solver would have a pod get, on a machine that no node can be made of."""
    request = {resource: int(count) for resource, count in case.limits.items() if resource != MEMORY}
    busy = case.busy_devices | set(map(cpu_id, case.busy_cpus))
    free = {resource: tuple(one for one in ids if one not in busy) for resource, ids in case.costs.instances.items()}
    return solve(case.costs, {**request, MEMORY: 1}, available=free).cost


def costs_of(name: str) -> dict[str, list[Fraction]]:
    """What each of the ten requests to a preset costs, by policy; nothing where a policy cannot be."""
    everything = list(cases(preset(name)))
    if max(preset(name).node_ids) > MAX_NODE:
        return {policy: [solved(case) for case in everything] if policy == "cost" else [] for policy in POLICIES}
    return {policy: [placed(case, policy) for case in everything] for policy in POLICIES}


def line(name: str, found: Mapping[str, list[Fraction]]) -> str:
    """The line of the table about a preset: mean costs."""
    means = (f"{float(sum(costs) / len(costs)):.1f}" if costs else "-" for costs in found.values())
    return f"| {name} | {' | '.join(means)} |"


def dearer(found: Mapping[str, list[Fraction]]) -> list[int]:
    """The numbers of the requests for which cost picks what is dearer than what another policy picks."""
    others = [costs for policy, costs in found.items() if policy != "cost" and costs]
    return [number for number, cost in enumerate(found["cost"]) if any(cost > one[number] for one in others)]


def main(arguments: list[str]) -> int:
    """Write or compare the table; exit code 1 if it is another, or if a request costs more with cost than without."""
    lines = ["| Machine | none | best-effort | cost |", "|---|---|---|---|"]
    worse = 0
    for name in preset_names():
        found = costs_of(name)
        lines.append(line(name, found))
        print(lines[-1], flush=True)
        for number in dearer(found):
            worse += 1
            each = ", ".join(f"{policy} {float(costs[number]):.6g}" for policy, costs in found.items() if costs)
            print(f"{name}: request {number}: {each}")
    good = judge("requests that are dearer with the policy cost", worse, 0)
    before, _, rest = PAGE.read_text().partition(BEGIN)
    there, _, after = rest.partition(END)
    table = "\n" + "\n".join(lines) + "\n"
    if "--write" in arguments:
        PAGE.write_text(f"{before}{BEGIN}{table}{END}{after}")
    elif there != table:
        print("MISSED docs/costs.md has another table; write this one: python -m benchmarks.cost_table --write")
        good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
