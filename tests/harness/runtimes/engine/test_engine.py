"""An engine for one command: the private one, what it leaves (nothing), and what the command sees of it."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from numaproof.harness.runtimes.docker import engine_answers
from numaproof.harness.runtimes.engine.__main__ import main
from numaproof.harness.runtimes.engine.cgroups import remove_abandoned_cgroups
from numaproof.harness.runtimes.engine.contexts import engine_address
from numaproof.harness.runtimes.scratch import remove_stale
from tests.waiting import wait_until

NOWHERE = {"DOCKER_HOST": "unix:///nonexistent/docker.sock"}
# A program that takes longer to tidy up than a Ctrl-C usually leaves it.
TIDY = """
import os, signal, time
def tidy(*_):
    time.sleep(1)
    os.write(1, b"tidied\\n")
    os._exit(5)
signal.signal(signal.SIGINT, tidy)
os.write(1, os.environb[b"DOCKER_HOST"] + b"\\n")
while True:
    signal.pause()
"""
private = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("dockerd") is None, reason="a private engine needs root and docker.io"
)


def engine(*command: str) -> "subprocess.Popen[str]":
    """The program, where no other engine answers."""
    return subprocess.Popen(
        [sys.executable, "-m", "numaproof.harness.runtimes.engine", *command],
        env={**os.environ, **NOWHERE},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def groups(place: Path) -> list[Path]:
    """The control groups of an engine."""
    return [*Path("/sys/fs/cgroup").glob(place.name), *Path("/sys/fs/cgroup").glob(f"*/{place.name}")]


@private
def test_a_private_engine_answers_and_goes_with_its_command() -> None:
    with engine("sh", "-c", "echo $DOCKER_HOST; read word; exit 7") as run:
        assert run.stdout is not None
        address = run.stdout.readline().strip()
        place = Path(address.removeprefix("unix://")).parent
        assert engine_answers(address)
        assert (place / "pid").exists()
        run.communicate("go\n")
    assert run.returncode == 7
    assert not place.exists()
    assert not groups(place)


@private
def test_where_an_engine_writes_whatever_it_is_told_it_sees_its_own_places() -> None:
    with engine("sh", "-c", "echo $DOCKER_HOST; read word") as run:
        assert run.stdout is not None
        place = Path(run.stdout.readline().strip().removeprefix("unix://")).parent
        process = Path("/proc") / run_pid(place)
        # What is mounted (a directory of some file system), and where.
        mounts = [line.split()[3:5] for line in (process / "mountinfo").read_text().splitlines()]
        told = (process / "environ").read_bytes().split(b"\0")
        written = list((place / "-run-docker").iterdir())
        run.communicate("go\n")
    own = {target for source, target in mounts if f"/{place.name}/" in source}
    assert own >= {"/etc/docker", "/run/docker", "/run/containerd"}
    assert f"TMPDIR={place}".encode() in told
    assert written


@private
def test_a_ctrl_c_waits_for_the_command_and_ends_the_engine() -> None:
    with engine(sys.executable, "-c", TIDY) as run:
        assert run.stdout is not None
        place = Path(run.stdout.readline().strip().removeprefix("unix://")).parent
        os.killpg(run.pid, signal.SIGINT)
        told, _ = run.communicate()
    assert (told.strip(), run.returncode) == ("tidied", 5)
    assert not place.exists()


@private
def test_what_a_killed_engine_leaves_is_found() -> None:
    # The groups that a container would make are made here: an image for one would take minutes.
    with engine("sh", "-c", "echo $DOCKER_HOST; read word") as run:
        assert run.stdout is not None
        place = Path(run.stdout.readline().strip().removeprefix("unix://")).parent
        hierarchies = [Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup")]
        group = next(path for path in hierarchies if (path / "cgroup.procs").exists()) / place.name
        (group / "container").mkdir(parents=True)
        assert place.name not in remove_abandoned_cgroups()
        daemon = Path("/proc") / run_pid(place)
        run.kill()
    wait_until(lambda: not daemon.exists(), "the end of the engine")
    remove_stale()
    remove_abandoned_cgroups()
    assert not place.exists()
    assert not groups(place)


def run_pid(place: Path) -> str:
    """The process number of an engine, as the host sees it."""
    wanted = f"--data-root={place}/data".encode()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if wanted in words:
            return process.name
    raise AssertionError(f"no engine runs for {place}")


@pytest.mark.skipif(not engine_answers(), reason="no Docker engine answers, and none could be started")
def test_an_engine_that_answers_is_the_commands(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["sh", "-c", "echo $DOCKER_HOST; kill -9 $$"]) == 128 + signal.SIGKILL
    assert capfd.readouterr().out.strip() == engine_address(os.environ)


@pytest.mark.parametrize("arguments", [[], ["/no/such/command"]])
def test_a_command_that_cannot_be_run(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")  # no dockerd
    monkeypatch.setenv("DOCKER_HOST", NOWHERE["DOCKER_HOST"])
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert told.startswith("numaproof: ")
    assert told.count("\n") == 1
