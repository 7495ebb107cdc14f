"""Writes down what happens to an instance while it runs, so that all until then is kept when it breaks off."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import yaml

from numaproof.errors import UserError
from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.pods.quantity import parse_quantity
from numaproof.harness.scenario.record import DeviceRecord, HeldRecord, InstanceRecord, StepRecord

# Lines of a node's log that are kept: its start, and what it said last.
FIRST_LINES, LAST_LINES = 100, 300
_LONGEST_LINE = 2000  # characters


@dataclass(slots=True)
class Recording:
    """What is known of an instance so far."""

    configuration: Mapping[str, Any] = field(default_factory=dict)  # the node's
    steps: list[StepRecord] = field(default_factory=list)
    log: tuple[str, ...] = ()
    devices: tuple[DeviceRecord, ...] = ()  # before the first step

    def record(self) -> InstanceRecord:
        """All that happened until now."""
        config = self.configuration
        return InstanceRecord(
            tuple(self.steps),
            str(config.get("reservedSystemCPUs", "")),
            _reserved_memory(config),
            yaml.dump(dict(config), Dumper=_Dumper, sort_keys=False) if config else "",
            self.log,
            self.devices,
        )


# libyaml's is some ten times as fast; where PyYAML was built without it, its own writes the same.
_Dumper: Any = getattr(yaml, "CSafeDumper", None) or yaml.SafeDumper


def held_records(held: Mapping[str, Mapping[str, Assignment]]) -> tuple[HeldRecord, ...]:
    """What each pod holds, all its containers together."""
    return tuple(
        HeldRecord(
            pod,
            format_cpulist(sorted(frozenset().union(*(given.cpus for given in containers.values())))),
            _by_node(containers.values()),
            tuple(one.id for given in containers.values() for devices in given.devices.values() for one in devices),
        )
        for pod, containers in held.items()
    )


def _by_node(containers: Collection[Assignment]) -> dict[int, int]:
    """Bytes by NUMA node; of a group each node has its share."""
    found: dict[int, Fraction] = {}
    for given in containers:
        for block in given.memory:
            for node in block.nodes:
                found[node] = found.get(node, Fraction()) + Fraction(block.size, len(block.nodes))
    return {node: int(size) for node, size in sorted(found.items())}


def _reserved_memory(config: Mapping[str, Any]) -> dict[int, int]:
    """What a configuration reserves of plain memory; what makes no sense there, its node will tell."""
    found = {}
    for one in config.get("reservedMemory") or ():
        try:
            found[int(one["numaNode"])] = int(parse_quantity(str(one["limits"]["memory"])))
        except (KeyError, TypeError, ValueError, UserError):
            continue
    return found


def log_lines(printed: str) -> tuple[str, ...]:
    """What a node printed, line by line; of many lines the first and the last, and how many are left out."""
    lines = printed.splitlines()
    left_out = len(lines) - FIRST_LINES - LAST_LINES
    if left_out > 1:
        lines = [*lines[:FIRST_LINES], f"[{left_out} lines left out]", *lines[-LAST_LINES:]]
    return tuple(_clipped(lines))


def _clipped(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        yield line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} [...]"
