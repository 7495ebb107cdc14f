"""Sizes relative to a machine: `numa.cpus + 1`, `half numa.memory`; so one scenario runs on any machine."""

import re
from dataclasses import dataclass
from fractions import Fraction

from numaproof.fake_sysfs import Machine
from numaproof.harness.errors import UserError

_PART = {"half": Fraction(1, 2), "third": Fraction(1, 3), "quarter": Fraction(1, 4), "twice": Fraction(2)}
_EXPRESSION = re.compile(
    r"(?:(?P<part>half|third|quarter|twice|\d+)\s+)?(?P<name>[a-z]+\.[A-Za-z0-9-]+)(?:\s*(?P<sign>[+-])\s*(?P<more>\d+))?"
)
RESERVED_MEMORY = 100 << 20  # of every NUMA node, where the memory manager is static


@dataclass(frozen=True, slots=True)
class Sizes:
    """What of a machine is free for pods; per NUMA node the least of those that have CPUs."""

    names: dict[str, int]
    reserved_cpus: tuple[int, ...]
    cpu_nodes: tuple[int, ...]

    def resolve(self, text: str, place: str) -> str:
        """A Kubernetes quantity: a relative size worked out, anything else as it is."""
        if "." not in text or not re.search(r"[a-z]\.[a-z]", text):
            return text
        found = _EXPRESSION.fullmatch(text.strip())
        if found is None or found["name"] not in self.names:
            known = ", ".join(sorted(self.names))
            raise UserError(
                f"{place}: {text!r} is no size: write [half|twice|N] NAME [+|- N], with NAME one of {known}"
            )
        part = found["part"] or "1"
        size = int(self.names[found["name"]] * (_PART[part] if part in _PART else int(part)))
        more = int(found["more"] or 0)
        return str(size - more if found["sign"] == "-" else size + more)

    def count(self, text: str, place: str) -> int:
        """A whole number: a relative size worked out, or the number itself."""
        number = self.number(text, place)
        if not number.is_integer():
            raise UserError(f"{place}: {text!r} is no count: write a whole number")
        return int(number)

    def number(self, text: str, place: str) -> float:
        """A number: a relative size worked out, or the number itself."""
        try:
            return float(self.resolve(text, place))
        except ValueError as error:
            raise UserError(f"{place}: {text!r} is no number: write one, or a size such as numa.cpus") from error


def sizes_of(machine: Machine, memory_static: bool) -> Sizes:
    """What a node on this machine has to give when one core of every NUMA node is reserved.

    A core of every node, so that the nodes of a symmetric machine stay alike: `numa.cpus` then fits each of them.
    """
    online = [cpu for cpu in machine.cpus if cpu.online]
    cpu_nodes = tuple(sorted({cpu.node for cpu in online}))
    reserved: list[int] = []
    threads = []
    free_by_node = {}
    for node in cpu_nodes:
        here = [cpu for cpu in online if cpu.node == node]
        cores: dict[tuple[int, int], list[int]] = {}
        for cpu in here:
            cores.setdefault((cpu.package, cpu.core), []).append(cpu.id)
        first = min(cores.values())
        reserved += first
        threads += [len(core) for core in cores.values()]
        free_by_node[node] = len(here) - len(first)
    of_nodes = [node for node in machine.nodes if node.id in cpu_nodes]
    kept = RESERVED_MEMORY if memory_static else 0
    huge = {
        node.id: {page.size_kb: page.pages * page.size_kb * 1024 for page in node.hugepages} for node in machine.nodes
    }
    memory = {node.id: node.memory - sum(huge[node.id].values()) - kept for node in machine.nodes}
    names = {
        "numa.cpus": min(free_by_node.values()),
        "numa.count": len(cpu_nodes),
        "core.cpus": min(threads),
        "machine.cpus": sum(free_by_node.values()),
        "numa.memory": min(memory[node.id] for node in of_nodes),
        "machine.memory": sum(memory.values()),
        "numa.hugepages-2Mi": min(huge[node.id].get(2048, 0) for node in of_nodes),
        "numa.hugepages-1Gi": min(huge[node.id].get(1048576, 0) for node in of_nodes),
    }
    return Sizes(names, tuple(sorted(reserved)), cpu_nodes)
