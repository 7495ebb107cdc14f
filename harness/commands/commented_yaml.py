"""YAML with a comment above each key: what its form says of it."""

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from numaproof.fake_sysfs.forms import Form, Later, Shape

_WIDTH = 110
_NOTHING: Mapping[str, Any] = {}


def commented(value: Mapping[str, Any], shape: Form, more: Mapping[str, Any] | None = None) -> str:
    """A mapping as YAML; each key of a closed mapping is told of where it stands first.

    What `more` has beside the mapping's own keys is written, too, without effect: behind a # that no space follows.
    """
    return "".join(f"{line}\n" for line in _Writing().mapping(value, shape, 0, more or {}))


class _Writing:
    """What has been told already is not told again."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def mapping(
        self, value: Mapping[str, Any], form: Form, depth: int, more: Mapping[str, Any] = _NOTHING
    ) -> Iterator[str]:
        """The lines of a mapping, and of what else could stand in it."""
        indent = "  " * depth
        for key, item in value.items():
            if isinstance(form, Shape):
                yield from self._comment(form, key, depth)
            inner = _alternative(form.keys[key].form if isinstance(form, Shape) else _form_at(form, key), item)
            if _is_small(item) and not self._has_news(item, inner):
                yield f"{indent}{_flow(key)}: {_flow(item)}"
            else:
                yield f"{indent}{_flow(key)}:"
                if isinstance(item, Mapping):
                    yield from self.mapping(item, inner, depth + 1, more.get(key, _NOTHING))
                else:
                    yield from self._list(item, inner, depth + 1)
        for key, item in more.items():
            if key not in value:
                yield from self._without_effect(key, item, form, depth)

    def _without_effect(self, key: str, item: Any, form: Form, depth: int) -> Iterator[str]:
        indent = "  " * depth
        lines = [*self.mapping({key: item}, form, depth)]
        start = next(number for number, line in enumerate(lines) if line and not line.lstrip().startswith("#"))
        yield from lines[:start]
        yield from (f"{indent}#{line.removeprefix(indent)}" for line in lines[start:])

    def _list(self, value: list[Any], form: Form, depth: int) -> Iterator[str]:
        for item in value:
            inner = _alternative(form.item(), item)
            lines = (
                [*self.mapping(item, inner, depth + 1)]
                if isinstance(item, Mapping) and isinstance(inner, Shape)
                else [f"{'  ' * (depth + 1)}{_flow(item)}"]
            )
            first = next(number for number, line in enumerate(lines) if not line.lstrip().startswith("#"))
            yield from (line[2:] for line in lines[:first])  # a comment stands above the dash
            yield f"{'  ' * depth}- {lines[first].lstrip()}"
            yield from lines[first + 1 :]

    def _has_news(self, value: Any, form: Form) -> bool:
        """Whether a mapping has keys that were not told of: they need lines of their own."""
        return (
            isinstance(value, Mapping)
            and isinstance(form, Shape)
            and any((form.name, key) not in self._told for key in value)
        )

    def _comment(self, shape: Shape, key: str, depth: int) -> Iterator[str]:
        if (shape.name, key) in self._told:
            return
        self._told.add((shape.name, key))
        if depth == 0:
            yield ""
        indent = "  " * depth
        yield from textwrap.wrap(
            shape.keys[key].about,
            _WIDTH,
            initial_indent=f"{indent}# ",
            subsequent_indent=f"{indent}# ",
            break_on_hyphens=False,
            break_long_words=False,
        )


def _form_at(form: Form, key: str) -> Form:
    found = form.words.get("properties", {}).get(key)
    return found if isinstance(found, Form) else form.item()


def _alternative(form: Form, value: Any) -> Form:
    """Of several forms the one that a value has."""
    for one in form.words.get("anyOf", ()):
        chosen = one.given() if isinstance(one, Later) else one
        if isinstance(chosen, Form) and chosen.fits(value):
            return chosen
    return form


def _is_small(value: Any) -> bool:
    """Whether a value stands in one line: scalars, short lists and mappings of them."""
    if isinstance(value, Mapping | list):
        inside = value.values() if isinstance(value, Mapping) else value
        return not any(isinstance(one, Mapping | list) for one in inside) and len(_flow(value)) <= 80
    return True


def _flow(value: Any) -> str:
    text: str = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...")
