"""The command line as a whole: help for everything, one line for bad input, and no traceback for anybody."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from numaproof.harness.cli import COMMANDS, main

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
    assert [name for name in COMMANDS if f"\n    {name} " not in out] == []


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


@pytest.mark.parametrize("arguments", [[], ["fly"], ["machine"], ["run", "--runtime", "moon"], ["clean", "--all"]])
def test_what_cannot_be_understood_ends_with_usage_and_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ended(arguments, capsys)
    assert (code, out) == (2, "")
    assert err.startswith("usage: numaproof")
    assert "error: " in err


NOTHING = "/no/such/file.yaml"
BAD = [
    ["machine", "show", "no-such-machine"],
    ["machine", "show", NOTHING],
    ["machine", "read", "/no/such/folder"],
    ["machine", "import", "/no/such/archive.tar.gz", "/no/such/folder"],
    ["machine", "write", "laptop", "/proc/no/such/place"],
    ["machine", "diff", "laptop", "no-such-machine"],
    ["cost", "solve", NOTHING, "--request", "cpu=1"],
    ["schedule", NOTHING, "--nodes", "laptop"],
    ["serve", NOTHING],
    ["explain", NOTHING, "--machine", "laptop"],
    ["policies", "--nodes", "0"],
    ["vectors", NOTHING],
    ["node", "--root", "/proc/no/such/place", "--machine", "laptop"],
    ["node", "--root", "/proc/x", "--machine", "no-such-machine"],
    ["node", "--root", "/proc/x", "--config", NOTHING],
    ["node", "--root", "/proc/x", "--machine", "laptop", "--grace", "0"],
    ["plugin", "generic", "--devices", NOTHING],
    ["plugin", "generic", "--fault", "Allocate=explode", "--dir", "/proc/x"],
    ["run", NOTHING],
    ["run", "/no/such/folder", "--list"],
    *([["check", "--config", NOTHING, "--", "/bin/true"]] if "check" in COMMANDS else []),
]


@pytest.mark.parametrize("arguments", BAD, ids=lambda words: " ".join(words)[:50])
def test_bad_input_is_told_in_a_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    if arguments[0] == "node":  # it blocks signals, which is not for the process of the tests
        done = subprocess.run([*NUMAPROOF, *arguments], capture_output=True, text=True, check=False)
        code, out, err = done.returncode, done.stdout, done.stderr
    else:
        code, out, err = main(arguments), *capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("numaproof: ")
    assert err.count("\n") == 1


def test_every_command_that_takes_input_is_among_the_bad_ones() -> None:
    # These take none; what is missing around them has tests of its own.
    assert set(COMMANDS) - {words[0] for words in BAD} == {"image", "clean"}


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


def test_streams_that_are_closed_from_the_start(tmp_path: Path) -> None:
    command = f"{' '.join(NUMAPROOF)} run --runtime process -n 1 --out {tmp_path}/out options/unknown-option"
    done = subprocess.run(["/bin/sh", "-c", f"{command} >&- 2>&-"], check=False, timeout=300)
    assert done.returncode == 0
    assert json.loads((tmp_path / "out/summary.json").read_text())["totals"]["failed"] == 0
