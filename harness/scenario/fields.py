"""A mapping of a YAML file, read key by key: what is wrong or unknown is told with file, key and remedy."""

from collections.abc import Mapping
from typing import Any

from numaproof.harness.errors import UserError


class Words:
    """A closed mapping at a place of a file; every key that is not taken is an error in the end."""

    def __init__(self, value: Any, place: str, known: tuple[str, ...]) -> None:
        if not isinstance(value, Mapping):
            raise UserError(f"{place}: {value!r} is no mapping; give some of: {', '.join(known)}")
        for key in value:
            if key not in known:
                raise UserError(f"{place}: unknown key {key!r}; known: {', '.join(known)}")
        self._value = value
        self.place = place

    def __contains__(self, key: str) -> bool:
        return key in self._value

    def at(self, key: str) -> str:
        """The place of a key, for messages."""
        return f"{self.place}.{key}" if "[" in self.place or self.place.count(": ") else f"{self.place}: {key}"

    def raw(self, key: str, default: Any = None) -> Any:
        """Whatever stands there."""
        return self._value.get(key, default)

    def text(self, key: str, default: str | None = None) -> str:
        """A non-empty text or a number, as a text."""
        value = self._value.get(key, default)
        if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip():
            raise UserError(f"{self.at(key)}: {value!r} is no text; write one")
        return str(value).strip()

    def number(self, key: str, default: int) -> int:
        """A whole number, not negative."""
        value = self._value.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise UserError(f"{self.at(key)}: {value!r} is no whole number >= 0")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """true or false."""
        value = self._value.get(key, default)
        if not isinstance(value, bool):
            raise UserError(f"{self.at(key)}: {value!r} is neither true nor false")
        return value

    def choice(self, key: str, choices: tuple[str, ...], default: str | None = None) -> str:
        """One of several words."""
        value = self._value.get(key, default)
        if value not in choices:
            raise UserError(f"{self.at(key)}: {value!r} is not known; take one of: {', '.join(choices)}")
        return str(value)

    def items(self, key: str, *, least: int = 0) -> list[Any]:
        """A list."""
        value = self._value.get(key, [])
        if not isinstance(value, list) or len(value) < least:
            raise UserError(f"{self.at(key)}: {value!r} is no list of at least {least}")
        return value

    def mapping(self, key: str) -> Mapping[str, Any]:
        """A mapping of texts to whatever."""
        value = self._value.get(key, {})
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            raise UserError(f"{self.at(key)}: {value!r} is no mapping")
        return value
