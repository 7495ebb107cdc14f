"""Cost-based selection: its time on presets and on machines that grow, beside a twin without compound nodes and beside
the merge of hints."""

import math
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial

from benchmarks.cost_machines import grown
from benchmarks.cost_requests import GPU, requests
from benchmarks.timing import judge, least_times
from numaproof.fake_sysfs import preset, preset_names
from numaproof.harness.cost.costs import Costs
from numaproof.harness.cost.machine_costs import machine_costs
from numaproof.harness.cost.names import CPU, MEMORY
from numaproof.harness.cost.solve import solve
from numaproof.harness.topology.bitmask import NodeMask
from numaproof.harness.topology.hints import TopologyHint
from numaproof.harness.topology.merge import merge
from numaproof.harness.topology.numa import NumaInfo
from numaproof.harness.vocabulary import USUAL_RESOURCES
from tests.harness.topology.twin import naive_merge

VF = USUAL_RESOURCES["nic"]

REQUEST = {CPU: 64, GPU: 4, VF: 8, MEMORY: 1}
NODES = (1, 2, 4, 8, 12, 16)  # 16: 4096 CPUs, 512 VFs, 64 GPUs
ROUNDS = 5

SMALL_REQUEST = {CPU: 8, GPU: 2, VF: 2, MEMORY: 1}  # what the twin can do, too
TWIN_NODES = 1
MERGED_NODES = (1, 2, 3, 4, 5, 6)  # each further node makes the cross product of three providers 8 times as large

PRESET_MS, GROWN_MS = 10, 200
MANY_CPUS = 1024  # a preset with more is as large as the machines that grow, and has their limit
EXPONENT = 1.3


def on_presets() -> bool:
    """The median time of all requests, preset by preset."""
    results = []
    every: list[float] = []
    for name in preset_names():
        costs = machine_costs(preset(name))
        times = []
        for request in requests(costs):
            begun = time.thread_time()
            solve(costs, request)
            times.append(time.thread_time() - begun)
        what = f"{name}: median of {len(times)} requests (longest {max(times) * 1e3:.3g} ms)"
        limit = GROWN_MS if len(costs.instances[CPU]) > MANY_CPUS else PRESET_MS
        results.append(judge(what, statistics.median(times) * 1e3, limit, " ms"))
        every += times
    return all((*results, judge("median of all requests to presets", statistics.median(every) * 1e3, PRESET_MS, " ms")))


def instances_of(costs: Costs) -> int:
    """How many CPUs, memory nodes and devices there are."""
    return sum(map(len, costs.instances.values()))


def exponent(sizes: Sequence[int], times: Sequence[float]) -> float:
    """Of the power of the size that fits the times best: the slope of a line through the logarithms."""
    return statistics.linear_regression([*map(math.log, sizes)], [*map(math.log, times)]).slope


def on_grown() -> bool:
    """Machines of up to 4672 instances, and how the time grows with them."""
    machines = {nodes: machine_costs(grown(nodes)) for nodes in NODES}
    sizes = [instances_of(costs) for costs in machines.values()]
    times = least_times({nodes: partial(solve, costs, REQUEST) for nodes, costs in machines.items()}, ROUNDS)
    print(
        "growing: "
        + ", ".join(f"{size} instances {times[n] * 1e3:.1f} ms" for n, size in zip(NODES, sizes, strict=True))
    )
    largest = machines[NODES[-1]].instances
    what = f"{len(largest[CPU])} CPUs, {len(largest[VF])} VFs, {len(largest[GPU])} GPUs"
    return all(
        (
            judge(what, times[NODES[-1]] * 1e3, GROWN_MS, " ms"),
            judge("exponent of growth", exponent(sizes, list(times.values())), EXPONENT),
        )
    )


def beside_the_twin() -> bool:
    """The same solver with a vertex for every instance."""
    costs = machine_costs(grown(TWIN_NODES))
    times = least_times(
        {
            "compound": partial(solve, costs, SMALL_REQUEST),
            "plain": partial(solve, costs, SMALL_REQUEST, compound=False),
        },
        2,
    )
    what = f"no compound nodes / compound nodes, {instances_of(costs)} instances"
    return judge(what, times["plain"] / times["compound"], 10, at_least=True)


def beside_the_merge() -> bool:
    """The cross product of the hints of CPUs, GPUs and VFs, as the kubelet merges them, beside whole solutions.

    A merge names NUMA nodes only, a solution every CPU and device; our own merge takes no cross product.
    """
    ratios = []
    for nodes in MERGED_NODES:
        costs = machine_costs(grown(nodes))
        numa = NumaInfo(tuple(range(nodes)))
        hints = [TopologyHint(NodeMask(mask), mask.bit_count() == 1) for mask in range(1, 1 << nodes)]
        times = least_times(
            {
                "product": partial(naive_merge, [hints] * 3, numa),
                "merge": partial(merge, [hints] * 3, numa),
                "costs": partial(solve, costs, REQUEST),
            },
            2,
        )
        ratios.append(times["product"] / times["costs"])
        print(
            f"{nodes} nodes, {instances_of(costs)} instances: {len(hints) ** 3} combinations of hints "
            f"{times['product'] * 1e3:.1f} ms, our merge of them {times['merge'] * 1e3:.2f} ms, "
            f"costs {times['costs'] * 1e3:.1f} ms"
        )
    return judge(f"cross product / costs, {MERGED_NODES[-1]} nodes", ratios[-1], 1, at_least=True)


def beside_all_sets() -> bool:
    """What a plugin has to say: sets of GPUs, as the plural call of KEP pull request 1121 returns them, or costs."""
    machines: Mapping[str, Costs] = {
        **{name: machine_costs(preset(name)) for name in ("dgx1-v100", "dgx-h100", "dgx2")},
        "grown": machine_costs(grown(NODES[-1])),
    }
    ratio = 0.0
    for name, costs in machines.items():
        gpus = len(costs.instances[GPU])
        entries = sum(
            entry.resource == entry.to_resource == GPU for report in costs.reports for entry in report.entries
        )
        for wanted in (2, 4, 8):
            sets = math.comb(gpus, wanted)
            ratio = sets / entries
            print(f"{name}, {wanted} of {gpus} GPUs: {sets} sets, {entries} costs for any number of GPUs")
    return judge("sets / costs, 8 of 64 GPUs", ratio, 1000, at_least=True)


def main() -> int:
    """Print times and ratios; exit code 1 if one is missed."""
    results = [on_presets(), on_grown(), beside_the_twin(), beside_the_merge(), beside_all_sets()]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
