"""Commands that a signal ends: what they started is gone, a line says so, and so does the exit code."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from numaproof.harness.cli import main
from numaproof.harness.ending import ended_by_signals, held_back
from tests.places import short_directory
from tests.waiting import wait_until

NUMAPROOF = (sys.executable, "-m", "numaproof")
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
    command = f"trap '' HUP; exec {' '.join(NUMAPROOF)} explain - --machine laptop"
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
