"""The policy cost: of all that the managers could give, what is nearest to one another."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from numaproof.harness.cost.costs import UNLISTED, Costs, Entry, Unlisted
from numaproof.harness.cost.names import CPU, MEMORY, cpu_id, node_id, number_of
from numaproof.harness.cost.pairs import Chosen, cost_of
from numaproof.harness.cost.solution import Solution
from numaproof.harness.cost.solve import DEFAULT_SEED, solve
from numaproof.harness.cost.system import System
from numaproof.harness.decision.node_costs import NodeCosts
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.providers.cpu import CpuManager
from numaproof.harness.providers.cpu.sets import cpus_of
from numaproof.harness.providers.cpu.topology import Level
from numaproof.harness.providers.devices import DeviceManager
from numaproof.harness.providers.memory import MemoryManager
from numaproof.harness.topology.bitmask import EMPTY, NodeMask, ids_of, mask_of
from numaproof.harness.topology.policies import PolicyOptions
from numaproof.harness.topology.selection import Choice, Offer, Selection

_JOINED: Final = "+"  # between the NUMA nodes of a group: node0+node1

Ids = Mapping[str, frozenset[str]]  # by resource


@dataclass(frozen=True, slots=True)
class Account:
    """A question to the solver and its answer."""

    costs: Costs
    request: Mapping[str, int]
    available: Ids
    required: Ids
    solution: Solution
    maximum: Fraction | None  # None: any cost is accepted

    def unlisted_decided(self) -> bool:
        """Whether with the other rule for pairs that nobody lists another set would be cheaper than this one."""
        other = next(rule for rule in UNLISTED if rule != self.costs.unlisted)
        costs = replace(self.costs, unlisted=other)
        seed = self.solution.seed
        cheapest = solve(costs, self.request, available=self.available, required=self.required, seed=seed)
        return cheapest.cost < cost_of(costs, self.solution.chosen)


class CostSelector:
    """Chooses by costs among what the CPU, memory and device managers offer. It remembers nothing of pods."""

    def __init__(
        self,
        cpu: CpuManager,
        memory: MemoryManager,
        devices: DeviceManager,
        system: System | None,
        nodes: NodeMask,  # of the machine
        options: PolicyOptions,
        reported: Callable[[], Mapping[str, tuple[Entry, ...]]],  # by resource, of the plugins that tell costs
    ) -> None:
        self._cpu = cpu
        self._memory = memory
        self._devices = devices
        self._nodes = nodes
        self._maximum = options.cost_maximum
        self._seed = DEFAULT_SEED if options.cost_seed is None else options.cost_seed
        unlisted: Unlisted = next((rule for rule in UNLISTED if rule == options.cost_unlisted), "nothing")
        self._costs = NodeCosts(cpu.topology.node_of, system, unlisted)
        self._reported = reported

    def select(self, pod: Pod, container: Container | None, within: Choice | None) -> Selection:
        """The cheapest set that satisfies the request; nothing that is too scarce is in it: its manager refuses.

        A set within a pod's is never refused for its cost: the pod's was not.
        """
        offers = self._offers(pod, container, within)
        if not offers:
            return Selection()
        solution, account = self._solved(offers)
        choice = _choice(solution.chosen)
        admit = within is not None or self._maximum is None or solution.cost <= self._maximum
        return Selection(choice, admit, self._touched(choice), account)

    def _offers(self, pod: Pod, container: Container | None, within: Choice | None) -> dict[str, Offer[str]]:
        """What there is of each resource that is asked for, by the solver's names."""
        offers: dict[str, Offer[str]] = {}
        inside = within or Choice()
        cpus = self._cpu.offer(pod, container)
        if cpus is not None:
            offers[CPU] = Offer(cpus.wanted, *(frozenset(map(cpu_id, ids)) for ids in (cpus.available, cpus.first)))
            if inside.cpus is not None:
                offers[CPU] = _narrowed(offers[CPU], frozenset(map(cpu_id, inside.cpus)))
        groups = self._memory.groups(pod, container, inside.memory)
        if groups:
            offers[MEMORY] = Offer(1, frozenset(map(_group_id, groups)))
        for resource, offer in self._devices.offers(pod, container).items():
            narrower = inside.devices.get(resource)
            offers[resource] = offer if narrower is None else _narrowed(offer, narrower)
        return offers

    def _solved(self, offers: Mapping[str, Offer[str]]) -> tuple[Solution, Account]:
        listed = {resource: self._devices.masks(resource) for resource in self._devices.resources()}
        costs = self._costs.of(listed, self._reported())
        request = {resource: offer.wanted for resource, offer in offers.items()}
        # What the pod has already comes first; if that is more than enough, there is nothing else to choose from.
        enough = {resource: len(offer.first) >= offer.wanted for resource, offer in offers.items()}
        available = {name: offer.first if enough[name] else offer.available for name, offer in offers.items()}
        # Of the rest it counts what is free: among equal sets the solver takes the one that others miss the least.
        available = {**self._devices.free(), **available}
        required = {name: offer.first for name, offer in offers.items() if offer.first and not enough[name]}
        solution = solve(costs, request, available=available, required=required, seed=self._seed)
        if self._cpu.options.full_cores_only and CPU in request:
            cpus = self._in_whole_cores(solution.chosen[CPU], available[CPU], required.get(CPU, frozenset()))
            if cpus != frozenset(solution.chosen[CPU]):
                fixed = solve(costs, request, available={**available, CPU: cpus}, required=required, seed=self._seed)
                solution = replace(fixed, bound=solution.bound)
        return solution, Account(costs, request, available, required, solution, self._maximum)

    def _in_whole_cores(
        self, chosen: Collection[str], available: frozenset[str], required: frozenset[str]
    ) -> frozenset[str]:
        """As many CPUs, but whole cores: those of which most is chosen; unchanged where that does not come out."""
        cores = [frozenset(map(cpu_id, cpus_of(core))) for core in self._cpu.topology.groups[Level.CORE].values()]
        whole: frozenset[str] = frozenset()
        order = sorted(
            (core for core in cores if core <= available),
            key=lambda core: (-len(core & required), -len(core.intersection(chosen)), min(map(number_of, core))),
        )
        for core in order:
            if len(whole) + len(core) <= len(chosen):
                whole |= core
        return whole if len(whole) == len(chosen) else frozenset(chosen)

    def _touched(self, choice: Choice) -> NodeMask:
        """The NUMA nodes of a choice; a device of several nodes is where the rest is, if it can be."""
        touched = mask_of(self._cpu.topology.node_of[cpu] for cpu in choice.cpus or ()) | (choice.memory or EMPTY)
        masks = [
            self._devices.masks(resource).get(one, EMPTY) & self._nodes
            for resource, ids in choice.devices.items()
            for one in ids
        ]
        for mask in sorted(masks, key=lambda mask: (mask.bit_count(), mask)):
            if not mask & touched:
                touched |= mask
        return NodeMask(touched)


def _narrowed(offer: Offer[str], within: frozenset[str]) -> Offer[str]:
    """Only what is within a set; if that is too little, all of it and then others."""
    inside = offer.available & within
    if len(inside) >= offer.wanted:
        return Offer(offer.wanted, inside, offer.first & inside)
    return Offer(offer.wanted, offer.available, offer.first | inside)


def _choice(chosen: Chosen) -> Choice:
    return Choice(
        frozenset(map(number_of, chosen[CPU])) if CPU in chosen else None,
        _group_mask(chosen[MEMORY]) if MEMORY in chosen else None,
        {resource: frozenset(ids) for resource, ids in chosen.items() if resource not in (CPU, MEMORY)},
    )


def _group_id(mask: NodeMask) -> str:
    return _JOINED.join(map(node_id, ids_of(mask)))


def _group_mask(ids: Iterable[str]) -> NodeMask:
    return mask_of(number_of(one) for group in ids for one in group.split(_JOINED))
