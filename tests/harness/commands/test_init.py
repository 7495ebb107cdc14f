"""`numaproof init`: what it writes is read, run and judged as what people write; what has no effect too."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from numaproof.fake_sysfs import parse_machine, preset_names
from numaproof.fake_sysfs.catalogue import suite_machine_names
from numaproof.harness.cli import main
from numaproof.harness.conformance.check_file import OPTIONS
from tests.harness.commands.stories import NUMAPROOF
from tests.harness.schemas.kinds import READERS
from tests.places import short_directory

NAMES: Mapping[str, str] = {"scenario": "scenario.yaml", "machine": "machine.yaml", "check": "numaproof.yaml"}
# A key that is commented out: behind its # there is no space; the lines that belong to it are further in.
WITHOUT_EFFECT = re.compile(r"^( *)#\S.*\n(?:\1#  .*\n)*", re.MULTILINE)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with short_directory() as place:
        monkeypatch.chdir(place)
        yield place


def written(kind: str, *words: str) -> Path:
    """The file that `numaproof init KIND` makes where we are."""
    assert main(["init", kind, *words]) == 0
    return Path(NAMES[kind])


def in_effect(text: str) -> str:
    """Lines without the # before them."""
    return re.sub(r"^( *)#", r"\1", text, flags=re.MULTILINE)


@pytest.mark.parametrize("kind", NAMES)
def test_it_is_read_as_it_is(kind: str, place: Path) -> None:
    READERS[kind](written(kind))


@pytest.mark.parametrize("kind", NAMES)
def test_what_is_commented_out_is_read_one_by_one_and_all_together(kind: str, place: Path) -> None:
    file = written(kind)
    text = file.read_text()
    found = list(WITHOUT_EFFECT.finditer(text))
    assert found
    for one in found:
        file.write_text(text[: one.start()] + in_effect(one.group()) + text[one.end() :])
        READERS[kind](file)
        assert yaml.safe_load(file.read_text()) != yaml.safe_load(text), one.group()  # it had none before
    file.write_text(WITHOUT_EFFECT.sub(lambda one: in_effect(one.group()), text))
    READERS[kind](file)


def test_a_check_file_has_every_option_with_or_without_effect(place: Path) -> None:
    text = written("check").read_text()
    assert set(re.findall(r"^  #?([\w-]+):", text, re.MULTILINE)) == OPTIONS.keys.keys()


@pytest.mark.parametrize("kind", NAMES)
def test_every_key_is_told_of(kind: str, place: Path) -> None:
    """The first line of the file, and the first one with a key of a mapping, stand below a comment."""
    lines = written(kind).read_text().splitlines()
    top = [number for number, line in enumerate(lines) if re.match(r"#?[a-z]", line)]
    assert len(top) == len([line for line in lines if re.match(r"#?[a-z-]+:", line)])
    assert [lines[number] for number in top if not lines[number - 1].startswith("# ")] == []


@pytest.mark.parametrize("kind", NAMES)
def test_the_first_line_names_a_schema_that_judges_it(kind: str, place: Path) -> None:
    file = written(kind)
    line = file.read_text().splitlines()[0]
    match = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", line)
    assert match
    schema = json.loads((file.parent / match[1]).read_text())
    Draft202012Validator.check_schema(schema)
    judge = Draft202012Validator(schema)
    value = yaml.safe_load(file.read_text())
    assert [error.message for error in judge.iter_errors(value)] == []
    assert list(judge.iter_errors(value | {"nmae": "x"})) != []


