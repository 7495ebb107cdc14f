"""Whether a text is a size, before any machine is known: sizes.py works it out later."""

import re
from functools import cache
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs import parse_machine
from numaproof.fake_sysfs.forms import Form
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.pods.quantity import MOST, QUANTITY, parse_quantity
from numaproof.harness.scenario.sizes import RELATIVE, Sizes, sizes_of

SIZE_WORD = re.compile(r"\$\{([^{}]*)\}")

# What the checks below take. They tell what is wrong with a text in words of their own: its pattern stands in allOf,
# which is for editors alone.
_NUMBER = r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*"
_WHOLE = r"\s*[+-]?[0-9]+(?:\.0*)?\s*"


def _relative_or(pattern: str, **more: Any) -> Form:
    return Form({"type": ["number", "string"], "allOf": [{"pattern": f"^(?:{pattern}|{RELATIVE.pattern})$"}], **more})


SIZE = _relative_or(QUANTITY.pattern, maximum=MOST, examples=[2, "500m", "1Gi", "half numa.cpus", "numa.cpus + 1"])
NUMBER = _relative_or(_NUMBER)
COUNT = _relative_or(_WHOLE, multipleOf=1, examples=[2, "numa.cpus", "half numa.cpus"])


def check_size(value: Any, where: Where | str) -> str:
    """A size as a text; a UserError if it is neither a quantity nor relative to a machine by a name that all have."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise UserError(f"{where}: {value!r} is not a size; write 2, 500m, 1Gi, or a size such as numa.cpus")
    text = str(value)
    if _any_sizes().resolve(text, str(where)) == text:  # not relative
        try:
            parse_quantity(text)
        except UserError as error:
            raise UserError(f"{where}: {error}") from None
    return text


def check_filled(text: str, where: Where) -> str:
    """A text in which every `${size}` is one."""
    for word in SIZE_WORD.findall(text):
        check_size(word, where)
    return text


def check_count(value: Any, where: Where) -> str:
    """A size as a text that is a whole number on every machine."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise UserError(f"{where}: {value!r} is not a count; write a whole number, or a size such as numa.cpus")
    _any_sizes().count(str(value), str(where))
    return str(value)


def check_number(value: Any, where: Where) -> str:
    """A size as a text that is a number on every machine."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise UserError(f"{where}: {value!r} is not a number; write one, or a size such as numa.cpus")
    _any_sizes().number(str(value), str(where))
    return str(value)


@cache
def _any_sizes() -> Sizes:
    """The sizes of some machine: their names are those of every machine."""
    return sizes_of(parse_machine("pack:2 [numa] core:8 pu:2"), memory_static=False)
