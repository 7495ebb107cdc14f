"""What editors are told of our files is what the readers take: all shipped files, and every mistake with every key."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from numaproof.fake_sysfs.forms import Form, Later, Shape
from numaproof.harness.cli import main
from numaproof.harness.commands.editor_schema import KINDS, form_of, schema_of
from tests.harness.schemas import yaml12
from tests.harness.schemas.beyond import beyond
from tests.harness.schemas.kinds import HERE, REPOSITORY, complete, is_refused, shipped
from tests.harness.schemas.mutants import keys_in, mutants, replaced


def schema(kind: str) -> Draft202012Validator:
    return Draft202012Validator(schema_of(kind))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with what the complete files name."""
    for file in (HERE / "complete").iterdir():
        shutil.copy(file, tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_a_schema_of_its_draft(kind: str) -> None:
    Draft202012Validator.check_schema(schema_of(kind))
    assert schema_of(kind)["$id"] == f"urn:numaproof:schema:{kind}"


@pytest.mark.parametrize("kind", KINDS)
def test_all_files_that_are_shipped_are_valid(kind: str) -> None:
    files = [*shipped(kind), *complete(kind)]
    assert len(shipped(kind)) >= {"scenario": 200, "machine": 28, "check": 1, "costs": 3}[kind]
    wrong = {
        str(file): [error.message for error in schema(kind).iter_errors(yaml12.load(file.read_text()))]
        for file in files
    }
    assert {file: told for file, told in wrong.items() if told} == {}
    assert [file for file in complete(kind) if is_refused(kind, file)] == []


def shapes(form: object, found: dict[str, Shape]) -> dict[str, Shape]:
    """Every closed mapping of a form, by its name."""
    if isinstance(form, Later):
        return shapes(form.given(), found)
    if isinstance(form, Shape):
        if form.name in found:
            assert found[form.name] is form, f"two mappings are called {form.name}"
            return found
        found[form.name] = form
        for key in form.keys.values():
            shapes(key.form, found)
    elif isinstance(form, Form):
        shapes(form.words, found)
    elif isinstance(form, dict | list):
        for one in form.values() if isinstance(form, dict) else form:
            shapes(one, found)
    return found


@pytest.mark.parametrize("kind", ["scenario", "machine", "check"])
def test_the_complete_files_have_every_key(kind: str) -> None:
    known = {(name, key) for name, shape in shapes(form_of(kind), {}).items() for key in shape.keys}
    # Of the kubelet's keys one stands for all: their names come from one list, and their values are the kubelet's.
    kubelet = {pair for pair in known if pair[0] == "kubelet" and pair[1] not in ("file", "kind", "apiVersion")}
    assert known - kubelet - set(keys_in(form_of(kind), complete(kind))) == set()


@pytest.mark.parametrize("kind", ["scenario", "machine", "check"])
def test_every_key_has_a_description(kind: str) -> None:
    for name, shape in shapes(form_of(kind), {}).items():
        assert shape.words["description"], name
        assert [key for key, one in shape.keys.items() if len(one.about) < 3] == [], name


@pytest.mark.parametrize("kind", ["scenario", "machine", "check"])
def test_reader_and_schema_refuse_the_same_mistakes(kind: str, place: Path) -> None:
    judge, file = schema(kind), place / "mutant.yaml"
    only_reader: set[tuple[str, str, str]] = set()
    only_schema: set[tuple[str, str, str]] = set()
    both = 0
    for mutant in mutants(form_of(kind), complete(kind)):
        file.write_text(mutant.text)
        refused, invalid = is_refused(kind, file), not judge.is_valid(yaml12.load(mutant.text))
        both += refused and invalid
        if refused != invalid:
            (only_reader if refused else only_schema).add((mutant.mapping, mutant.key, mutant.done))
    assert only_schema == set()
    assert only_reader == beyond(kind)
    assert both >= 10 * len(only_reader), "the schema tells too little"


def test_the_reader_of_costs_and_the_schema_refuse_the_same_mistakes(place: Path) -> None:
    judge, file = schema("costs"), place / "mutant.yaml"
    (whole,) = complete("costs")
    differ = []
    for path, wrong, text in replaced(whole):
        file.write_text(text)
        if is_refused("costs", file) == judge.is_valid(yaml12.load(text)):
            differ.append((path, wrong))
    assert differ == []


def test_a_number_may_be_written_as_yaml_has_it_and_the_reader_has_not(place: Path) -> None:
    """JSON Schema takes 2.0 for a whole number, and YAML 1.2 takes `no` for a word; the reader wants 2 and "no"."""
    file = place / "machine.yaml"
    for kind, text, changed in (
        ("machine", "cores: 2\n", "cores: 2.0\n"),
        ("scenario", 'aligned: "no"', "aligned: no"),
    ):
        whole = text if kind == "machine" else complete(kind)[-1].read_text().replace("aligned: container", text)
        file.write_text(whole)
        assert not is_refused(kind, file)
        file.write_text(whole.replace(text, changed))
        assert is_refused(kind, file)
        assert schema(kind).is_valid(yaml12.load(file.read_text()))


def test_the_published_schemas_are_those_of_the_readers() -> None:
    tool = REPOSITORY / "tools/generate_schemas.py"
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_prints_a_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "machine"]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed) == schema_of("machine")
    assert printed == (REPOSITORY / "docs/schemas/machine.schema.json").read_text()


def test_alone_it_lists_the_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(KINDS)


def test_a_misspelt_kind_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "scenaro"]) == 2
    assert capsys.readouterr() == ("", "numaproof: schema 'scenaro': there is none; did you mean scenario?\n")
