"""The reference of the public Python names, from their docstrings."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Any

import numaproof
from docs_pages.comments import field_comments
from docs_pages.markdown import cell, prose

_MODULES = re.compile(r"\b(?:numaproof|collections|fractions|typing|pathlib)\.(?:[a-z_]\w*\.)*")
_HEAD = """# The Python API

Every name of `numaproof.__all__`, from its docstring; what is not here may move. [As a library](../library.md) teaches
them. `import numaproof` loads nothing: each name is loaded when it is asked for.
"""


def page() -> str:
    """Each public name: what it is, how it is called, what it has."""
    names = [name for name in numaproof.__all__ if not name.startswith("__")]
    return "\n".join([_HEAD, *(line for name in names for line in _entry(name, getattr(numaproof, name)))])


def _entry(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, ModuleType):
        yield f"## {name}\n\nThe generated module `{value.__name__}`: see [gRPC interfaces](interfaces.md).\n"
    elif hasattr(value, "__origin__"):
        yield f"## {name}\n\nA type: `{_plain(value)}`.\n"
    elif inspect.isclass(value):
        yield f"## {name}\n\n{_signature(name, value)}{_doc(value)}\n"
        yield from _members(value)
    elif callable(value):
        yield f"## {name}\n\n{_signature(name, value)}{_doc(value)}\n"
    elif isinstance(value, tuple):
        kind = type(value[0]).__name__
        yield f"## {name}\n\nA tuple of {len(value)} `{kind}`: see [conformance checks](conformance.md).\n"
    else:
        yield f"## {name}\n\n`{value!r}`\n"


def _signature(name: str, value: Any) -> str:
    """How it is called, on several lines where one is too long; nothing of what is not called."""
    if inspect.isclass(value) and (issubclass(value, Exception) or getattr(value, "_is_protocol", False)):
        return ""
    try:
        signature = inspect.signature(value)
    except ValueError:
        return ""
    text = f"{name}{_plain(signature)}"
    if len(text) > 100:
        inner = ",\n    ".join(_plain(one) for one in signature.parameters.values())
        back = "" if signature.return_annotation is inspect.Signature.empty else _plain(signature).rpartition(")")[2]
        text = f"{name}(\n    {inner},\n){back}"
    return f"```python\n{text}\n```\n\n"


def _plain(part: object) -> str:
    """An annotation as one reads it: names without the modules that they live in."""
    return _MODULES.sub("", str(part))


def _doc(value: Any) -> str:
    return _written(inspect.getdoc(value) or "")


def _written(doc: str) -> str:
    """A docstring as paragraphs; what is indented is an example."""
    return "\n\n".join(
        f"```text\n{part}\n```" if part.startswith(("    ", "- ")) and ":" in part else prose(part)
        for part in doc.split("\n\n")
    )


def _members(value: type) -> Iterator[str]:
    """The fields of a dataclass, then the methods and properties of any class, of its own or inherited from ours."""
    if is_dataclass(value):
        said = field_comments(value)
        rows = (
            f"| `{one.name}` | `{_type(one.type)}` | {cell(said.get(one.name, ''))} |"
            for one in fields(value)
            if not one.name.startswith("_")
        )
        yield "\n".join(["| Field | Type | |", "|---|---|---|", *rows, ""])
    lines = []
    for name, member in inspect.getmembers(value):
        static = inspect.getattr_static(value, name)
        if name.startswith("_") or not (inspect.isfunction(member) or isinstance(static, property | classmethod)):
            continue
        doc = " ".join((inspect.getdoc(member) or "").split("\n\n")[0].split())
        call = name if isinstance(static, property) else f"{name}{_plain(inspect.signature(member))}"
        if doc and not (issubclass(value, Exception) and name in dir(Exception)):
            lines.append(f"| `{call.replace('|', chr(92) + '|')}` | {cell(doc)} |")
    if lines:
        yield "\n".join(["| Method or property | |", "|---|---|", *lines, ""])


def _type(kind: Any) -> str:
    text = kind.__name__ if isinstance(kind, type) and not hasattr(kind, "__args__") else _plain(kind)
    return text.replace("|", "\\|")
