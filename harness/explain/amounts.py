"""Amounts of resources in words: CPUs and devices in pieces, memory in bytes."""

from numaproof.harness.explain.stock import CPU
from numaproof.harness.pods.quantity import bytes_text
from numaproof.harness.providers.memory.state import MEMORY

_GB, _MIB, _GIB = 10**9, 1 << 20, 1 << 30


def is_memory(resource: str) -> bool:
    """Whether a resource is memory of some kind, which is counted in bytes."""
    return resource == MEMORY or resource.startswith("hugepages-")


def amount_text(resource: str, amount: int) -> str:
    """So much of a resource."""
    if resource == CPU:
        return f"{amount} CPU{'' if amount == 1 else 's'}"
    return f"{_memory_text(amount)} of {resource}" if is_memory(resource) else f"{amount} {resource}"


def short_amount(resource: str, amount: int) -> str:
    """So much, where it is clear of what."""
    return _memory_text(amount) if is_memory(resource) else str(amount)


def short_amounts(resource: str, *amounts: int) -> tuple[str, ...]:
    """Amounts that are compared with one another, so that memory is in one unit: 126 GiB and 126876 MiB look alike."""
    texts = tuple(short_amount(resource, one) for one in amounts)
    if not {"MiB", "GiB"} <= {text.rpartition(" ")[2] for text in texts}:
        return texts
    if any(one % _MIB for one in amounts):
        return tuple(f"{one / _GIB:.3f} GiB" for one in amounts)
    return tuple(f"{one // _MIB} MiB" for one in amounts)


def quantity(amount: int) -> str:
    """Bytes as a manifest has them."""
    return str(amount) if amount % _MIB else f"{amount // _MIB}Mi"


def _memory_text(amount: int) -> str:
    """Bytes as they can be read: what a machine has in all is no round number, and nobody compares its KiB."""
    exact = bytes_text(amount)
    if amount < _GIB or exact.endswith(("MiB", "GiB")):
        return exact
    return f"{amount / _GB:g} GB" if amount % (_GB // 10) == 0 else f"{amount / _GIB:.3f} GiB"
