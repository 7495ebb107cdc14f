"""What lies on the disk, and disks on which nothing more fits."""

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent.parent


def contents(root: Path) -> dict[str, bytes | str | None]:
    """Everything below a folder: a file's bytes, a link's text (marked with ->), None for a directory."""
    found: dict[str, bytes | str | None] = {}
    for directory, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = Path(directory, name)
            place = str(path.relative_to(root))
            if path.is_symlink():
                found[place] = f"-> {path.readlink()}"
            else:
                found[place] = None if path.is_dir() else path.read_bytes()
    return found


def on_a_small_disk(script: str, disk: Path, options: str) -> str:
    """Run a Python script with a tmpfs of its own, mounted on `disk` with these options; what it printed."""
    outer = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    mount = 'mount -t tmpfs -o "$2" tmpfs "$1" && exec "$3" -c "$4" "$1"'
    command = [*outer, "sh", "-c", mount, "sh", str(disk), options, sys.executable, script]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
