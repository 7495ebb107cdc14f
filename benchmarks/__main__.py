"""Runs every benchmark, each in a process of its own, and fails when one of them misses a limit."""

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """The number of benchmarks that missed a limit."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    missed = 0
    for name in names:
        print(f"== {name}", flush=True)
        missed += subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode != 0
    return missed


if __name__ == "__main__":
    sys.exit(main())
