"""Bad input over all commands: one line on stderr (where, what, remedy), exit code 2, and nothing left behind."""

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from numaproof.harness.cli import COMMANDS, main
from numaproof.harness.runtimes import scratch
from numaproof.plugins_mock import program

NUMAPROOF = (sys.executable, "-m", "numaproof")

# A command line, and the words of its message: the place, the value, the remedy.
USAGE = {
    "": ("COMMAND is missing", "give one of machine, cost, ", "(all: numaproof --help)"),
    "fly": ("fly is not known as a command", "(all: numaproof --help)"),
    "machin list": ("machin", "did you mean machine?"),
    "--versoin": ("--versoin is not known", "did you mean --version?"),
    "machine": ("machine: ACTION is missing", "list, show, write"),
    "machine lst": ("machine: lst", "did you mean list?"),
    "machine show": ("machine show: MACHINE is missing; give it", "(all: numaproof machine show --help)"),
    "machine show --jsn": ("machine show: --jsn is not known", "did you mean --json?"),
    "machine show --zzz=1 laptop": ("machine show: --zzz is not known (all: numaproof machine show --help)",),
    "machine show laptop twice": ("machine show: twice is one argument too many", "leave it out"),
    "machine show laptop --json --full": ("machine show: --full: not allowed with --json", "--help"),
    "machine show laptop --svg": ("machine show: --svg: its value is missing", "write --svg FILE"),
    "machine write laptop": ("machine write: DIR is missing", "give it"),
    "machine diff": ("machine diff: A, B are missing", "give them"),
    "cost solve --unlisted farthst x.yaml": ("cost solve: --unlisted farthst: is not one of", "did you mean farthest?"),
    "cost solve --seed one x.yaml": ("cost solve: --seed one: is not a whole number",),
    "explain": ("explain: POD is missing",),
    "explain --semantics kepp x": ("explain: --semantics kepp:", "current, kep", "did you mean kep?"),
    "schedule x.yaml": ("schedule: --nodes is missing",),
    "policies --nodes 1.5": ("policies: --nodes 1.5: is not a whole number",),
    "vectors": ("vectors: FILE is missing",),
    "vectors --shwo 3 x": ("vectors: --shwo is not known", "did you mean --show?"),
    "node --rot x status": ("node: --rot is not known", "did you mean --root?"),
    "node --root x statsu": ("node: statsu is not known as an action", "did you mean status?"),
    "node --root x admit": ("node admit: POD.yaml is missing",),
    "node --root x --grace soon": ("node: --grace soon: is not a number",),
    "plugin": ("plugin: kind is missing",),
    "plugin gpuu": ("plugin: kind gpuu: is not one of", "did you mean gpu?"),
    "plugin gpu --preferred lnks": ("plugin: --preferred lnks: is not one of", "did you mean links?"),
    "plugin gpu --cout 3": ("plugin: --cout is not known", "did you mean --count?"),
    "run --runtime moon": ("run: --runtime moon: is not one of auto, docker, namespace, process",),
    "run -n two": ("run: --workers two: is not a whole number",),
    "run views --list options": ("run: options stands apart", "side by side"),
    "check --timeout long -- x": ("check: --timeout long: is not a number",),
    "check --level maybe -- x": ("check: --level maybe: is not one of must, should, may", "did you mean may?"),
    "image now": ("image: now is one argument too many",),
    "clean --all": ("clean: --all is not known",),
}
NOTHING = "/no/such/file.yaml"
BAD = {
    "machine show no-such-machine": ("'no-such-machine'", "preset"),
    f"machine show {NOTHING}": (NOTHING,),
    "machine read /no/such/folder": ("/no/such/folder", "give one that holds sys/"),
    "machine import /no/such/archive.tar.gz /no/such/folder": ("/no/such/archive.tar.gz",),
    "machine write laptop /proc/no/such/place": ("/proc/no/such",),
    "machine diff laptop no-such-machine": ("'no-such-machine'",),
    f"cost solve {NOTHING} --request cpu=1": (NOTHING,),
    f"schedule {NOTHING} --nodes laptop": (NOTHING,),
    f"explain {NOTHING} --machine laptop": (NOTHING,),
    "policies --nodes 0": ("0",),
    f"vectors {NOTHING}": (NOTHING,),
    "node --root /proc/no/such/place --machine laptop": ("/proc/no/such/place",),
    "node --root /proc/x --machine no-such-machine": ("'no-such-machine'",),
    f"node --root /proc/x --config {NOTHING}": (NOTHING,),
    "node --root /proc/x --machine laptop --grace 0": ("--grace 0", "above 0"),
    f"plugin generic --devices {NOTHING}": (NOTHING,),
    "plugin generic --fault Allocate=explode --dir /proc/x": ("explode",),
    f"run {NOTHING}": (NOTHING,),
    "run /no/such/folder --list": ("/no/such/folder", "themes: "),
    f"check --config {NOTHING} -- /bin/true": (NOTHING,),
}
ALL = USAGE | BAD


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder, which is the folder of whatever is temporary too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(scratch, "parents", lambda: (tmp_path,))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.mark.parametrize("line", ALL)
def test_bad_input_is_told_in_a_line(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = shlex.split(line)
    if arguments[:1] == ["node"]:  # it blocks signals, which is not for the process of the tests
        done = subprocess.run([*NUMAPROOF, *arguments], capture_output=True, text=True, check=False)
        code, out, err = done.returncode, done.stdout, done.stderr
    else:
        code, out, err = main(arguments), *capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("numaproof: ")
    assert err.count("\n") == 1
    assert [words for words in ALL[line] if words not in err] == [], err
    assert list(tmp_path.iterdir()) == []


def test_every_command_that_takes_input_is_among_the_bad_ones() -> None:
    # These take none; what is missing around them has tests of its own.
    assert set(COMMANDS) - {line.split()[0] for line in BAD} == {"image", "clean"}
    assert set(COMMANDS) - {line.split()[0] for line in USAGE if line} == set()


def test_a_value_of_many_lines_makes_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--runtime", "moon\nand\tstars"]) == 2
    err = capsys.readouterr().err
    assert r"--runtime 'moon\nand\tstars':" in err
    assert err.count("\n") == 1


def test_the_program_of_a_fake_plugin_says_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["plugins_mock", "gpu", "--cout", "3"])
    assert program.main() == 2
    assert capsys.readouterr().err == (
        "plugins_mock: --cout is not known; did you mean --count? (all: plugins_mock --help)\n"
    )
