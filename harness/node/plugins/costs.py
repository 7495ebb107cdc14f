"""The costs that a plugin tells, made entries of; what is wrong with them is dropped, and said."""

import re
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction

from numaproof.fake_sysfs.overlaps import repeated_pair
from numaproof.harness.api import preferredallocations_draft_pb2 as draft
from numaproof.harness.cost.costs import Entry
from numaproof.harness.cost.names import CPU, MEMORY
from numaproof.harness.resource_names import resource_name_problem

_SYSTEM_IDS = {CPU: re.compile(r"cpu(0|[1-9][0-9]{0,8})"), MEMORY: re.compile(r"node(0|[1-9][0-9]{0,8})")}


def entries_from(
    resource: str,
    ids: Collection[str],  # of the plugin's devices
    told: Iterable[draft.PreferredAllocationsForDomain],
) -> tuple[tuple[Entry, ...], tuple[str, ...]]:
    """The entries of an answer that can be used, and what is wrong with the others.

    There are none where a pair is told twice: nobody knows which cost counts.
    """
    entries: list[Entry] = []
    problems = []
    for number, message in enumerate(told):
        try:
            entries.append(_entry(resource, ids, message))
        except ValueError as error:
            problems.append(f"entry {number}: {error}")
    repetition = _repetition(entries)
    if repetition:
        return (), (*problems, repetition)
    return tuple(entries), tuple(problems)


def _repetition(entries: Sequence[Entry]) -> str:
    """Where a pair is told twice, in words; empty: nowhere."""
    try:
        pair = repeated_pair(entries)
    except ValueError as error:
        return str(error)
    if pair is None:
        return ""
    first, second = (entries[index] for index in pair)
    return f"a pair with {first.to_resource} is told twice, with the costs {first.cost} and {second.cost}"


def _entry(resource: str, ids: Collection[str], message: draft.PreferredAllocationsForDomain) -> Entry:
    domain = message.resource_domain or resource
    if message.cost < 0:
        raise ValueError(f"the cost {message.cost} is negative")
    targets = tuple(dict.fromkeys(message.preferred_allocations.devices_ids))
    starting = tuple(dict.fromkeys(message.from_deviceIDs))
    # In the own domain an entry that does not say where it starts is about every pair of what it names.
    sources = starting or (targets if domain == resource else tuple(ids))
    stray = next((one for one in sources if one not in ids), None)
    if stray is not None:
        raise ValueError(f"the plugin lists no device {stray!r}")
    if not targets or not sources:
        raise ValueError("it names no pair")
    _check_targets(domain, targets, ids if domain == resource else None)
    return Entry(resource, sources, domain, targets, Fraction(message.cost))


def _check_targets(domain: str, targets: Collection[str], own: Collection[str] | None) -> None:
    """ValueError unless a domain can have such instances; `own`: those of the plugin, if it is its own domain."""
    if own is not None:
        stray = next((one for one in targets if one not in own), None)
        if stray is not None:
            raise ValueError(f"the plugin lists no device {stray!r}")
    elif domain in _SYSTEM_IDS:
        stray = next((one for one in targets if not _SYSTEM_IDS[domain].fullmatch(one)), None)
        if stray is not None:
            raise ValueError(f"{stray!r} is no instance of {domain}, as {'cpu7' if domain == CPU else 'node1'} is")
    elif wrong := resource_name_problem(domain):
        raise ValueError(f"the domain {domain!r}: {wrong}")
