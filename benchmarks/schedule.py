"""Placing 10,000 pods on 1,000 nodes of all presets, both ways, and how the time grows with pods and with nodes."""

import gc
import math
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.timing import judge
from numaproof.fake_sysfs import preset_names
from numaproof.harness.cli import main as numaproof

# Shapes of pods: small and large, of several containers, with devices, in the shared pool, with CPUs of their own.
SHAPES = """
kind: Pod
metadata: {name: small}
spec: {containers: [{name: c, resources: {limits: {cpu: 2, memory: 1Gi}}}]}
---
kind: Pod
metadata: {name: large}
spec: {containers: [{name: c, resources: {limits: {cpu: 14, memory: 8Gi}}}]}
---
kind: Pod
metadata: {name: pair}
spec:
  containers:
  - {name: a, resources: {limits: {cpu: 6, memory: 2Gi}}}
  - {name: b, resources: {limits: {cpu: 6, memory: 2Gi}}}
---
kind: Pod
metadata: {name: shared}
spec: {containers: [{name: c, resources: {requests: {cpu: 1500m, memory: 1Gi}}}]}
---
kind: Pod
metadata: {name: dedicated}
spec:
  tolerations:
  - {key: CPUAffinity, value: dedicated, effect: NoScheduleNoAdmitNoExecute}
  - {key: NUMACPUAffinity, value: strict, effect: NoScheduleNoAdmitNoExecute}
  containers: [{name: c, resources: {limits: {cpu: 4, memory: 1Gi}}}]
"""
KINDS = 5
PRESETS = [name for name in preset_names() if name != "power9-ac922"]  # whose NUMA nodes fit into no mask

NODES, PODS = 1000, 10_000
SECONDS = 30
SIZES = (125, 250, 500, 1000)  # nodes, and tenths of pods; what does not grow is a quarter of the most
EXPONENT = 1.2
ROUNDS = 2


def arguments(pods: int, nodes: int, file: Path) -> list[str]:
    """So many pods of all shapes, and nodes of all presets in equal parts."""
    share, more = divmod(nodes, len(PRESETS))
    counts = [share + (number < more) for number in range(len(PRESETS))]
    given = [f"{count}*{name}" for count, name in zip(counts, PRESETS, strict=True) if count]
    return ["schedule", f"{pods // KINDS}*{file}", "--nodes", *given]


def measured(pods: int, nodes: int, file: Path) -> tuple[float, float, str]:
    """The wall time and the processor's time of one run, and the last lines of what it prints."""
    gc.collect()
    printed = StringIO()
    wall, busy = time.perf_counter(), time.thread_time()
    with redirect_stdout(printed):
        numaproof(arguments(pods, nodes, file))
    took = time.perf_counter() - wall, time.thread_time() - busy
    return *took, "\n".join(printed.getvalue().splitlines()[-6:])


def exponent(times: Mapping[int, float]) -> float:
    """Of the power of the size that fits the times best: the slope of a line through the logarithms."""
    sizes: Sequence[float] = [*map(math.log, times)]
    return statistics.linear_regression(sizes, [*map(math.log, times.values())]).slope


def least(pods: int, nodes: int, file: Path) -> float:
    """The processor's time at its fastest."""
    return min(measured(pods, nodes, file)[1] for _ in range(ROUNDS))


def main() -> int:
    """Print the figures; exit code 1 if a limit is missed."""
    with TemporaryDirectory() as place:
        file = Path(place) / "pods.yaml"
        file.write_text(SHAPES)
        wall, busy, tail = measured(PODS, NODES, file)
        print(tail)
        # One process, one thread: on a machine that does nothing else, the two are the same.
        what = f"{PODS} pods on {NODES} nodes of {len(PRESETS)} presets, both ways ({wall:.1f} s by the clock)"
        good = [judge(f"{what}: processor time", busy, SECONDS, " s")]
        by_pods = {10 * size: least(10 * size, NODES // 4, file) for size in SIZES}
        by_nodes = {size: least(PODS // 4, size, file) for size in SIZES}
        by_both = {size: least(10 * size, size, file) for size in SIZES}
    for what, times in (("pods", by_pods), ("nodes", by_nodes), ("nodes with 10 pods each", by_both)):
        print(", ".join(f"{size} {what} {seconds:.2f} s" for size, seconds in times.items()))
        good.append(judge(f"exponent of growth in {what}", exponent(times), EXPONENT))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
