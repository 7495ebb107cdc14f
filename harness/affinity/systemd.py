"""Where systemd keeps the host's processes: the setting CPUAffinity of its configuration (systemd-system.conf(5))."""

from collections.abc import Iterator

from numaproof.errors import UserError
from numaproof.fake_sysfs.lists import parse_cpulist


def host_cpus(text: str, where: str) -> frozenset[int] | None:
    """The CPUs of all `CPUAffinity=` lines of a file; an empty one takes back those before it. None: there are none."""
    found: frozenset[int] = frozenset()
    for number, line in _lines(text):
        key, equals, value = line.strip().partition("=")
        if not equals or key.strip() != "CPUAffinity":
            continue
        words = value.replace(",", " ").split()
        if not words:
            found = frozenset()
            continue
        try:
            found |= frozenset(parse_cpulist(",".join(words)))
        except ValueError as error:
            raise UserError(f"{where}:{number}: CPUAffinity: {error}") from None
    return found or None


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines by number but for comments; one that ends in a backslash goes on in the next."""
    begun, held = 0, ""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith(("#", ";")):
            continue
        begun = begun if held else number
        held += line
        if not held.endswith("\\"):
            yield begun, held
            held = ""
        else:
            held = held[:-1] + " "
    if held:
        yield begun, held
