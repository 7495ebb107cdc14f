"""The command line as a whole: help for everything, and ends that say what happened."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from numaproof.harness.cli import main
from numaproof.harness.commands.catalogue import COMMANDS

NUMAPROOF = (sys.executable, "-m", "numaproof")


def ended(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[int | str | None, str, str]:
    """The exit code and both streams of `numaproof ARGUMENTS`."""
    try:
        code: int | str | None = main(arguments)
    except SystemExit as end:  # argparse's way
        code = end.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ended(["--help"], capsys)
    assert code == 0
    assert [name for name in COMMANDS if not re.search(rf"^    {name}\s", out, re.MULTILINE)] == []


HELP = """
import sys
from numaproof.harness.cli import main
try:
    main(["--help"])
except SystemExit:
    print("imported:", [name for name in ("numaproof.fake_sysfs", "yaml", "grpc", "pytest") if name in sys.modules])
"""


def test_help_waits_for_nothing_that_it_does_not_need() -> None:
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "imported: []", done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ended([command, "--help"], capsys)
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: numaproof {command}")


@pytest.mark.parametrize(
    "arguments",
    [
        ["machine", "list"],
        ["policies"],
        ["cost", "graph", "--machine", "laptop", "--request", "cpu=1"],
        ["run", "--list", "views"],
    ],
)
def test_a_reader_that_goes_away_ends_us_quietly_and_not_as_if_all_were_good(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)  # gone before anything is written: every write meets a broken pipe
    # Buffered, as it is for a user: a short output is then written at the very end.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    try:
        done = subprocess.run(
            [*NUMAPROOF, *arguments], stdout=writer, stderr=subprocess.PIPE, text=True, check=False, env=environment
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_what_libraries_log_is_not_on_our_stderr_unless_somebody_asks_for_it() -> None:
    command = [*NUMAPROOF, "plugin", "generic", "--dir", "/no/such/folder"]
    environment = {name: value for name, value in os.environ.items() if name != "GRPC_VERBOSITY"}

    def lines(**more: str) -> int:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment | more)
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].startswith("numaproof: /no/such/folder/")
        return len(done.stderr.splitlines())

    assert lines() == 1
    assert lines(GRPC_VERBOSITY="ERROR") > 1


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize(
    "arguments",
    [
        ["machine", "list"],
        ["policies"],
        ["run", "--list", "views"],
        ["run", "--runtime", "process", "-n", "1", "options/unknown-option"],
        ["serve"],
    ],
)
def test_output_that_cannot_be_written_is_a_line(arguments: list[str], buffered: bool, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    environment |= {} if buffered else {"PYTHONUNBUFFERED": "1"}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*NUMAPROOF, *arguments],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=environment,
        )
    said = "numaproof: standard output: cannot be written (No space left on device); give another place\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_streams_that_are_closed_from_the_start(tmp_path: Path) -> None:
    command = f"{' '.join(NUMAPROOF)} run --runtime process -n 1 --out {tmp_path}/out options/unknown-option"
    done = subprocess.run(["/bin/sh", "-c", f"{command} >&- 2>&-"], check=False, timeout=300)
    assert done.returncode == 0
    assert json.loads((tmp_path / "out/summary.json").read_text())["totals"]["failed"] == 0
