"""The one reader of YAML: nothing is lost silently, and every fault is a line with the file and the line."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from numaproof.fake_sysfs import strict_yaml
from numaproof.fake_sysfs.strict_yaml import LONGEST_NUMBER, Where, YamlError, load, load_all, read, read_all


@pytest.fixture(params=["CSafeLoader", "SafeLoader"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything holds with libyaml and without it."""
    monkeypatch.setattr(strict_yaml, "_Parser", getattr(yaml, request.param))


TEXT = """\
name: a   # a comment
steps:
  - admit: {name: first, numa: [0,
      1]}
  - remove: first
"""


def test_values_and_their_lines() -> None:
    document = load(TEXT, "my.yaml")
    assert document.value == {
        "name": "a",
        "steps": [{"admit": {"name": "first", "numa": [0, 1]}}, {"remove": "first"}],
    }
    where = document.where.at("steps")
    assert str(document.where) == "my.yaml:1"
    assert str(where) == "my.yaml:2: steps"
    assert str(where.at(0).at("admit").at("numa").at(1)) == "my.yaml:4: steps[0].admit.numa[1]"
    assert str(where.at(1).at("remove")) == "my.yaml:5: steps[1].remove"
    # What is missing has the line of what should hold it.
    assert str(where.at(1).at("expect").at("calls")) == "my.yaml:5: steps[1].expect.calls"
    assert str(Where("preset x").at("cores")) == "preset x: cores"


SCALARS = [
    *("1", "-7", "0x10", "010", "1_000", "1:30", "1.5", "-.5", "6.", "true", "No", "off", "null", "~", "", "x", "1e5"),
    *("'1'", '"true"', "1Gi", "500m", "0b11", "08", "."),
]


@pytest.mark.parametrize("text", SCALARS)
def test_scalars_are_what_yaml_says(text: str) -> None:
    assert load(f"a: {text}", "f").value == yaml.safe_load(f"a: {text}")
    assert load(f"a: {text}", "f", typed=False).value == yaml.load(f"a: {text}", yaml.BaseLoader)


def test_keys_and_dates_stay_text() -> None:
    assert load("{0: 1, on: 2, 07:00.0: 3, 1.5: 2020-01-02}", "f").value == {
        "0": 1,
        "on": 2,
        "07:00.0": 3,
        "1.5": "2020-01-02",
    }


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc<>:-&*!", max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(VALUES)
def test_what_yaml_writes_is_read_back(value: Any) -> None:
    for libyaml in (yaml.CSafeLoader, yaml.SafeLoader):  # the fixture does not see what hypothesis draws
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(strict_yaml, "_Parser", libyaml)
            text = yaml.dump(value, Dumper=_PlainDumper)
            assert load(text, "f").value == value


class _PlainDumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def test_an_empty_file_holds_nothing() -> None:
    assert load("", "f").value is None
    assert load("# a comment\n", "f").value is None
    assert load("--- 1\n...\n", "f").value == 1


FAULTS = [
    ("b: 1\na: 1\na: 2", "f:3: 'a' is there twice in one mapping; keep one"),
    ("- {x: {a: 1, a: 1}}", "f:1: 'a' is there twice"),
    ("{1: a, '1': b}", "f:1: '1' is there twice"),
    ("a: &x 1", "f:1: &x: anchors are not read; drop it"),
    ("&k a: 1", "f:1: a key must be a plain word"),
    ("a: 1\nb: *x", "f:2: *x: aliases are not read; write the value again"),
    ("<<: {a: 1}", "f:1: <<: merge keys are not read; write the keys again"),
    ("? [a]\n: 1", "f:1: a key must be a plain word"),
    ("a: !!python/object/apply:os.getcwd []", "f:1: tag:yaml.org,2002:python/object/apply:os.getcwd: tags are not"),
    ("a: !own 1", "f:1: !own: tags are not read"),
    ("a: 1\n---\nb: 2", "f:2: a second document starts; keep one"),
    ("a: [", "f:1: is not YAML: "),
    ("a: b: c", "f:1: is not YAML: "),
    ("a:\n\tb: 1", "f:2: is indented by a tab, which YAML forbids; write blanks"),
    ("a:\n  b: 1\n\tc: 1", "f:3: is indented by a tab, which YAML forbids; write blanks"),
    ("a:\n \t- 1", "f:2: is indented by a tab, which YAML forbids; write blanks"),
    ("a: @b", "f:1: is not YAML: "),
    ("\x00", "f: is not YAML: "),
    ("a: .inf", "f:1: '.inf' is not a finite number"),
    ("a: 1.0e+999", "f:1: '1.0e+999' is not a finite number"),
    ("a: " + "9" * (LONGEST_NUMBER + 1), f"is a number of {LONGEST_NUMBER + 1} characters; {LONGEST_NUMBER} are"),
    ("a: 0x" + "f" * 5000, "is a number of 5002 characters"),
]


@pytest.mark.parametrize(("text", "said"), FAULTS, ids=[said[:30] for _, said in FAULTS])
def test_a_fault_is_one_line(text: str, said: str) -> None:
    with pytest.raises(YamlError) as told:
        load(text, "f")
    assert said in str(told.value)
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 250


@pytest.mark.parametrize("text", ["a: " + "[" * 1_000_000, "- " * 100_000 + "a", "{a: " * 100_000])
@pytest.mark.parametrize("typed", [True, False])
def test_what_is_nested_beyond_reason_is_refused_early(text: str, typed: bool) -> None:
    with pytest.raises(YamlError, match="f:1: is nested too deeply; 64 levels are the most"):
        load(text, "f", typed=typed)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"a\xff\xfe")
    (tmp_path / "large").write_text("# 34567890\n")
    for name, said in (
        ("binary", r"binary: is not UTF-8 text \(byte 1\); write YAML"),
        ("large", "large: is larger than 10 bytes; give"),
        ("missing", r"missing: cannot be read \(No such file or directory\); give"),
        (".", r": cannot be read \(Is a directory\)"),
    ):
        with pytest.raises(YamlError, match=said):
            read(tmp_path / name, largest=10)
    (tmp_path / "good").write_text("a: 1")
    assert read(tmp_path / "good").value == {"a": 1}


def test_several_documents_are_read_where_they_are_asked_for(tmp_path: Path) -> None:
    text = "a: 1\n---\n# nothing\n---\nb:\n  c: 2\n"
    first, second = load_all(text, "x.yaml")
    assert (first.value, second.value) == ({"a": 1}, {"b": {"c": 2}})
    assert str(second.where.at("b").at("c")) == "x.yaml:6: b.c"
    assert str(first.where.at("a")) == "x.yaml:1: a"
    (tmp_path / "file").write_text(text)
    assert [document.value for document in read_all(tmp_path / "file")] == [first.value, second.value]
    assert load_all("", "x.yaml") == []


def test_a_fault_in_a_later_document_has_its_line() -> None:
    with pytest.raises(YamlError, match=r"x\.yaml:4: 'b' is there twice in one mapping; keep one"):
        load_all("a: 1\n---\nb: 1\nb: 2\n", "x.yaml")
