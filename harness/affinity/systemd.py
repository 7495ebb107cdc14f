"""Where systemd keeps the host's processes: the setting CPUAffinity of its configuration (systemd-system.conf(5))."""

from numaproof.errors import UserError
from numaproof.fake_sysfs.lists import parse_cpulist


def host_cpus(text: str, where: str) -> frozenset[int] | None:
    """The CPUs of all `CPUAffinity=` lines of a file; an empty one takes back those before it. None: there are none."""
    found: frozenset[int] = frozenset()
    for number, line in enumerate(text.splitlines(), start=1):
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
