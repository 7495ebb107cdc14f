"""What a value of a file may be, in words of JSON Schema: readers judge by them, and editors are told the same.

A reader keeps its own messages, and what no form can tell (that a name was given before, that a range runs forwards).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Words = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """What a value may be: words of JSON Schema, in which a form may stand wherever a schema may."""

    words: Words

    def fits(self, value: object) -> bool:
        """Whether a value is of this form, by the words that `_TESTS` has; others are for editors alone."""
        return all(_TESTS[word](wanted, value) for word, wanted in self.words.items() if word in _TESTS)

    def item(self) -> "Form":
        """The form of the elements of a list, or of the values of a mapping with free keys."""
        form = self.words.get("items", self.words.get("additionalProperties"))
        return form.given() if isinstance(form, Later) else form if isinstance(form, Form) else ANYTHING


@dataclass(frozen=True, slots=True, eq=False)
class Later:
    """A form that holds itself: told when it is asked for."""

    given: Callable[[], Form]


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """A key of a mapping: what may stand there, and what it says."""

    form: Form
    about: str
    required: bool = False
    default: Any = None  # None: there is none, or it depends on other keys


@dataclass(frozen=True, slots=True, eq=False)
class Shape(Form):
    """A mapping whose keys are known; `rules` say which of them go together, in words of JSON Schema."""

    name: str = ""
    keys: Mapping[str, Key] = field(default_factory=dict)
    rules: tuple[Words, ...] = ()

    def fits(self, value: object) -> bool:
        """Whether a value is a mapping with known keys, each of its form; the rules are for the reader to tell."""
        return isinstance(value, Mapping) and value.keys() <= self.keys.keys() and Form.fits(self, value)


def shape(name: str, about: str, keys: Mapping[str, Key], *rules: Words) -> Shape:
    """A closed mapping, under the name by which a schema tells it once."""
    words = {
        "description": about,
        "type": "object",
        "properties": {name: key.form for name, key in keys.items()},
        "required": [name for name, key in keys.items() if key.required],
        "additionalProperties": False,
        **({"allOf": list(rules)} if rules else {}),
    }
    return Shape(words, name, keys, rules)


def one_of(words: Sequence[str]) -> Form:
    """One of several words."""
    return Form({"enum": list(words)})


def matching(pattern: re.Pattern[str], *, types: Sequence[str] = ("string",), **more: Any) -> Form:
    """A text that the whole of a pattern matches, or a value of another type."""
    return Form({"type": _single(types), "pattern": f"^(?:{pattern.pattern})$", **more})


def _single(types: Sequence[str]) -> str | list[str]:
    return types[0] if len(types) == 1 else list(types)


def list_of(form: Form | Later, least: int = 0, **more: Any) -> Form:
    """A list of values of one form."""
    return Form({"type": "array", **({"minItems": least} if least else {}), "items": form, **more})


def mapping_of(form: Form, **more: Any) -> Form:
    """A mapping with keys of the user's own."""
    return Form({"type": "object", "additionalProperties": form, **more})


def any_of(*forms: Form | Later) -> Form:
    """A value of one of several forms."""
    return Form({"anyOf": list(forms)})


def exactly_one(keys: Sequence[str]) -> Words:
    """A rule: one of these keys is there, and no other of them."""
    return {"oneOf": [{"required": [key]} for key in keys]}


def at_least_one(keys: Sequence[str]) -> Words:
    """A rule: some of these keys are there."""
    return {"anyOf": [{"required": [key]} for key in keys]}


def one_set_of(sets: Sequence[Sequence[str]]) -> Words:
    """A rule: of all these keys exactly those of one set are there."""
    every = dict.fromkeys(key for keys in sets for key in keys)
    return {
        "oneOf": [
            {"required": list(keys), "properties": {key: False for key in every if key not in keys}} for keys in sets
        ]
    }


def not_beside(key: str, others: Sequence[str]) -> Words:
    """A rule: where this key is, none of the others are."""
    return {"dependentSchemas": {key: {"properties": dict.fromkeys(others, False)}}}


_TYPES: Mapping[str, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, Mapping),
}


def _is_of(form: Form | Later, value: object) -> bool:
    return (form.given() if isinstance(form, Later) else form).fits(value)


def _same(known: object, value: object) -> bool:
    """Equality as JSON has it: true is not 1."""
    return type(known) is type(value) and known == value


# Word -> whether a value of any type does what the word demands; as in JSON Schema it speaks of its own type alone.
_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "type": lambda types, value: any(_TYPES[one](value) for one in ([types] if isinstance(types, str) else types)),
    "enum": lambda known, value: any(_same(one, value) for one in known),
    "pattern": lambda pattern, value: not isinstance(value, str) or re.search(pattern, value) is not None,
    "minLength": lambda least, value: not isinstance(value, str) or len(value) >= least,
    "minimum": lambda least, value: not _TYPES["number"](value) or value >= least,
    "minItems": lambda least, value: not isinstance(value, list) or len(value) >= least,
    "maxItems": lambda most, value: not isinstance(value, list) or len(value) <= most,
    "items": lambda form, value: not isinstance(value, list) or all(_is_of(form, one) for one in value),
    "minProperties": lambda least, value: not isinstance(value, Mapping) or len(value) >= least,
    "maxProperties": lambda most, value: not isinstance(value, Mapping) or len(value) <= most,
    "required": lambda keys, value: not isinstance(value, Mapping) or all(key in value for key in keys),
    "properties": lambda forms, value: (
        not isinstance(value, Mapping) or all(_is_of(forms[key], one) for key, one in value.items() if key in forms)
    ),
    "additionalProperties": lambda form, value: (  # of mappings with keys of the user's own alone
        form is False or not isinstance(value, Mapping) or all(_is_of(form, one) for one in value.values())
    ),
    "anyOf": lambda forms, value: any(_is_of(form, value) for form in forms),
}

ANYTHING = Form({})
TRUTH = Form({"type": "boolean"})
