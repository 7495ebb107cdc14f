"""Control groups of private engines: empty directories of the kernel's, which outlive an engine that is killed."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from numaproof.harness.runtimes.scratch import parents

_CGROUPS = Path("/sys/fs/cgroup")
_ENGINES = "numaproof-engine-*"


def remove_abandoned_cgroups() -> list[str]:
    """Remove the control groups whose engine's directory is gone; the answer is their names."""
    gone = [group for group in _groups() if not any((parent / group.name).exists() for parent in parents())]
    for group in gone:
        for below in sorted(group.rglob("*/"), reverse=True):
            _remove(below)
        _remove(group)
    return sorted({group.name for group in gone if not group.exists()})


def _groups() -> Iterator[Path]:
    """The groups that bear an engine's name: of the one hierarchy, or of each controller's."""
    yield from _CGROUPS.glob(_ENGINES)
    yield from _CGROUPS.glob(f"*/{_ENGINES}")


def _remove(group: Path) -> None:
    """Remove a group, unless something still runs in it; its files are the kernel's and go with it."""
    with contextlib.suppress(OSError):
        group.rmdir()
