"""YAML as editors read it: scalars by the core schema of YAML 1.2, keys as text; what a JSON Schema then judges."""

import math
import re
from typing import Any

import yaml

_NULL = re.compile(r"~|null|Null|NULL|")
_TRUTH = re.compile(r"true|True|TRUE|false|False|FALSE")
_WHOLE = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


def load(text: str) -> Any:
    """The value of a text."""
    return _value(yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


def _value(node: Any) -> Any:
    if isinstance(node, yaml.MappingNode):
        return {key.value: _value(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_value(one) for one in node.value]
    return node.value if node.style in ("'", '"', "|", ">") else _scalar(node.value)


def _scalar(text: str) -> Any:
    if _NULL.fullmatch(text):
        return None
    if _TRUTH.fullmatch(text):
        return text.lower() == "true"
    if _WHOLE.fullmatch(text):
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if _NUMBER.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else text
    return text
