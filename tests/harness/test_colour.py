"""Colours: in a terminal that has them where they help, never with NO_COLOR, and nothing of the kind in a pipe."""

import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from numaproof.harness.commands.catalogue import COMMANDS
from tests.harness.commands.stories import story
from tests.places import short_directory

NUMAPROOF = (sys.executable, "-m", "numaproof")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")

# These end by themselves: what they ask of is not there, or what they wait for has come.
COLOURED = (
    "machine list",
    "explain pod.yaml --machine xeon-2s",
    "run theme/wrong.yaml --runtime process -n 1",
    "check --runtime process --only dp/register/1 -- {numaproof} plugin generic --dir {{dir}}",
)
PLAIN = (
    "machine show laptop --full",
    "cost graph --machine dgx1-v100",
    "cost explain --machine laptop --request cpu=2",
    "schedule pod.yaml --nodes xeon-2s",
    "policies",
    "vectors records.jsonl --kind merge",
    "node --root nobody status",
    "plugin gpu --list-faults",
    "plugin gpu --board dgx1-v100 --dry-run",
    "run --list views",
    "check --dry-run",
    "init scenario -",
    "schema machine",
    "completion bash",
    "image",
    "clean",
    "serve nothing.json",
    "--help",
    "run --help",
)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with short_directory() as place:
        monkeypatch.chdir(place)
        (place / "pod.yaml").write_text("metadata: {name: p}\nspec: {containers: [{name: c}]}\n")
        (place / "records.jsonl").write_text('{"numa": 1}\n')
        pod = {"name": "p", "containers": [{"name": "c", "requests": {"cpu": 1}}]}
        story(place, "wrong", steps=[{"admit": pod, "expect": {"reason": "TopologyAffinityError"}}], plugins=[])
        yield place


def words_of(line: str) -> list[str]:
    return [*NUMAPROOF, *shlex.split(line.format(numaproof=shlex.join(NUMAPROOF)))]


def environment(place: Path, **more: str) -> dict[str, str]:
    """That of a terminal with colours, where nobody has asked for any."""
    asked = ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "CI", "GITHUB_ACTIONS")
    usual = {name: value for name, value in os.environ.items() if name not in asked}
    return {**usual, "TERM": "xterm-256color", "DOCKER_HOST": f"unix://{place}/nobody.sock", **more}


def in_terminal(line: str, place: Path, **more: str) -> str:
    """All that a command writes to a terminal, which is both of its outputs."""
    ours, theirs = pty.openpty()
    try:
        with subprocess.Popen(
            words_of(line), stdin=theirs, stdout=theirs, stderr=theirs, cwd=place, env=environment(place, **more)
        ) as process:
            os.close(theirs)
            said = b""
            with suppress(OSError):  # of a terminal that nobody writes to any more
                while part := os.read(ours, 1 << 16):
                    said += part
            process.wait()
    finally:
        os.close(ours)
    assert b"Traceback" not in said, said.decode()
    return said.decode()


@pytest.mark.parametrize("line", COLOURED)
def test_a_terminal_gets_colours(line: str, place: Path) -> None:
    assert COLOUR.search(in_terminal(line, place))


@pytest.mark.parametrize("line", [*COLOURED, *PLAIN])
def test_who_wants_no_colours_gets_none(line: str, place: Path) -> None:
    said = in_terminal(line, place, NO_COLOR="1")
    assert said
    assert COLOUR.findall(said) == []


@pytest.mark.parametrize("line", [*COLOURED, *PLAIN])
def test_what_is_no_terminal_gets_no_signs_of_one(line: str, place: Path) -> None:
    done = subprocess.run(
        words_of(line), capture_output=True, text=True, cwd=place, env=environment(place), check=False
    )
    assert done.stdout + done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "\r" not in done.stdout + done.stderr


def test_every_command_is_among_them() -> None:
    assert {line.split()[0] for line in (*COLOURED, *PLAIN)} - {"--help"} == set(COMMANDS)
