"""Directories of runs: locked while used, found when abandoned."""

import subprocess
import sys
from pathlib import Path

from harness.runtimes.places import remove_stale, run_directory


def test_a_directory_in_use_stays_and_goes_with_its_run() -> None:
    with run_directory("test") as place:
        (place / "file").write_text("x")
        assert place not in remove_stale()
        assert (place / "file").exists()
    assert not place.exists()


def test_a_directory_of_a_killed_run_is_removed() -> None:
    code = (
        "import sys\nfrom harness.runtimes.places import run_directory\n"
        "with run_directory('test') as place:\n    print(place, flush=True)\n    sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        place = Path(run.stdout.readline().strip())
        assert place not in remove_stale()
        run.kill()
    # Another test's sweep may have been quicker: what counts is that it is gone.
    remove_stale()
    assert not place.exists()
