"""`isolcpus=`: which CPUs the kernel's command line keeps out of its scheduler's domains."""

from collections.abc import Iterable
from itertools import takewhile

from numaproof.fake_sysfs.lists import parse_cpulist

_FLAGS = {"nohz", "domain", "managed_irq"}


def isolcpus_words(command_line: str) -> list[str]:
    """The words of a command line that are about isolated CPUs."""
    return [word for word in command_line.split() if word.startswith("isolcpus=")]


def parse_isolcpus(command_line: str) -> tuple[int, ...]:
    """The CPUs that a command line isolates, ascending, by the last of several such words; ValueError on no list.

    Flags may stand before the list (`isolcpus=nohz,domain,2-7`): the kernel passes over those that it does not know,
    and where it knows one, CPUs leave the scheduler's domains only if `domain` is among them.
    """
    words = isolcpus_words(command_line)
    if not words:
        return ()
    parts = words[-1].removeprefix("isolcpus=").split(",")
    flags = list(takewhile(lambda part: part[:1].isalpha(), parts))
    strange = [flag for flag in flags if not flag.replace("_", "").isalpha()]
    if strange:
        raise ValueError(f"{words[-1]!r}: {strange[0]!r} is no flag; write isolcpus=domain,2-7")
    cpus = parse_cpulist(",".join(parts[len(flags) :]))
    known = _FLAGS.intersection(flags)
    return cpus if not known or "domain" in known else ()


def isolated_among(listed: Iterable[int], cpus: Iterable[int]) -> tuple[int, ...]:
    """Those of a machine's CPUs that are listed, but never all: the lowest stays, as the kernel keeps its boot CPU."""
    there = set(cpus)
    found = sorted(there.intersection(listed))
    return tuple(found if len(found) < len(there) else found[1:])
