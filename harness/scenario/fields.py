"""A mapping of a YAML file, read key by key: what is wrong or unknown is told with file, line, key and remedy."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs.forms import Form, Later, Shape
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.scenario.size_words import check_size
from numaproof.near import did_you_mean

# What the getters below take, each by its name.
TEXT = Form({"type": ["string", "number"], "pattern": r"\S"})
WHOLE = Form({"type": "integer", "minimum": 0})

_AS_IN_YAML: Mapping[object, str] = {None: "null", True: "true", False: "false"}


def shown(value: object) -> str:
    """A value for messages: null, true and false as YAML has them."""
    return _AS_IN_YAML.get(value, repr(value)) if value is None or isinstance(value, bool) else repr(value)


class Fields:
    """A closed mapping at a position of a file; a key that is not known is refused at once.

    What a value may be, and what stands in for it, its shape says: it is what editors are told, too.
    """

    def __init__(self, value: Any, where: Where, shape: Form | Later) -> None:
        known = shape.given() if isinstance(shape, Later) else shape
        if not isinstance(known, Shape):
            raise TypeError(f"{where}: its form has no keys")
        self._keys = known.keys
        if not isinstance(value, Mapping):
            raise UserError(f"{where}: {shown(value)} is not a mapping; give some of: {', '.join(self._keys)}")
        for key in value:
            if key not in self._keys:
                told = f"unknown key; known: {', '.join(self._keys)}{did_you_mean(key, self._keys)}"
                raise UserError(f"{where.at(key)}: {told}")
        self._value = value
        self.where = where

    def __contains__(self, key: str) -> bool:
        return key in self._value

    def at(self, key: str) -> Where:
        """The position of a key, for messages."""
        return self.where.at(key)

    def raw(self, key: str) -> Any:
        """Whatever stands there."""
        return self._value.get(key, self._keys[key].default)

    def form(self, key: str) -> Form:
        """What may stand there."""
        return self._keys[key].form

    def fits(self, key: str) -> bool:
        """Whether what stands there is of the form that its key has."""
        return self._keys[key].form.fits(self.raw(key))

    def text(self, key: str) -> str:
        """A non-empty text or a number, as a text."""
        value = self.raw(key)
        if value is None and key not in self:
            raise UserError(f"{self.at(key)}: is missing; write a text")
        if not self.fits(key):
            raise UserError(f"{self.at(key)}: {shown(value)} is not a text; write one")
        return str(value).strip()

    def number(self, key: str) -> int:
        """A whole number, not negative."""
        if not self.fits(key):
            raise UserError(f"{self.at(key)}: {shown(self.raw(key))} is not a whole number of 0 or more; write one")
        return int(self.raw(key))

    def flag(self, key: str) -> bool:
        """true or false."""
        if not self.fits(key):
            raise UserError(f"{self.at(key)}: {shown(self.raw(key))} is neither true nor false; write one of them")
        return bool(self.raw(key))

    def choice(self, key: str) -> str:
        """One of several words."""
        if not self.fits(key):
            choices = self._keys[key].form.words["enum"]
            # Without quotes YAML has `no` as false, and nobody sees why it is not known.
            quoted = {"no": '"no" (in quotes, else it is false)'} if self.raw(key) is False else {}
            known = f"{', '.join(quoted.get(one, one) for one in choices)}{did_you_mean(self.raw(key), choices)}"
            raise UserError(f"{self.at(key)}: {shown(self.raw(key))} is not known; take one of: {known}")
        return str(self.raw(key))

    def items(self, key: str) -> list[Any]:
        """A list."""
        least = self._keys[key].form.words.get("minItems", 0)
        value = self._value.get(key, [])
        if least and key not in self:
            raise UserError(f"{self.at(key)}: is missing; write a list of at least {least}")
        if not isinstance(value, list) or len(value) < least:
            wanted = f"a list of at least {least}" if least else "a list"
            raise UserError(f"{self.at(key)}: {shown(value)} is not {wanted}; write [...]")
        return value

    def each(self, key: str) -> Iterator["Fields"]:
        """The elements of a list of mappings."""
        shape = self._keys[key].form.item()
        for i, item in enumerate(self.items(key)):
            yield Fields(item, self.at(key).at(i), shape)

    def inner(self, key: str) -> "Fields":
        """The mapping that stands there; an empty one, if none does."""
        return Fields(self._value.get(key, {}), self.at(key), self._keys[key].form)

    def mapping(self, key: str) -> Mapping[str, Any]:
        """A mapping with keys of the user's own."""
        value = self._value.get(key, {})
        if not isinstance(value, Mapping):
            raise UserError(f"{self.at(key)}: {shown(value)} is not a mapping; write {{...}}")
        return value

    def entries(self, key: str) -> Iterator[tuple[str, "Fields"]]:
        """The entries of a mapping with keys of the user's own, each of which is a mapping."""
        shape = self._keys[key].form.item()
        for name, item in self.mapping(key).items():
            yield name, Fields(item, self.at(key).at(name), shape)

    def path(self, key: str) -> Path:
        """A file that is named relative to this one."""
        return Path(self.where.file).parent / self.text(key)

    def sizes(self, key: str) -> dict[str, str]:
        """Sizes by resource."""
        where = self.at(key)
        return {name: check_size(size, where.at(name)) for name, size in self.mapping(key).items()}
