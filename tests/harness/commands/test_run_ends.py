"""`numaproof run` that is interrupted or killed: nothing stays."""

import errno
import os
import signal
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.harness.commands.stories import GPU, NUMAPROOF, story
from tests.places import short_directory
from tests.waiting import wait_until


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as place:
        yield place


@dataclass(frozen=True, slots=True)
class Started:
    """A run that is in the middle of an admission."""

    process: subprocess.Popen[str]
    mark: str  # in the environment of every process of the run
    directory: Path


def processes_of(mark: str) -> list[int]:
    """The processes that have a mark in their environment; a zombie has none."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def directories_of(mark: str) -> list[Path]:
    """The directory of a run: its warm processes were told a socket there."""
    found = []
    for pid in processes_of(mark):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        except OSError:
            continue
        if "numaproof.harness.warm_commands" in words:
            found.append(Path(words[words.index("numaproof.harness.warm_commands") + 1]).parents[1])
    return found


@contextmanager
def hanging_run(place: Path, workers: int) -> Iterator[Started]:
    """A run in namespaces whose plugin hangs while it allocates."""
    plugin = {"resource": GPU, "per_numa": 1, "faults": ["Allocate=hang"]}
    matrix = {"machine": ["laptop", "xeon-2s"][:workers]}
    # The node gives up a pod after half a minute: with so many of them the run stays in the middle long enough for us.
    pods = [{"name": f"p{i}", "containers": [{"name": "c", "requests": {"cpu": 1, GPU: 1}}]} for i in range(20)]
    steps = [{"admit": pod, "expect": {"admitted": False}} for pod in pods]
    file = story(place, plugins=[plugin], matrix=matrix, steps=steps)
    mark = f"NUMAPROOF_TEST_MARK={uuid.uuid4().hex}"
    name, _, value = mark.partition("=")
    # Whoever started the tests may have had a signal ignored (`nohup`, a job in the background), and so its children.
    command = ["env", "--default-signal=HUP,INT", *NUMAPROOF]
    command += ["run", str(file), "--runtime", "namespace", "--out", str(place / "out"), "-n", str(workers)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, name: value},
        start_new_session=True,  # a process group of its own, as a shell's job has
    )

    def allocating(directory: Path) -> int:
        return sum('"Allocate"' in record.read_text() for record in directory.glob("*/r*/*.record"))

    def warm_in() -> list[Path]:
        assert process.poll() is None, process.communicate()[0]  # it has ended too early, and said why
        return directories_of(mark)

    with process:
        try:
            directory = wait_until(warm_in, "the run's warm process", timeout=300)[0]
            wait_until(lambda: allocating(directory) == workers, "the plugins' calls", timeout=300)
            yield Started(process, mark, directory)
        finally:
            process.kill()


def mounted(directory: Path) -> bool:
    return str(directory) in Path("/proc/self/mountinfo").read_text()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("number", "send", "told"),
    [
        (signal.SIGINT, os.killpg, "Ctrl-C"),  # as a terminal does: to all of the group
        (signal.SIGTERM, os.killpg, "SIGTERM"),  # as `timeout` does
        (signal.SIGTERM, os.kill, "SIGTERM"),  # as a CI system does: to the one process that it knows
        (signal.SIGHUP, os.killpg, "SIGHUP"),  # as a terminal does that is closed
    ],
    ids=["Ctrl-C", "timeout", "kill", "hangup"],
)
def test_a_run_that_is_ended_leaves_nothing(
    place: Path, workers: int, number: signal.Signals, send: Callable[[int, int], None], told: str
) -> None:
    with hanging_run(place, workers) as run:
        send(run.process.pid, number)
        printed, _ = run.process.communicate(timeout=300)
        assert run.process.returncode == 128 + number, printed
        assert printed.splitlines()[-1] == f"numaproof: ended by {told}; nothing is left behind"
        assert not run.directory.exists()
        wait_until(lambda: not processes_of(run.mark), "the end of all processes", timeout=300)
        assert not mounted(run.directory)


# A worker that is being started: it says so, and goes on when the pipe is closed.
SLOW_TO_START = """
import os, sys
if "stdin.readline" in " ".join(sys.orig_argv):  # as execnet starts one
    with open(os.environ["NUMAPROOF_TEST_GATE"]) as gate:
        gate.read()
"""


@contextmanager
def opened_for_its_reader(pipe: Path, process: subprocess.Popen[str]) -> Iterator[None]:
    """A pipe that has a reader, who waits until this ends."""
    opened: list[int] = []

    def has_reader() -> bool:
        assert process.poll() is None
        try:
            opened.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        except OSError as error:
            if error.errno != errno.ENXIO:  # nobody reads yet
                raise
        return bool(opened)

    wait_until(has_reader, "a worker that starts", timeout=300)
    try:
        yield
    finally:
        os.close(opened[0])


def test_a_run_that_is_ended_while_its_workers_start_says_so_and_no_more(place: Path) -> None:
    (place / "sitecustomize.py").write_text(SLOW_TO_START)
    gate = place / "gate"
    os.mkfifo(gate)
    two = story(place, matrix={"machine": ["laptop", "xeon-2s"]})
    command = ["env", "--default-signal=INT", *NUMAPROOF]
    command += ["run", str(two), "--runtime", "process", "--out", str(place / "out"), "-n", "2"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(place), "NUMAPROOF_TEST_GATE": str(gate)},
        start_new_session=True,
    )
    with process:
        try:
            with opened_for_its_reader(gate, process):
                os.killpg(process.pid, signal.SIGINT)
                no_gate = place / "none"
                no_gate.touch()
                no_gate.replace(gate)  # the other worker need not wait
            told = process.communicate(timeout=300)[1]
        finally:
            process.kill()
    assert told == "numaproof: ended by Ctrl-C; nothing is left behind\n"
    assert process.returncode == 128 + signal.SIGINT


def test_a_killed_run_leaves_nothing_after_clean(place: Path) -> None:
    with hanging_run(place, 2) as run:
        run.process.kill()
        run.process.wait()
        wait_until(lambda: not processes_of(run.mark), "the end of all processes", timeout=300)
        assert not mounted(run.directory)
        # Another test's sweep may have been quicker: what counts is that it is gone.
        subprocess.run([*NUMAPROOF, "clean"], check=True, capture_output=True)
        assert not run.directory.exists()
