"""A mapping of a YAML file, read key by key: what is wrong or unknown is told with file, line, key and remedy."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.scenario.size_words import check_size


class Fields:
    """A closed mapping at a position of a file; a key that is not known is refused at once."""

    def __init__(self, value: Any, where: Where, known: tuple[str, ...]) -> None:
        if not isinstance(value, Mapping):
            raise UserError(f"{where}: {value!r} is not a mapping; give some of: {', '.join(known)}")
        for key in value:
            if key not in known:
                raise UserError(f"{where.at(key)}: unknown key; known: {', '.join(known)}")
        self._value = value
        self.where = where

    def __contains__(self, key: str) -> bool:
        return key in self._value

    def at(self, key: str) -> Where:
        """The position of a key, for messages."""
        return self.where.at(key)

    def raw(self, key: str, default: Any = None) -> Any:
        """Whatever stands there."""
        return self._value.get(key, default)

    def text(self, key: str, default: str | None = None) -> str:
        """A non-empty text or a number, as a text."""
        value = self._value.get(key, default)
        if value is None and key not in self:
            raise UserError(f"{self.at(key)}: is missing; write a text")
        if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip():
            raise UserError(f"{self.at(key)}: {value!r} is not a text; write one")
        return str(value).strip()

    def number(self, key: str, default: int) -> int:
        """A whole number, not negative."""
        value = self._value.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise UserError(f"{self.at(key)}: {value!r} is not a whole number of 0 or more; write one")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """true or false."""
        value = self._value.get(key, default)
        if not isinstance(value, bool):
            raise UserError(f"{self.at(key)}: {value!r} is neither true nor false; write one of them")
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
        if least and key not in self:
            raise UserError(f"{self.at(key)}: is missing; write a list of at least {least}")
        if not isinstance(value, list) or len(value) < least:
            raise UserError(f"{self.at(key)}: {value!r} is not a list of at least {least}; write [...]")
        return value

    def mapping(self, key: str) -> Mapping[str, Any]:
        """A mapping with keys of the user's own."""
        value = self._value.get(key, {})
        if not isinstance(value, Mapping):
            raise UserError(f"{self.at(key)}: {value!r} is not a mapping; write {{...}}")
        return value

    def path(self, key: str) -> Path:
        """A file that is named relative to this one."""
        return Path(self.where.file).parent / self.text(key)

    def sizes(self, key: str) -> dict[str, str]:
        """Sizes by resource."""
        where = self.at(key)
        return {name: check_size(size, where.at(name)) for name, size in self.mapping(key).items()}
