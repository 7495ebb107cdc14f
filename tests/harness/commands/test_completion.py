"""What shells complete the command line by, in the shells themselves: a line is typed, TAB is hit, the line is run."""

import itertools
import os
import pty
import re
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from numaproof.harness.cli import main
from tests.waiting import wait_until

# What is typed before TAB -> the words of the line afterwards.
TYPED = {
    "numaproof sched": "schedule",
    "numaproof machine cap": "machine capture",
    "numaproof node adm": "node admit",
    "numaproof run --zzz": "run --zzz",  # there is no such option, and nothing is made up
    "numaproof run --ann": "run --annotations",
    "numaproof run --policy restr": "run --policy restricted",
    "numaproof run --theme preferred_al": "run --theme preferred_allocation",
    "numaproof run multi_numa/confl": "run multi_numa/conflict",
    "numaproof run own-st": "run own-story.yaml",
    "numaproof run --machine dgx-h": "run --machine dgx-h100",
    "numaproof run --machine own-m": "run --machine own-machine.yaml",
    "numaproof machine show power9": "machine show power9-ac922",
    "numaproof check --only dp/prest": "check --only dp/prestart/1",
    "numaproof check --known-failures own-st": "check --known-failures own-story.yaml",
    "numaproof node --topology-manager-policy best": "node --topology-manager-policy best-effort",
    "numaproof node --sysfs-root own-f": "node --sysfs-root own-folder/",
    "numaproof schema cos": "schema costs",
    "numaproof vectors --kind cpu-h": "vectors --kind cpu-h",
}
# The line itself is what is looked at.
NUMAPROOF = "numaproof() { printf 'ASKED<%s>\\n' \"$*\"; }\n"


@pytest.fixture
def place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder with something to complete, and the completions of every shell in it."""
    (tmp_path / "own-story.yaml").touch()
    (tmp_path / "own-machine.yaml").touch()
    (tmp_path / "own-folder").mkdir()
    (tmp_path / "numaproof.sh").write_text(NUMAPROOF)
    (tmp_path / "functions").mkdir()
    for shell, name in (("bash", "numaproof.bash"), ("zsh", "functions/_numaproof"), ("fish", "numaproof.fish")):
        assert main(["completion", shell]) == 0
        (tmp_path / name).write_text(capsys.readouterr().out)
    return tmp_path


class Terminal:
    """A shell in a terminal."""

    def __init__(self, command: list[str], place: Path) -> None:
        self._ours, theirs = pty.openpty()
        environment = {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": str(place), "PS1": "ready> "}
        self._process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=place, env=environment, start_new_session=True
        )
        os.close(theirs)
        self._said = b""

    def answer(self, line: str) -> str:
        """What the shell made of a line."""
        self._said = b""
        os.write(self._ours, line.encode() + b"\n")
        wait_until(self._is_told, f"an answer to {line!r}")
        [told] = re.findall(rb"ASKED<([^>]*)>", self._said)
        return bytes(told).decode()

    def _is_told(self) -> bool:
        while select.select([self._ours], [], [], 0)[0]:
            self._said += os.read(self._ours, 4096)
        return re.search(rb"ASKED<[^>]*>\r?\n", self._said) is not None

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)


@contextmanager
def terminal(command: list[str], place: Path) -> Iterator[Terminal]:
    found = Terminal(command, place)
    try:
        yield found
    finally:
        found.close()


def completed(shell: str, setup: list[str], place: Path) -> dict[str, str]:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    starts = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}
    with terminal(starts[shell], place) as told:
        told.answer("; ".join([*setup, "source ./numaproof.sh", "numaproof ready"]))
        return {line: told.answer(line + "\t").strip() for line in TYPED}


def test_bash(place: Path) -> None:
    assert completed("bash", ["source ./numaproof.bash"], place) == TYPED


def test_zsh(place: Path) -> None:
    setup = ["fpath=($PWD/functions $fpath)", "autoload -Uz compinit", "compinit -u -D", "setopt no_auto_remove_slash"]
    assert completed("zsh", setup, place) == TYPED


def start_of_all(words: list[str]) -> str:
    """What all words begin with, letter by letter."""
    same = itertools.takewhile(lambda letters: len(set(letters)) == 1, zip(*words, strict=False))
    return "".join(letters[0] for letters in same)


def test_fish(place: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("there is no fish here")
    lines = [f"complete -C {line!r} | string replace -r '\\t.*' ''; echo END" for line in TYPED]
    script = "; ".join(["source numaproof.fish", *lines])
    environment = {"PATH": os.environ["PATH"], "HOME": str(place)}
    done = subprocess.run(
        ["fish", "--no-config", "-c", script], cwd=place, env=environment, capture_output=True, text=True, check=True
    )
    offered = [part.split() for part in done.stdout.split("END")[:-1]]
    found = {}
    for line, words in zip(TYPED, offered, strict=True):
        head, _, typed = line.partition(" ")[2].rpartition(" ")
        common = start_of_all(words) if words else typed
        found[line] = f"{head} {common}".strip()
    assert found == TYPED


def test_without_the_library_a_line_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "shtab.py").write_text("raise ImportError\n")
    blocked = (
        "import sys, importlib.util as u; f = u.find_spec; u.find_spec = lambda n, *a: None if n == 'shtab' else f(n)"
    )
    script = f"{blocked}\nfrom numaproof.harness.cli import main\nsys.exit(main(['completion', 'bash']))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    told = "numaproof: completion: needs shtab; install it: pip install 'numaproof[completion]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)
