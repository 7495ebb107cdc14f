"""Unix sockets as files of a directory, among others that come and go."""

import contextlib
import os
import stat
from pathlib import Path


def sockets_in(directory: Path) -> dict[str, tuple[int, int]]:
    """The sockets of a directory, each with what tells it from its successor of the same name."""
    found = {}
    with contextlib.suppress(FileNotFoundError), os.scandir(directory) as entries:
        for entry in entries:
            # One that vanishes meanwhile is one that is not there.
            with contextlib.suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISSOCK(status.st_mode):
                    found[entry.name] = (status.st_ino, status.st_mtime_ns)
    return found


def wipe_sockets(directory: Path) -> None:
    """Remove the sockets that lie directly in a directory, as a kubelet does when it starts."""
    for name in sockets_in(directory):
        # Its owner, or another that starts, may be quicker than we are.
        (directory / name).unlink(missing_ok=True)
