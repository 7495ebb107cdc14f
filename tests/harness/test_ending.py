"""Commands that a signal ends: what they started is gone, a line says so, and so does the exit code."""

import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from numaproof.harness.cli import main
from numaproof.harness.commands.catalogue import COMMANDS
from numaproof.harness.ending import ended_by_signals, held_back
from tests.places import short_directory
from tests.waiting import wait_until

# Whoever started the tests may have had a signal ignored (`nohup`, a job in the background), and so its children.
NUMAPROOF = ("env", "--default-signal=HUP,INT", sys.executable, "-m", "numaproof")
SIGNALS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "SIGHUP"}


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as place:
        yield place


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler of its own for a signal."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    mask = next(line.split()[1] for line in lines if line.startswith("SigCgt:"))
    return bool(int(mask, 16) >> (number - 1) & 1)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_command_that_waits_is_ended(number: signal.Signals, place: Path) -> None:
    command = [*NUMAPROOF, "explain", "-", "--machine", "laptop"]  # waits for a pod
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=place
    ) as process:
        # Python itself catches SIGINT from its start: what counts is whether we do.
        wait_until(lambda: catches(process.pid, signal.SIGTERM), "the handlers")
        process.send_signal(number)
        out, err = process.communicate()
    assert (process.returncode, out) == (128 + number, "")
    assert err == f"numaproof: ended by {SIGNALS[number]}; nothing is left behind\n"


# What each command does when the signal comes: it prints for a reader that reads nothing, waits for input that never
# comes, or for a server that does not answer. A check and a run have tests of their own, in the middle of their work.
WAITING = {
    "machine list": "output",
    "machine show silent.yaml": "input",
    "cost graph --machine laptop": "output",
    "cost solve silent.yaml --request cpu=1": "input",
    "explain - --machine laptop": "input",
    "explain silent.yaml --machine laptop --log silent.yaml": "input",
    "schedule - --nodes laptop": "input",
    "policies": "output",
    "vectors silent.jsonl --kind merge": "input",
    "node --root . status": "server",
    "node --root . status --json": "server",
    "node --root . admit pod.yaml": "server",
    "node --root node --config silent.yaml": "input",
    "node --root node --machine silent.yaml": "input",
    "plugin gpu --list-faults": "output",
    "plugin generic --devices silent.yaml": "input",
    "run --list": "output",
    "run views --list --machine silent.yaml": "input",
    "check --dry-run": "output",
    "check --config silent.yaml -- x": "input",
    "init scenario -": "output",
    "init machine - --from silent.yaml": "input",
    "schema scenario": "output",
    "completion bash": "output",
    "image": "server",
    "clean": "output",
    "serve silent.yaml": "input",
}


