"""Directories of runs: locked while used, found when abandoned."""

import os
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from numaproof.harness.runtimes.scratch import parents, remove_shared, remove_stale, run_directory, shared_directory


def test_a_directory_in_use_stays_and_goes_with_its_run() -> None:
    with run_directory("test") as place:
        (place / "file").write_text("x")
        assert place not in remove_stale()
        assert (place / "file").exists()
    assert not place.exists()


def test_a_directory_of_a_killed_run_is_removed() -> None:
    code = (
        "import sys\nfrom numaproof.harness.runtimes.scratch import run_directory\n"
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


def test_a_shared_directory_stays_as_long_as_one_of_its_users_lives() -> None:
    name = f"test-{uuid.uuid4().hex}"
    code = (
        "import sys\nfrom numaproof.harness.runtimes.scratch import shared_directory\n"
        f"with shared_directory('{name}') as place:\n"
        "    (place / 'file').touch()\n    print(place, flush=True)\n    sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        place = Path(other.stdout.readline().strip())
        assert place not in remove_stale()
        with shared_directory(name) as joined:
            assert joined == place
            other.kill()
            other.wait()
            assert place not in remove_stale()
            assert (place / "file").exists()
    # Another test's sweep may have been quicker: what counts is that it is gone.
    remove_stale()
    assert not place.exists()


def test_a_shared_directory_is_removed_by_name_whether_it_was_made_or_not() -> None:
    name = f"test-{uuid.uuid4().hex}"
    remove_shared(name)
    with shared_directory(name) as place:
        assert place.is_dir()
    remove_shared(name)
    assert not place.exists()


@pytest.mark.parametrize("inside", [(), (".lock-new",)])
def test_a_directory_whose_run_was_killed_before_it_was_locked_is_removed_later(inside: tuple[str, ...]) -> None:
    place = parents()[0] / f"numaproof-test-{uuid.uuid4().hex[:8]}"
    place.mkdir()
    for name in inside:
        (place / name).touch()
    try:
        assert place not in remove_stale()
        long_ago = time.time() - 3600
        os.utime(place, (long_ago, long_ago))
        remove_stale()
        assert not place.exists()
    finally:
        shutil.rmtree(place, ignore_errors=True)


def test_a_directory_of_somebody_else_stays_however_old() -> None:
    place = parents()[0] / f"numaproof-test-{uuid.uuid4().hex[:8]}"
    place.mkdir()
    try:
        (place / "README.md").touch()
        os.utime(place, (0, 0))
        remove_stale()
        assert place.exists()
    finally:
        shutil.rmtree(place, ignore_errors=True)
