"""Machines and pods for the CPU manager's tests."""

from fractions import Fraction

from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.providers.cpu import CpuTopology

# The same examples every time, however slow the machine is.


def machine(*, sockets: int = 2, nodes: int = 1, cores: int = 4, threads: int = 2, caches: int = 1) -> CpuTopology:
    """Sockets with so many NUMA nodes each, nodes with so many caches, caches with so many cores.

    CPUs are numbered as on most Intel machines: the first threads of all cores, then the second ones.
    """
    per_node = caches * cores
    total = sockets * nodes * per_node
    return CpuTopology.of(
        (core + thread * total, core, core // cores, core // per_node, core // per_node // nodes)
        for core in range(total)
        for thread in range(threads)
    )


def container(name: str, cpu: str | int, *, restartable: bool = False) -> Container:
    """A container whose limits equal its requests."""
    ask = {"cpu": Fraction(cpu), "memory": Fraction(1 << 20)}
    return Container(name=name, requests=ask, limits=ask, restartable=restartable)


def pod(uid: str, *containers: Container, init: tuple[Container, ...] = ()) -> Pod:
    """A pod with these containers: Guaranteed, as `container` makes them."""
    return Pod(name=uid, uid=uid, init_containers=init, containers=containers)
