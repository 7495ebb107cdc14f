"""A value in a YAML text is changed, and nothing else of the text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaproof.errors import UserError
from numaproof.fake_sysfs.strict_yaml import load_all
from numaproof.fake_sysfs.yaml_edit import dumped, with_value, without

CASES: dict[str, tuple[str, list[str | int], Any, str]] = {
    "a plain value, its comment stays": ("a: 1 # one\nb: 2\n", ["a"], 5, "a: 5 # one\nb: 2\n"),
    "a quoted one": ('a: "0-1"\n', ["a"], "2", "a: '2'\n"),
    "one in a flow": (
        "r: {limits: {cpu: 2, memory: 1Gi}} # x\n",
        ["r", "limits", "cpu"],
        3,
        "r: {limits: {cpu: 3, memory: 1Gi}} # x\n",
    ),
    "a new key in a flow": ("r: {limits: {cpu: 2}}\n", ["r", "limits", "x"], 3, "r: {limits: {cpu: 2, x: 3}}\n"),
    "a new key in an empty flow": ("r: {}\n", ["r", "x"], 3, "r: {x: 3}\n"),
    "a new key in a block": (
        "r:\n  a: 1 # one\n# end\nz: 1\n",
        ["r", "b"],
        2,
        "r:\n  a: 1 # one\n  b: 2\n# end\nz: 1\n",
    ),
    "several that are missing": (
        "c:\n- name: a\n- name: b\n",
        ["c", 0, "r", "l"],
        1,
        "c:\n- name: a\n  r: {l: 1}\n- name: b\n",
    ),
    "a key without a value": ("a:\nb: 1\n", ["a", "x"], 1, "a: {x: 1}\nb: 1\n"),
    "a block that is replaced": ("m:\n- n: 0\n- n: 1\nz: 1\n", ["m"], [{"n": 2}], "m: [{n: 2}]\nz: 1\n"),
    "without an end of line": ("a: 1", ["b"], 2, "a: 1\nb: 2"),
    "a key without a value in a flow": ("r: {cpu}\nz: 1\n", ["r", "cpu"], 2, "r: {cpu: 2}\nz: 1\n"),
    "JSON": ('{"a": {"b": 1}}', ["a", "b"], 2, '{"a": {"b": 2}}'),
}


@pytest.mark.parametrize("case", CASES)
def test_only_the_value_changes(case: str) -> None:
    text, path, value, wanted = CASES[case]
    assert with_value(text, 0, path, value) == wanted


def test_the_document_that_is_meant() -> None:
    assert with_value("# none\n---\na: 1\n---\na: 1\n", 1, ["a"], 2) == "# none\n---\na: 1\n---\na: 2\n"


@pytest.mark.parametrize(
    ("text", "path", "told"),
    [
        ("- 1\n", ["a"], "text: is no mapping, in which a could stand; mend the text"),
        ("a: 5\n", ["a", "b"], "a: is no mapping, in which b could stand; mend the text"),
        ("a: {b: []}\n", ["a", "b", "c"], "b: is no mapping, in which c could stand; mend the text"),
        ("a: [x]\n", ["a", 0, "c"], "0: is no mapping, in which c could stand; mend the text"),
    ],
)
def test_a_path_that_leads_into_something_else(text: str, path: list[str | int], told: str) -> None:
    with pytest.raises(UserError) as error:
        with_value(text, 0, path, 1)
    assert str(error.value) == told


def test_what_cannot_be_changed_in_place_is_written_anew() -> None:
    """A block text ends where nobody sees."""
    text = "a: |\n  one\n"
    [found] = load_all(with_value(text, 0, ["b"], 2), "t")
    assert found.value == {"a": "one\n", "b": 2}


@pytest.mark.parametrize(
    ("text", "path", "wanted"),
    [
        ("a: 1\nb: 2 # two\nc: 3\n", ["b"], "a: 1\nc: 3\n"),
        ("a: 1\nb:\n  c: 1\n  d: 2\n", ["b", "c"], "a: 1\nb:\n  d: 2\n"),
        ("a: 1\nb:\n  c: 1\n# end", ["b"], "a: 1\n# end"),
        ("a: 1\n", ["b", "c"], "a: 1\n"),
        ("a: {b: 1, c: 2}\n", ["a", "b"], "a: {c: 2}\n"),
        ("b:\n  c: 1\n", ["b", "c"], "b: {}\n"),
    ],
)
def test_a_key_is_taken_away(text: str, path: list[str], wanted: str) -> None:
    assert without(text, 0, path) == wanted


WORDS = st.text("ab:# -{}[],'\"\n0y", min_size=1, max_size=5)
VALUES = st.recursive(
    st.integers(-9, 99) | WORDS | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
)


@given(st.dictionaries(WORDS, VALUES, min_size=1, max_size=4), WORDS, VALUES)
def test_whatever_the_text_the_values_are_those_that_were_meant(table: dict[str, Any], key: str, value: Any) -> None:
    [found] = load_all(with_value(dumped([table]), 0, [key], value), "t")
    assert found.value == table | {key: value}
