"""Placing 10,000 pods on 1,000 nodes of all presets, both ways, and how the time grows with pods and with nodes:
pods of five shapes, and pods that are all unlike.
"""

import gc
import math
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
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
# Of pods that are all unlike: what the next one asks for says nothing of the one before.
SEED = 1
CPUS = (1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 24, 32)
TOLERATIONS = "tolerations: [{key: CPUAffinity, value: dedicated}, {key: NUMACPUAffinity, value: strict}], "
PRESETS = [name for name in preset_names() if name != "power9-ac922"]  # whose NUMA nodes fit into no mask

NODES, PODS = 1000, 10_000
SECONDS = 30
SIZES = (125, 250, 500, 1000)  # nodes, and tenths of pods; what does not grow is a quarter of the most
EXPONENT = 1.2
ROUNDS = 2


def alike(count: int, place: Path) -> str:
    """So many pods, of the five shapes in equal parts."""
    file = place / "alike.yaml"
    file.write_text(SHAPES)
    return f"{count // KINDS}*{file}"


def unlike(count: int, place: Path) -> str:
    """So many pods, each by figures of its own: of one to three containers, a sixth of these with GPUs, a fifth of
    the pods with CPUs of their own.
    """
    chance = random.Random(SEED)
    file = place / f"unlike-{count}.yaml"
    with file.open("w") as out:
        for number in range(count):
            containers = ", ".join(
                f"{{name: c{index}, resources: {{{_asked(chance)}}}}}"
                for index in range(chance.choice((1, 1, 1, 2, 3)))
            )
            tolerations = TOLERATIONS if chance.random() < 0.2 else ""
            out.write(f"---\nkind: Pod\nmetadata: {{name: p{number}}}\n")
            out.write(f"spec: {{{tolerations}containers: [{containers}]}}\n")
    return str(file)


def _asked(chance: random.Random) -> str:
    memory = f"memory: {chance.randint(100, 20_000)}Mi"
    if chance.random() < 0.2:
        return f"requests: {{cpu: {chance.randint(100, 8000)}m, {memory}}}"
    gpus = f", nvidia.com/gpu: {chance.choice((1, 2, 4, 8))}" if chance.random() < 1 / 6 else ""
    return f"limits: {{cpu: {chance.choice(CPUS)}, {memory}{gpus}}}"


Pods = Callable[[int, Path], str]


def arguments(pods: str, nodes: int) -> list[str]:
    """Pods, and nodes of all presets in equal parts."""
    share, more = divmod(nodes, len(PRESETS))
    counts = [share + (number < more) for number in range(len(PRESETS))]
    given = [f"{count}*{name}" for count, name in zip(counts, PRESETS, strict=True) if count]
    return ["schedule", pods, "--nodes", *given]


def measured(pods: str, nodes: int) -> tuple[float, float, str]:
    """The wall time and the processor's time of one run, and the last lines of what it prints."""
    gc.collect()
    printed = StringIO()
    wall, busy = time.perf_counter(), time.thread_time()
    with redirect_stdout(printed):
        numaproof(arguments(pods, nodes))
    took = time.perf_counter() - wall, time.thread_time() - busy
    return *took, "\n".join(printed.getvalue().splitlines()[-6:])


def exponent(times: Mapping[int, float]) -> float:
    """Of the power of the size that fits the times best: the slope of a line through the logarithms."""
    sizes: Sequence[float] = [*map(math.log, times)]
    return statistics.linear_regression(sizes, [*map(math.log, times.values())]).slope


def least(pods: str, nodes: int) -> float:
    """The processor's time at its fastest."""
    return min(measured(pods, nodes)[1] for _ in range(ROUNDS))


def judged(kind: str, pods: Pods, place: Path) -> bool:
    """Print the figures of pods of one kind, and say whether they keep the limits."""
    wall, busy, tail = measured(pods(PODS, place), NODES)
    print(tail)
    # One process, one thread: on a machine that does nothing else, the two are the same.
    what = f"{PODS} {kind} pods on {NODES} nodes of {len(PRESETS)} presets, both ways ({wall:.1f} s by the clock)"
    good = judge(f"{what}: processor time", busy, SECONDS, " s")
    by_pods = {10 * size: least(pods(10 * size, place), NODES // 4) for size in SIZES}
    by_nodes = {size: least(pods(PODS // 4, place), size) for size in SIZES}
    by_both = {size: least(pods(10 * size, place), size) for size in SIZES}
    for what, times in (("pods", by_pods), ("nodes", by_nodes), ("nodes with 10 pods each", by_both)):
        print(", ".join(f"{size} {what} {seconds:.2f} s" for size, seconds in times.items()))
        good &= judge(f"{kind} pods: exponent of growth in {what}", exponent(times), EXPONENT)
    return good


def main() -> int:
    """Print the figures; exit code 1 if a limit is missed."""
    with TemporaryDirectory() as place:
        good = [judged(kind, pods, Path(place)) for kind, pods in (("alike", alike), ("unlike", unlike))]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
