"""The merge of hints: its time grows with the providers, not with the product of their hints."""

import random
import sys
from functools import partial

from benchmarks.timing import judge, least_times
from numaproof.harness.topology.bitmask import NodeMask
from numaproof.harness.topology.hints import TopologyHint
from numaproof.harness.topology.merge import merge
from numaproof.harness.topology.numa import NumaInfo
from tests.harness.topology.twin import naive_merge

NODES = 8
NOISE = 1.1


def all_hints(seed: int, *, preferred: bool) -> list[TopologyHint]:
    """All 255 masks; without preferred ones among them the merge has to look at every AND."""
    chance = random.Random(seed)
    hints = [TopologyHint(NodeMask(mask), preferred and mask.bit_count() == 2) for mask in range(1, 1 << NODES)]
    chance.shuffle(hints)
    return hints


def measure(kind: str, *, preferred: bool) -> bool:
    """Print the ratios of one kind of hints, and say whether they keep their limits."""
    numa = NumaInfo(tuple(range(NODES)))
    resources = [all_hints(seed, preferred=preferred) for seed in range(4)]
    times = least_times({count: partial(merge, resources[:count], numa) for count in (2, 3, 4)}, 100)
    naive = least_times({"naive": partial(naive_merge, resources[:2], numa)}, 3)["naive"]
    print(f"{kind}: " + ", ".join(f"{count} providers {seconds * 1e3:.2f} ms" for count, seconds in times.items()))
    return all(
        (
            judge(f"{kind}: 4 providers / 3", times[4] / times[3], 4 / 3 * NOISE),
            judge(f"{kind}: naive twin / merge, 2 providers", naive / times[2], 50, at_least=True),
        )
    )


def main() -> int:
    """Print the ratios; exit code 1 if one is missed."""
    print(f"{NODES} nodes, all {(1 << NODES) - 1} hints each")
    results = [measure("none preferred", preferred=False), measure("some preferred", preferred=True)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