def test_a_scenario_runs_and_passes(place: Path) -> None:
    """By the very command that init tells."""
    done = subprocess.run([*NUMAPROOF, "init", "scenario"], capture_output=True, text=True, check=True)
    told = done.stdout.partition("; ")[2]
    assert told.startswith("numaproof run scenario.yaml ")
    ran = subprocess.run(
        [*NUMAPROOF, *shlex.split(told)[1:], "--require", "all"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout
    totals = json.loads(Path("out/summary.json").read_text())["totals"]
    assert (totals["failed"], totals["skipped"]) == (0, 0)
    assert totals["passed"] == 2 * 2 * 2  # machines, policies and scopes


def test_a_machine_is_shown(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written("machine")
    assert capsys.readouterr().out == "machine.yaml: a machine to start from; numaproof machine show machine.yaml\n"
    assert main(["machine", "show", "machine.yaml", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["name"], len(shown["nodes"]), len(shown["cpus"])) == ("two-sockets", 2, 2 * 8 * 2)


def test_a_check_file_is_taken(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("my-plugin").write_text("#!/bin/sh\nexec numaproof plugin generic --count 2\n")
    Path("my-plugin").chmod(0o755)
    written("check")
    capsys.readouterr()
    assert main(["check", "--config", "numaproof.yaml", "--dry-run", "--json"]) == 0
    all_of_them = json.loads(capsys.readouterr().out)["checks"]
    text = Path("numaproof.yaml").read_text()
    Path("numaproof.yaml").write_text(text.replace("exclude: []", "exclude: ['dp/list/*']"))
    assert main(["check", "--dry-run", "--json"]) == 0
    fewer = json.loads(capsys.readouterr().out)["checks"]
    assert {one["id"].rpartition("/")[0] for one in all_of_them} - {one["id"].rpartition("/")[0] for one in fewer} == {
        "dp/list"
    }


def test_the_command_of_a_plugin_goes_into_the_check_file(place: Path) -> None:
    written("check", "--", "./my-plugin", "--flag", "a b")
    assert yaml.safe_load(Path("numaproof.yaml").read_text())["check"]["command"] == ["./my-plugin", "--flag", "a b"]
    assert main(["init", "check", "other.yaml", "--", "x"]) == 0
    assert yaml.safe_load(Path("other.yaml").read_text())["check"]["command"] == ["x"]


@pytest.mark.parametrize("kind", NAMES)
def test_a_file_that_is_there_is_left_alone_unless_it_is_to_be_replaced(
    kind: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = place / NAMES[kind]
    file.write_text("mine\n")
    assert main(["init", kind]) == 2
    assert capsys.readouterr().err.endswith("is there already; give another name, or --force to replace it\n")
    assert file.read_text() == "mine\n"
    assert [path.name for path in place.iterdir()] == [file.name]  # no schema either
    READERS[kind](written(kind, "--force"))


@pytest.mark.parametrize("kind", NAMES)
def test_a_folder_that_is_not_there_is_told_by_the_file(
    kind: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", kind, "none/file.yaml"]) == 2
    assert capsys.readouterr().err == "numaproof: none/file.yaml: its directory does not exist; make it first\n"
    assert list(place.iterdir()) == []


def test_what_to_do_with_it_is_told_as_a_shell_takes_it(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "machine", "my machine.yaml"]) == 0
    told = capsys.readouterr().out.strip().partition("; numaproof ")[2]
    assert main(shlex.split(told)) == 0
    assert [path.name for path in place.glob("*.yaml")] == ["my machine.yaml"]


@pytest.mark.parametrize("kind", NAMES)
def test_it_may_be_printed_and_then_nothing_is_written(
    kind: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", kind, "-"]) == 0
    printed = capsys.readouterr().out
    assert list(place.iterdir()) == []
    assert printed == written(kind).read_text()


def test_a_schema_elsewhere_is_named_and_none_is_written(place: Path) -> None:
    where = "https://example.com/scenario.schema.json"
    assert written("scenario", "--schema", where).read_text().splitlines()[0].endswith(f"$schema={where}")
    assert [path.name for path in place.iterdir()] == ["scenario.yaml"]


@pytest.mark.parametrize(
    "start",
    [
        *preset_names(),
        *suite_machine_names(),
        "pack:2 [numa(memory=4GB)] core:4 pu:2",
        "2 nodes x 16 CPUs, 125Gi",
    ],
)
def test_a_machine_may_start_from_any_other(start: str, place: Path) -> None:
    text = written("machine", "--from", start).read_text()
    assert parse_machine("machine.yaml").cpus == parse_machine(start).cpus
    # What a machine file cannot say is told in it; of these machines it can say all.
    assert "A machine file cannot tell" not in text
    assert main(["machine", "diff", start, "machine.yaml"]) == 0


def test_this_host_may_be_the_start(place: Path) -> None:
    written("machine", "--from", "host")
    meant, made = parse_machine("host"), parse_machine("machine.yaml")
    assert [cpu.id for cpu in made.cpus] == [cpu.id for cpu in meant.cpus]
