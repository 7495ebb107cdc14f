"""JSON as people paste it: what can be read is read, what is mended or missing is said, the rest is one line."""

import json
from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.harness.intake.loose_json import DEEPEST, LooseJson, read_json
from tests.harness.intake.pasted import FORMS, ends, forms, is_value_or_line, prefixes, rubbish

WHOLE: dict[str, Any] = {"entries": {"uid": {"c": "0-3", "d": "4"}}, "list": [1, -2, 1.5, True, None], "text": 'a"b'}
TEXT = json.dumps(WHOLE)


def value(text: str) -> Any:
    read = read_json(text, "f")
    assert len(read.values) == 1
    return read.values[0]


def marks(read: LooseJson) -> list[tuple[Any, str]]:
    return [(one.keys, one.mark) for one in read.elided]


def refusal(text: str) -> str:
    with pytest.raises(UserError) as caught:
        read_json(text, "f")
    return str(caught.value)


@forms
def test_forms_that_lose_nothing(form: str) -> None:
    read = read_json(FORMS[form](TEXT), "f")
    assert read.values == (WHOLE,)
    assert (read.notes, read.is_whole) == ((), True)


MENDED = {
    "a comma is missing": ('{"a": 1\n"b": 2}', {"a": 1, "b": 2}, "f: a comma is missing"),
    "a key is there twice": ('{"a": 1, "a": 2}', {"a": 2}, "f: a is there twice; the last one counts"),
    "a text was wrapped": ('{"a": "0-3,\n8"}', {"a": "0-3,8"}, "f: a text that runs over lines is joined"),
    "the beginning is missing": (
        '"a": {"b": 1},\n"c": 2\n}',
        {"a": {"b": 1}, "c": 2},
        "f: the beginning is missing; read from its first key on",
    ),
    "a line before": (
        'this is what I see:\n{"a": 1}',
        {"a": 1},
        "f: 1 line that is not JSON is passed over, 'this is what I see:'",
    ),
    "lines after": (
        '{"a": 1}\nand then\nnothing',
        {"a": 1},
        "f: 2 lines that are not JSON are passed over, 'and then'",
    ),
}


@pytest.mark.parametrize("case", MENDED)
def test_what_is_mended_is_said(case: str) -> None:
    text, expected, note = MENDED[case]
    read = read_json(text, "f")
    assert read.values == (expected,)
    assert read.notes == (note,)
    assert read.elided == ()


ELIDED = {
    "a value": ('{"a": ..., "b": 1}', {"b": 1}, (("a",), "...")),
    "a value in quotes": ('{"a": "...", "b": 1}', {"b": 1}, (("a",), "...")),
    "members": ('{"a": {"b": 1, ...}}', {"a": {"b": 1}}, (("a",), "...")),
    "members on a line of their own": ('{"a": {\n"b": 1,\n…\n}}', {"a": {"b": 1}}, (("a",), "…")),
    "pods": ('{"a": {"b": 1,\n<2 more pods>\n}}', {"a": {"b": 1}}, (("a",), "<2 more pods>")),
    "a snip": ('{"a": {[snip]\n"b": 1}}', {"a": {"b": 1}}, (("a",), "[snip]")),
    "a snip with dashes": ('{"a": {\n-- snip --\n"b": 1}}', {"a": {"b": 1}}, (("a",), "-- snip --")),
    "elements": ('{"a": [1, 2, ...]}', {"a": [1, 2]}, (("a",), "...")),
    "elements in brackets": ('{"a": [1, [...], 2]}', {"a": [1, 2]}, (("a", 1), "[...]")),
    "a key": ('{"a": {"...", "b": 1}}', {"a": {"b": 1}}, (("a",), "...")),
    "before": ('...\n{"a": 1}', {"a": 1}, ((), "...")),
    "after": ('{"a": 1}\n[...]\n', {"a": 1}, ((), "[...]")),
}


@pytest.mark.parametrize("case", ELIDED)
def test_what_was_left_out_is_told_with_its_place(case: str) -> None:
    text, expected, mark = ELIDED[case]
    read = read_json(text, "f")
    assert read.values[0] == expected
    assert mark in marks(read)
    assert (read.is_whole, read.cut) == (False, False)


def test_a_text_that_ends_in_the_middle() -> None:
    read = read_json('{"a": {"b": "0-3", "c": "4-', "f")
    assert read.values == ({"a": {"b": "0-3"}},)
    assert read.notes == ("f: the text ends in the middle, in a.c; what follows is not known",)
    assert read.cut
    # A number or a word at the very end may have gone on.
    assert value('{"a": 1, "b": 12') == {"a": 1}
    assert value('{"a": 1, "b": tr') == {"a": 1}
    assert value('{"a": [1, 2') == {"a": [1]}


def test_several_documents() -> None:
    assert read_json('{"a": 1}{"b": 2}\n\n[3]', "f").values == ({"a": 1}, {"b": 2}, [3])


REFUSED = {
    "": "f: holds no JSON; give the file's content, such as {...}",
    "no such file or directory": "f: holds no JSON; give the file's content, such as {...}",
    '{"a": 1,\n"b" 2}': "f:2: is not JSON: a colon was expected, not '2}'; mend it",
    '{"a": nothing}': "f:1: is not JSON: a value was expected, not 'nothing}'; mend it",
    '{"a": 1,\n\nb: 2}': "f:3: is not JSON: a key in double quotes was expected, not 'b: 2}'; mend it",
    '{"a": "\\x"}': "f:1: is not JSON: a text in double quotes was expected, not '\"\\\\x\"}'; mend it",
    '{"a": ' + "9" * 50 + ",}": "f:1: is not JSON: a value was expected, not '999999999999999999999999999999'; mend it",
    '{"a":' * 65 + "1" + "}" * 65: "f: is nested too deeply; 64 levels are the most",
    "[" * 100 + "]" * 100: "f: is nested too deeply; 64 levels are the most",
    "{}" * 1001: "f: holds more than 1000 documents; give those that matter",
    '{"a": [' + "...," * 10_001: "f: something is elided in more than 10000 places; give the file whole",
    "\n" * (1 << 21): "f: has more than 1048576 lines; give the part that matters",
    "#" * ((16 << 20) + 1): "f: is larger than 16 MiB; give the part that matters",
}


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_cannot_be_read_is_one_line(number: int) -> None:
    text, expected = list(REFUSED.items())[number]
    assert refusal(text) == expected


def test_the_deepest_that_is_read() -> None:
    assert value('{"a":' * DEEPEST + "1" + "}" * DEEPEST)


@forms
def test_every_prefix_is_a_value_or_one_line(form: str) -> None:
    for text in prefixes(FORMS[form](TEXT)):
        is_value_or_line(read_json, text)


@rubbish
def test_rubbish_ends(unit: str) -> None:
    ends(read_json, unit)
