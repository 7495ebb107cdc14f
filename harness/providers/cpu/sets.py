"""Sets of CPUs as ints: bit c stands for CPU c, so that union, difference and size are single operations."""

from collections.abc import Iterable, Iterator

CpuSet = int


def set_of(cpus: Iterable[int]) -> CpuSet:
    """The set that holds exactly these CPUs."""
    result = 0
    for cpu in cpus:
        result |= 1 << cpu
    return result


def cpus_of(cpus: CpuSet) -> Iterator[int]:
    """The CPUs of a set, lowest first."""
    while cpus:
        lowest = cpus & -cpus
        yield lowest.bit_length() - 1
        cpus ^= lowest


def ids_of(cpus: CpuSet) -> frozenset[int]:
    """The CPUs of a set as the rest of the program knows them."""
    return frozenset(cpus_of(cpus))


def cpu_list(cpus: CpuSet) -> str:
    """A set as Linux and the kubelet write it: `0-3,8`."""
    ranges: list[list[int]] = []
    for cpu in cpus_of(cpus):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
