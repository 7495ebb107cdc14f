"""Sizes and NUMA nodes relative to a machine: `numa.cpus + 1`, `core3`, the second node; so one scenario fits any.

A NUMA node is named by its position: 0 is the first that has CPUs, -1 the last; those without CPUs come after them.
Where ids have no gaps and nodes without CPUs are the last ones, as on most machines, a position is an id.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from numaproof.errors import UserError
from numaproof.fake_sysfs import Machine
from numaproof.fake_sysfs.lists import parse_cpulist

_PART = {"half": Fraction(1, 2), "third": Fraction(1, 3), "quarter": Fraction(1, 4), "twice": Fraction(2)}
_NAME = r"(?:numa|machine)\.(?:cpus|memory|hugepages-2Mi|hugepages-1Gi)|numa\.(?:all_cpus|count)|core\.cpus"
_TERM = re.compile(rf"(?:(?P<part>{'|'.join(_PART)}|\d+)\s+)?(?P<name>{_NAME})")
_ANY_TERM = rf"(?:(?:(?:{'|'.join(_PART)}|\d+)\s+)?(?:{_NAME})|\d+)"
# A size that is relative to a machine: terms, one of which has a name at least.
RELATIVE = re.compile(rf"(?=.*[a-z]\.[a-z])\s*{_ANY_TERM}(?:(?:\s*\+|\s+-)\s*{_ANY_TERM})*\s*")
_CORE = re.compile(r"core(?P<first>\d+)(?:-(?P<last>\d+)|\.(?P<thread>\d+))?")
RESERVED_MEMORY = 100 << 20  # of every NUMA node, where the memory manager is static


@dataclass(frozen=True, slots=True)
class Sizes:
    """What of a machine is free for pods; per NUMA node the least of those that have CPUs."""

    names: Mapping[str, int]
    reserved_cpus: tuple[int, ...]
    reserved_memory: Mapping[int, int]  # NUMA node -> bytes; of nodes that have memory
    cpu_nodes: tuple[int, ...]  # those that are used: see `sizes_of`
    nodes: tuple[int, ...]  # by position: `cpu_nodes`, then all others
    cores: tuple[tuple[int, ...], ...]  # the CPUs of each core of the first NUMA node, by the lowest CPU
    free_cpus: Mapping[int, tuple[int, ...]]  # NUMA node with CPUs -> those that are not reserved

    def resolve(self, text: str, where: str) -> str:
        """A Kubernetes quantity: a relative size worked out, anything else as it is."""
        if "." not in text or not re.search(r"[a-z]\.[a-z]", text):
            return text
        first, *others = re.split(r"\s*(\+|(?<=\s)-)\s*", text.strip())
        size = self._term(first, text, where)
        for sign, term in zip(others[::2], others[1::2], strict=True):
            size += self._term(term, text, where) * (-1 if sign == "-" else 1)
        return str(size)

    def _term(self, term: str, text: str, where: str) -> int:
        if term.isdecimal():
            return int(term)
        found = _TERM.fullmatch(term)
        if found is None:
            known = ", ".join(sorted(self.names))
            raise UserError(
                f"{where}: {text!r} is not a size: write [half|twice|N] NAME, with NAME one of {known}; "
                f"more of them and numbers may follow after + or -"
            )
        part = found["part"] or "1"
        return int(self.names[found["name"]] * (_PART[part] if part in _PART else int(part)))

    def count(self, text: str, where: str) -> int:
        """A whole number: a relative size worked out, or the number itself."""
        number = self.number(text, where)
        if not number.is_integer():
            raise UserError(f"{where}: {text!r} is not a count: write a whole number")
        return int(number)

    def number(self, text: str, where: str) -> float:
        """A number: a relative size worked out, or the number itself."""
        try:
            return float(self.resolve(text, where))
        except ValueError as error:
            raise UserError(f"{where}: {text!r} is not a number: write one, or a size such as numa.cpus") from error

    def filled(self, text: str, where: str) -> str:
        """A text in which every `${size}` is worked out."""
        return re.sub(r"\$\{([^{}]*)\}", lambda found: self.resolve(found[1], where), text)

    def node(self, position: int) -> int:
        """The id of a NUMA node by its position; one that the machine does not have is taken for an id."""
        nodes = self.cpu_nodes if position < 0 else self.nodes
        return nodes[position] if -len(nodes) <= position < len(nodes) else position

    def node_ids(self, positions: Iterable[int]) -> tuple[int, ...]:
        """The ids of NUMA nodes by their positions."""
        return tuple(self.node(position) for position in positions)

    def cpus(self, text: str, where: str) -> frozenset[int]:
        """CPUs by numbers (`1-3,8`) or by the first NUMA node's cores: `core2`, `core1-3`, of `core4.0` one thread."""
        if "core" not in text:
            return frozenset(parse_cpulist(text))
        return frozenset(cpu for item in text.split(",") for cpu in self._of_core(item.strip(), text, where))

    def _of_core(self, item: str, text: str, where: str) -> tuple[int, ...]:
        found = _CORE.fullmatch(item)
        if found is None:
            raise UserError(f"{where}: {text!r} is not a list of cores: write core2, core1-3 or core4.0, with commas")
        first, last = int(found["first"]), int(found["last"] or found["first"])
        cores = self.cores[first : last + 1]
        if len(cores) != last - first + 1 or (found["thread"] and int(found["thread"]) >= len(cores[0])):
            raise UserError(f"{where}: {item}: the first NUMA node has {len(self.cores)} cores; say so in `needs`")
        return (cores[0][int(found["thread"])],) if found["thread"] else tuple(cpu for core in cores for cpu in core)


