"""Amounts of resources in words: exact, so that what is wanted and what is left never look alike unless they are."""

from numaproof.harness.affinity.ledger import is_memory
from numaproof.harness.affinity.rules import cpu_text
from numaproof.harness.affinity.zones import CPU
from numaproof.harness.pods.quantity import bytes_text


def amount_text(name: str, amount: int) -> str:
    """An amount of a resource."""
    if name == CPU:
        return f"{cpu_text(amount)} CPUs"
    return f"{bytes_text(amount)} {name}" if is_memory(name) else f"{amount} {name}"


def of_text(name: str, left: int, whole: int) -> str:
    """What is left of a resource, of how much."""
    if not whole:
        return f"no {'CPUs' if name == CPU else name}"
    if name == CPU:
        return f"{cpu_text(left)} of {cpu_text(whole)} CPUs"
    if is_memory(name):
        return f"{bytes_text(left)} of {bytes_text(whole)} {name}"
    return f"{left} of {whole} {name}"
