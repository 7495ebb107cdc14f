"""The machines of a run as trees on disk: written once, shared by all scenarios and by the workers of a run."""

import fcntl
import hashlib
from functools import cache
from pathlib import Path

from numaproof import fake_sysfs
from numaproof.fake_sysfs import Machine


@cache
def machine_of(argument: str) -> Machine:
    """The machine that a name, a file, a string or a tree stands for; worked out once."""
    return fake_sysfs.parse_machine(argument)


HOST = Path("/")  # the tree of this host's own machine


class Trees:
    """Trees below one directory, by machine argument."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def of(self, machine: str) -> Path:
        """The tree of a machine; the first who asks writes it, others wait for it. The host's own is there already."""
        if machine == "host":
            return HOST
        tree = self._directory / hashlib.sha256(machine.encode()).hexdigest()[:12]
        if not tree.exists():
            with (self._directory / f"{tree.name}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not tree.exists():
                    fake_sysfs.write(fake_sysfs.files(machine_of(machine)), tree)
        return tree


def tree_to_mount(tree: Path) -> Path | None:
    """What a runtime mounts of a tree; None: nothing, as the host's own machine is there already."""
    return None if tree == HOST else tree
