"""How good cost-based selection is: optimal, as OR-Tools CP-SAT, exhaustive search and its own proof judge it."""

import math
import random
import sys
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from benchmarks.cost_machines import five_gpus_one_link
from benchmarks.cost_requests import GPU, requests
from benchmarks.cp_sat import Verdict, cp_sat
from benchmarks.random_costs import random_problem
from benchmarks.timing import judge
from numaproof.fake_sysfs import preset, preset_names
from numaproof.fake_sysfs.link_costs import Counts, link_counts
from numaproof.harness.cost.machine_costs import machine_costs
from numaproof.harness.cost.names import CPU
from numaproof.harness.cost.solution import Solution
from numaproof.harness.cost.solve import solve

PROBLEMS = 500
KNOWN = 400  # CP-SAT has to know the optimum of so many
SOON, LATE = 3.0, 20.0  # seconds for CP-SAT at first, and where its bound is too low, or it knows too few
GAP = Fraction(1, 100)  # above the best bound, where nobody knows the optimum

SAMPLES = 2  # requests to each preset that CP-SAT judges, too
FREE_CPUS = 24  # as many as it can do
SAMPLE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer of ours, and what CP-SAT says to the same problem."""

    what: str
    ours: Solution
    theirs: Verdict

    @property
    def fault(self) -> str | None:
        """What is wrong with our answer; None: nothing."""
        ours, theirs = self.ours, self.theirs
        if ours.cost > ours.greedy:
            return f"costs {float(ours.cost):.6g}, the greedy walk {float(ours.greedy):.6g}"
        if ours.cost > theirs.cost or (ours.optimal and theirs.bound > ours.cost):
            return f"costs {float(ours.cost):.6g}, CP-SAT has {float(theirs.cost):.6g}"
        bound = max(ours.bound, theirs.bound)
        if ours.cost > bound * (1 + GAP):
            return f"costs {float(ours.cost):.6g}, the best bound is {float(bound):.6g}"
        return None


def judged(seed: int, seconds: float) -> Judged:
    """A random problem, solved by both."""
    costs, request = random_problem(seed)
    ours = solve(costs, request)
    return Judged(f"seed {seed}", ours, cp_sat(costs, request, costs.instances, seconds, ours.chosen))


def random_problems() -> bool:
    """Solve them all; CP-SAT gets more time where the bounds are too low to judge, or if it knows too few optima."""
    found = {seed: judged(seed, SOON) for seed in range(PROBLEMS)}
    for seed, one in found.items():
        too_few = sum(each.theirs.proven for each in found.values()) < KNOWN
        if one.fault or (too_few and not one.theirs.proven):
            found[seed] = judged(seed, LATE)
    searched = sorted(one.ours.searched for one in found.values())
    print(f"{PROBLEMS} random problems: {sum(one.ours.optimal for one in found.values())} are proven by our own solver")
    print(f"regions it looks into: median {searched[len(searched) // 2]}, at most {searched[-1]}")
    print(f"better than the greedy walk: {sum(one.ours.cost < one.ours.greedy for one in found.values())}")
    known = sum(one.theirs.proven for one in found.values())
    return all(
        (
            judge("optima that CP-SAT knows", known, KNOWN, at_least=True),
            judge("answers at fault", faults(found.values()), 0),
        )
    )


def faults(answers: Collection[Judged]) -> int:
    """Print and count what is wrong."""
    wrong = [(one.what, one.fault) for one in answers if one.fault]
    for what, fault in wrong:
        print(f"{what}: {fault}")
    return len(wrong)


def presets() -> bool:
    """Every request to every preset has a proof; of some CP-SAT has one, too, with a part of the CPUs free."""
    unproven, asked = 0, 0
    samples = []
    for name in preset_names():
        costs = machine_costs(preset(name))
        everything = list(requests(costs))
        for request in everything:
            solution = solve(costs, request)
            asked += 1
            if not solution.optimal or solution.cost > solution.greedy:
                unproven += 1
                print(f"{name}: {request}: gap {float(solution.gap):.3g}, cost {float(solution.cost):.6g}")
        chance = random.Random(name)
        small = [request for request in everything if request[CPU] <= FREE_CPUS // 2]
        for request in chance.sample(small, min(SAMPLES, len(small))):
            free = {
                **costs.instances,
                CPU: chance.sample(costs.instances[CPU], min(FREE_CPUS, len(costs.instances[CPU]))),
            }
            ours = solve(costs, request, available=free)
            theirs = cp_sat(costs, request, free, SAMPLE_SECONDS, ours.chosen)
            samples.append(Judged(f"{name}: {request}, free CPUs {free[CPU]}", ours, theirs))
    known = sum(one.theirs.proven for one in samples)
    print(f"{asked} requests to presets; CP-SAT knows the optimum of {known} of {len(samples)} samples")
    return all(
        (
            judge("requests to presets without a proof", unproven, 0),
            judge("samples at fault", faults(samples), 0),
        )
    )


def links_within(gpus: Collection[str], counts: Counts) -> int:
    """How many direct links there are among some GPUs."""
    return sum(counts.get(one, {}).get(other, 0) for one, other in combinations(gpus, 2))


def linked_sets() -> bool:
    """GPUs alone, as many as the machine has at most: none of all sets has more links than the one chosen."""
    worse, looked = 0, 0
    for name in preset_names():
        machine = preset(name)
        costs, counts = machine_costs(machine), link_counts(machine)
        gpus = costs.instances.get(GPU, ()) if counts else ()
        for wanted in range(1, len(gpus) + 1):
            looked += math.comb(len(gpus), wanted)
            most = max(links_within(some, counts) for some in combinations(gpus, wanted))
            ours = links_within(solve(costs, {GPU: wanted}).chosen[GPU], counts)
            if ours != most:
                worse += 1
                print(f"{name}: {wanted} GPUs: {ours} links, {most} are possible")
    print(f"{looked} sets of GPUs looked at")
    return judge("sizes of sets with fewer links than possible", worse, 0)


def five_gpus() -> bool:
    """The case of NVIDIA/go-gpuallocator pull request 80: it found no set at all."""
    machine = five_gpus_one_link()
    pair = {machine.links[0].a, machine.links[0].b}
    chosen = solve(machine_costs(machine), {GPU: 3}).chosen[GPU]
    return judge(
        "five GPUs, three wanted: of the linked pair are among the three", len(pair & set(chosen)), 2, at_least=True
    )


def main() -> int:
    """Print what was found; exit code 1 if a limit is missed."""
    results = [five_gpus(), linked_sets(), presets(), random_problems()]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
