"""How the workers of a run share its instances: those of one machine stay together.

With docker a machine's warm process is then started once; elsewhere one is turned to another machine less often.
"""

import math
from collections import defaultdict
from collections.abc import Sequence

from numaproof.harness.scenario.instances import Instance

_SHARES = 4  # of each worker, about: the last ones to end then wait for each other a quarter of the time at most


def share_out(listed: Sequence[Instance], workers: int) -> dict[str, str]:
    """Instance id -> the share that it belongs to: a machine's instances, in even parts where they are many."""
    usual = math.ceil(len(listed) / (_SHARES * workers))
    by_machine: defaultdict[str, list[str]] = defaultdict(list)
    for instance in listed:
        by_machine[instance.machine].append(instance.id)
    found = {}
    for machine, ids in by_machine.items():
        # A part a bit larger than usual costs less than the process that another worker would start for the rest.
        size = math.ceil(len(ids) / max(1, round(len(ids) / usual)))
        found.update({one: f"{machine} {number // size}" for number, one in enumerate(ids)})
    return found
