"""`numaproof clean`: what a killed run left goes, what is in use stays, and what is not ours is not touched."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from numaproof.harness.cli import main
from numaproof.harness.runtimes.scratch import parents, run_directory
from tests.places import short_directory

OWNER = """
import sys
from numaproof.harness.runtimes.scratch import run_directory
with run_directory("test") as place:
    (place / "folder").mkdir()
    (place / "folder/file").write_text("x")
    print(place, flush=True)
    sys.stdin.read()
"""


@contextmanager
def owned_directory() -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process that owns a run's directory."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        yield owner, Path(owner.stdout.readline().strip())
        owner.kill()


@pytest.fixture(autouse=True)
def _no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Directories alone are looked at here: containers have their test beside the docker runtime."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")


def test_what_a_killed_run_left_is_removed(capsys: pytest.CaptureFixture[str]) -> None:
    with owned_directory() as (owner, place):
        assert main(["clean"]) == 0
        assert (place / "folder/file").exists()
        owner.kill()
        owner.wait()
        assert main(["clean"]) == 0
    # A sweep of another test may come first: then it is that one which tells.
    assert not place.exists()
    printed = capsys.readouterr().out.splitlines()
    assert all(line.startswith("removed ") or line == "nothing was left behind" for line in printed)


def test_what_is_not_ours_stays() -> None:
    # Named like ours, without the lock that ours have: a clone of the repository, say.
    place = parents()[0] / f"numaproof-not-ours-{os.getpid()}"
    place.mkdir()
    try:
        assert main(["clean"]) == 0
        assert place.exists()
    finally:
        place.rmdir()


def test_a_directory_goes_though_somebody_still_writes_there() -> None:
    """A process that is just being killed may write a little longer than its run lives."""
    writer = "import pathlib, sys, itertools\nprint(flush=True)\nfor i in range(3000):\n"
    writer += "    try: pathlib.Path(sys.argv[1], f'd{i}').mkdir()\n    except OSError: pass\n"
    with run_directory("test") as place:
        (place / "deep").mkdir()
        process = subprocess.Popen([sys.executable, "-c", writer, str(place / "deep")], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
    with process:
        process.wait()
    assert not place.exists()


def test_a_link_in_a_directory_is_not_followed() -> None:
    with short_directory() as outside:
        (outside / "kept").write_text("x")
        with run_directory("test") as place:
            (place / "link").symlink_to(outside)
            (place / "folder").mkdir()
            (place / "folder/link").symlink_to(outside)
        assert not place.exists()
        assert (outside / "kept").exists()