@contextmanager
def full_pipe() -> Iterator[int]:
    """An output that takes nothing."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    for size in (1 << 16, 1):
        with suppress(BlockingIOError):
            while True:
                os.write(writer, b" " * size)
    os.set_blocking(writer, True)
    try:
        yield writer
    finally:
        os.close(reader)
        os.close(writer)


@contextmanager
def silent_sockets(place: Path, *names: str) -> Iterator[None]:
    """Servers that take connections, and say nothing."""
    with ExitStack() as stack:
        for name in names:
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(str(place / name))
            listener.listen()
        yield


def is_quiet(pid: int) -> bool:
    """Whether a process that takes signals sleeps, now: it does what it does for ever, or is on the way there."""
    return catches(pid, signal.SIGTERM) and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("line", WAITING)
def test_every_command_is_ended_cleanly_and_says_so(line: str, number: signal.Signals, place: Path) -> None:
    for name in ("silent.yaml", "silent.jsonl"):
        os.mkfifo(place / name)
    (place / "pod.yaml").write_text("metadata: {name: p}\nspec: {containers: [{name: c}]}\n")
    before = sorted(path.name for path in place.iterdir())
    environment = {**os.environ, "DOCKER_HOST": f"unix://{place}/docker.sock"}
    environment.pop("PYTHONUNBUFFERED", None)  # what is printed may wait in the process, too
    with (
        full_pipe() as output,
        silent_sockets(place, "control.sock", "http.sock", "docker.sock"),
        (place / "told").open("w") as told,
        subprocess.Popen(
            [*NUMAPROOF, *shlex.split(line)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=told,
            cwd=place,
            env=environment,
        ) as process,
    ):
        try:
            wait_until(lambda: process.poll() is not None or is_quiet(process.pid), "a command that waits")
            assert process.poll() is None, (place / "told").read_text()
            process.send_signal(number)
            assert process.wait(120) == 128 + number
        finally:
            process.kill()
    assert (place / "told").read_text() == f"numaproof: ended by {SIGNALS[number]}; nothing is left behind\n"
    made = {"told", "control.sock", "http.sock", "docker.sock"}
    assert sorted({path.name for path in place.iterdir()} - made) == before


def test_every_command_is_among_them() -> None:
    assert {line.split()[0] for line in WAITING} == set(COMMANDS)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("line", "ready"),
    [
        ("node --root node --machine laptop", "ready: "),
        ("plugin generic --dir plugins", "serving "),
    ],
)
def test_what_serves_ends_well_and_says_by_what(line: str, ready: str, number: signal.Signals, place: Path) -> None:
    (place / "plugins").mkdir()
    with (
        (place / "told").open("w") as told,
        subprocess.Popen([*NUMAPROOF, *line.split()], stdout=told, stderr=told, cwd=place) as process,
    ):
        try:
            wait_until(lambda: process.poll() is not None or ready in (place / "told").read_text(), ready)
            process.send_signal(number)
            assert process.wait(120) == 0
        finally:
            process.kill()
    last = (place / "told").read_text().splitlines()[-1]
    assert last.endswith(f"ended by {SIGNALS[number]}")
    assert list((place / "plugins").iterdir()) == []  # no socket either


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_check_ends_its_plugin_and_removes_its_directories(number: signal.Signals, place: Path) -> None:
    # A plugin that never registers, and tells us who and where it is.
    plugin = place / "plugin"
    told = place / "told"
    plugin.write_text(f"#!/bin/sh\ntrap '' TERM INT\necho $$ $1 > {told}.new\nmv {told}.new {told}\nsleep 1000\n")
    plugin.chmod(0o755)
    check = ["check", "--runtime", "process", "--start-timeout", "1000", "--only", "dp/allocate/1"]
    with subprocess.Popen(
        [*NUMAPROOF, *check, "--", str(plugin), "{dir}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=place,
    ) as process:
        wait_until(lambda: told.exists() or process.poll() is not None, "the plugin's start", timeout=300)
        assert process.poll() is None, process.communicate()
        pid, directory = told.read_text().split()
        assert Path(directory).is_dir()
        process.send_signal(number)
        _, err = process.communicate()
    assert process.returncode == 128 + number, err
    assert err.splitlines()[-1] == f"numaproof: ended by {SIGNALS[number]}; nothing is left behind"
    assert "Traceback" not in err
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), "the plugin's end")
    [ours] = [one for one in Path(directory).parents if one.name.startswith("numaproof-")]
    assert not ours.exists()


def test_who_had_a_signal_ignored_is_not_ended_by_it(place: Path) -> None:
    """As `nohup numaproof run &`."""
    command = f"trap '' HUP; exec {sys.executable} -m numaproof explain - --machine laptop"
    pod = "metadata: {name: p}\nspec: {containers: [{name: c}]}\n"
    with subprocess.Popen(
        ["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=place
    ) as process:
        wait_until(lambda: catches(process.pid, signal.SIGTERM), "the handlers")
        process.send_signal(signal.SIGHUP)
        out, _ = process.communicate(pod)
    assert process.returncode == 0
    assert "default/p" in out


def test_one_more_signal_does_not_disturb_the_cleaning_but_a_third_does() -> None:
    with ended_by_signals() as ending:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        assert str(ending) == "SIGTERM; nothing is left behind"
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert str(ending) == "SIGTERM, and again while it cleaned; numaproof clean removes what is left"
        assert ending.code == 143


def test_a_signal_that_is_held_back_takes_effect_at_the_end() -> None:
    seen: list[int] = []

    def signalled() -> None:
        with held_back() as noted:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)
            seen.extend(noted)

    with ended_by_signals() as ending:
        with pytest.raises(KeyboardInterrupt):
            signalled()
        assert seen == [signal.SIGTERM, signal.SIGINT]
        assert str(ending) == "SIGTERM; nothing is left behind"


def test_what_was_there_before_is_there_again() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    assert main(["policies", "--nodes", "0"]) == 2
    assert [signal.getsignal(number) for number in SIGNALS] == before
