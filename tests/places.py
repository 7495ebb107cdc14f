"""Directories for tests: short, because a unix socket's path holds 107 bytes."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def short_directory() -> Iterator[Path]:
    """A new private directory with a short path, gone afterwards whatever lies in it."""
    parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp"
    place = Path(tempfile.mkdtemp(prefix="np", dir=parent))
    try:
        yield place
    finally:
        # A process that is being ended may still write here: what comes and goes meanwhile is not a failure.
        shutil.rmtree(place, ignore_errors=True)