def sizes_of(machine: Machine, memory_static: bool, use_numa: int | None = None) -> Sizes:
    """What a node on this machine has to give; `use_numa`: only so many NUMA nodes with CPUs are used, None: all.

    One core of every NUMA node is reserved for the system, and of larger nodes as much more that all have as many free
    CPUs: `numa.cpus` then fits each of them, and `numa.cpus + 1` none. Likewise memory, where its manager is static.
    Of nodes that are not used everything is reserved, of those without CPUs too: to pods the machine has no such nodes.
    """
    cores = _cores(machine)
    cpu_nodes = tuple(sorted(cores))[:use_numa]
    in_use = [cores[node] for node in cpu_nodes]
    free = min(sum(map(len, here)) - len(here[0]) for here in in_use)
    reserved = [cpu for node, here in cores.items() if node not in cpu_nodes for core in here for cpu in core]
    for here in in_use:
        reserved += [*here[0], *_last_cpus(here[1:], sum(map(len, here)) - len(here[0]) - free)]
    huge = {
        node.id: {page.size_kb: page.pages * page.size_kb * 1024 for page in node.hugepages} for node in machine.nodes
    }
    plain = {node.id: node.memory - sum(huge[node.id].values()) for node in machine.nodes}
    least = min(plain[node] for node in cpu_nodes)
    kept = {}
    for node in machine.nodes:
        if node.id in cpu_nodes:
            kept[node.id] = plain[node.id] - least + RESERVED_MEMORY
        else:
            kept[node.id] = RESERVED_MEMORY if use_numa is None else plain[node.id]
    memory = {node: size - kept[node] for node, size in plain.items()} if memory_static else plain
    names = {
        "numa.cpus": free,
        "numa.all_cpus": max(sum(map(len, here)) for here in in_use),
        "numa.count": len(cpu_nodes),
        "core.cpus": min(len(core) for here in in_use for core in here),
        "machine.cpus": free * len(cpu_nodes),
        "numa.memory": least - RESERVED_MEMORY if memory_static else least,
        "machine.memory": sum(memory.values()),
        "numa.hugepages-2Mi": min(huge[node].get(2048, 0) for node in cpu_nodes),
        "numa.hugepages-1Gi": min(huge[node].get(1048576, 0) for node in cpu_nodes),
        "machine.hugepages-2Mi": sum(pages.get(2048, 0) for pages in huge.values()),
        "machine.hugepages-1Gi": sum(pages.get(1048576, 0) for pages in huge.values()),
    }
    others = tuple(node for node in machine.node_ids if node not in cpu_nodes)
    reserved_memory = {node.id: kept[node.id] for node in machine.nodes if node.memory and kept[node.id]}
    return Sizes(
        names=names,
        reserved_cpus=tuple(sorted(reserved)),
        reserved_memory=reserved_memory,
        cpu_nodes=cpu_nodes,
        nodes=cpu_nodes + others,
        cores=tuple(in_use[0]),
        free_cpus={
            node: tuple(sorted({cpu for core in here for cpu in core} - set(reserved))) for node, here in cores.items()
        },
    )


def _cores(machine: Machine) -> dict[int, list[tuple[int, ...]]]:
    """The online CPUs of every core, by NUMA node; the cores of a node by their lowest CPU, as the kubelet has them."""
    found: dict[int, dict[tuple[int, int], list[int]]] = {}
    for cpu in machine.cpus:
        if cpu.online:
            found.setdefault(cpu.node, {}).setdefault((cpu.package, cpu.core), []).append(cpu.id)
    return {node: sorted(tuple(sorted(core)) for core in cores.values()) for node, cores in found.items()}


def _last_cpus(cores: list[tuple[int, ...]], count: int) -> Iterator[int]:
    """So many CPUs, of the last cores first, but of the very last one at the end: a scenario may take that offline."""
    for core in [*reversed(cores[:-1]), *cores[-1:]]:
        yield from core[: min(count, len(core))]
        count -= min(count, len(core))
