"""The warm process: programs that it forks live as long as their connection, and not longer."""

import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from numaproof.harness.runtimes import Bind, CannotStartError, Program
from numaproof.harness.runtimes.local import ProcessRuntime
from numaproof.harness.runtimes.warm.process import WarmProcess
from tests.places import short_directory
from tests.waiting import wait_until

REPOSITORY = str(Path(__file__).parents[4])
# A warm process whose programs run their first argument as Python: what a program is, is not its business.
EVALUATING = """
import sys
from numaproof.harness.runtimes.warm.server import serve
serve(sys.argv[1], lambda arguments: exec(arguments[0]) or 0, ["no_such_module", "json"])
"""


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with short_directory() as place:
        yield place


def started(path: Path, *arguments: str) -> WarmProcess:
    program = Program((sys.executable, *arguments, str(path)), environment={"PYTHONPATH": REPOSITORY})
    return WarmProcess(ProcessRuntime(), program, path, Path("/"), "/")


@pytest.fixture(scope="module")
def warm(place: Path) -> Iterator[WarmProcess]:
    process = started(place / "h", "-m", "numaproof.harness.warm_commands")
    yield process
    process.close()


@pytest.fixture(scope="module")
def evaluating(place: Path) -> Iterator[WarmProcess]:
    process = started(place / "e", "-c", EVALUATING)
    yield process
    process.close()


def test_a_program_prints_and_ends(warm: WarmProcess) -> None:
    with warm.start(["numaproof", "plugin", "generic", "--count", "2", "--dry-run"]) as program:
        assert program.wait(60) == 0
        assert program.output().split() == ["0", "1"]
    assert program.output().split() == ["0", "1"]  # afterwards too


def test_a_program_is_killed_with_its_connection(warm: WarmProcess, place: Path) -> None:
    plugins = place / "plugins"
    plugins.mkdir()
    with warm.start(["numaproof", "plugin", "generic", "--count", "1", "--dir", str(plugins)]) as program:
        wait_until(lambda: "serving 1 devices" in program.output(), "the plugin")
        assert program.poll() is None
    assert program.poll() == 128 + 9
    # Killed, not asked: its socket is still there, and a second one may take its name.
    assert list(plugins.glob("*.sock"))
    with warm.start(["numaproof", "plugin", "generic", "--count", "3", "--dir", str(plugins)]) as second:
        wait_until(lambda: "serving 3 devices" in second.output(), "the second plugin")
    assert sorted(path.name for path in place.glob("h*")) == ["h"]  # what they printed is gone with them


def test_a_program_is_asked_to_end(warm: WarmProcess, place: Path) -> None:
    plugins = place / "asked"
    plugins.mkdir()
    with warm.start(["numaproof", "plugin", "generic", "--count", "1", "--dir", str(plugins)]) as program:
        wait_until(lambda: "serving 1 devices" in program.output(), "the plugin")
        program.terminate()
        assert program.wait(60) == 0
        assert not list(plugins.glob("*.sock"))


def test_bad_arguments_are_told_by_the_program(warm: WarmProcess, place: Path) -> None:
    command = ["numaproof", "node", "--root", str(place / "n"), "--config", str(place / "none.yaml")]
    with warm.start(command) as program:
        assert program.wait(60) == 2
        assert "none.yaml" in program.output()


def test_several_programs_live_side_by_side(warm: WarmProcess, place: Path) -> None:
    (place / "many").mkdir()
    with ExitStack() as ending:
        programs = [
            ending.enter_context(
                warm.start(
                    ["numaproof", "plugin", "generic", "--resource", f"example.com/r{i}", "--dir", str(place / "many")]
                )
            )
            for i in range(4)
        ]
        for program in programs:
            wait_until(lambda program=program: "serving 4 devices" in program.output(), "a plugin")  # type: ignore[misc]
        programs[0].__exit__()
        assert [program.poll() for program in programs] == [128 + 9, None, None, None]


def test_what_a_program_is_is_passed_to_it(evaluating: WarmProcess) -> None:
    code = "import os; print(os.environ['WORD']); raise SystemExit(5)"
    with evaluating.start(["numaproof", code], environment={"WORD": "said"}) as program:
        assert program.wait(60) == 1
        assert program.output().splitlines()[0] == "said"


def test_a_program_inherits_nothing_but_its_output(evaluating: WarmProcess) -> None:
    """A connection that a program held too would not end when the warm process closes it."""
    code = """
import os
for number in os.listdir("/proc/self/fd"):
    try:
        print(os.readlink(f"/proc/self/fd/{number}"))
    except OSError:
        pass
"""
    with (
        evaluating.start(["numaproof", "import time; time.sleep(1000)"]),
        evaluating.start(["numaproof", code]) as program,
    ):
        assert program.wait(60) == 0
        assert "socket:" not in program.output()
        assert "pipe:" not in program.output()


def test_an_order_that_never_comes_stops_nobody(evaluating: WarmProcess, place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(str(place / "e"))
    with evaluating.start(["numaproof", "print('next')"]) as program:
        assert program.wait(60) == 0
        assert program.output() == "next\n"


def test_other_programs_and_mounts_are_refused(warm: WarmProcess) -> None:
    with pytest.raises(CannotStartError, match="/bin/true: a warm process starts numaproof alone"):
        warm.start(["/bin/true"])
    with pytest.raises(CannotStartError, match="mounts nothing"):
        warm.start(["numaproof", "machine", "list"], binds=(Bind(Path("/etc"), "/mnt"),))
