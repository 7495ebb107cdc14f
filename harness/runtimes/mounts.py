"""How a machine's tree becomes the machine of whoever sees it."""

from pathlib import Path

from numaproof.harness.runtimes.program import Bind

# What of a tree replaces the host's; all of /sys would hide the cgroups.
_SYSFS_PARTS = ("devices", "bus", "class", "dev", "kernel/mm/hugepages")
_PROC_PARTS = ("cpuinfo", "meminfo", "cmdline")
# runc lets a container cover a few files of /proc, and refuses to start one that covers any other.
_NOT_IN_CONTAINERS = ("/proc/cmdline",)


def machine_binds(tree: Path | None) -> tuple[Bind, ...]:
    """The binds that show a tree at /sys and /proc; none for None, the host's own machine."""
    if tree is None:
        return ()
    parts = [(tree / "sys" / part, f"/sys/{part}") for part in _SYSFS_PARTS]
    parts += [(tree / "proc" / part, f"/proc/{part}") for part in _PROC_PARTS]
    return tuple(Bind(source, target, read_only=True) for source, target in parts if source.exists())


def container_binds(tree: Path | None) -> tuple[Bind, ...]:
    """Those of the binds that every engine makes for a container."""
    return tuple(bind for bind in machine_binds(tree) if bind.target not in _NOT_IN_CONTAINERS)
