"""YAML in which nothing is lost silently."""

import pytest
import yaml

from numaproof.harness.scenario.strict_yaml import load


def test_it_is_yaml() -> None:
    text = "a: {b: [1, x, null]}\nbase: &base {c: 1, d: 2}\nmerged: {<<: *base, c: 3}\n"
    assert load(text) == {"a": {"b": [1, "x", None]}, "base": {"c": 1, "d": 2}, "merged": {"c": 3, "d": 2}}


@pytest.mark.parametrize(
    "text", ["a: 1\nb: 2\na: 3\n", "- {x: {a: 1, a: 1}}\n", "{a: &y {b: 1}, c: {<<: *y, d: 1, d: 2}}"]
)
def test_a_key_that_repeats_is_told_with_its_line(text: str) -> None:
    with pytest.raises(yaml.YAMLError, match=r"(?s)the key \w repeats.*line \d"):
        load(text)


def test_what_is_nested_too_deep_is_no_yaml() -> None:
    with pytest.raises(yaml.YAMLError, match="nested too deep"):
        load("[" * 5000 + "]" * 5000)


def test_no_objects_are_made() -> None:
    with pytest.raises(yaml.YAMLError, match="could not determine a constructor"):
        load("!!python/object/apply:os.getcwd []")
