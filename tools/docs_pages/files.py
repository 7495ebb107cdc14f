"""The reference of the files that people write, from the schemas that editors have, too."""

import inspect
from collections.abc import Iterator, Mapping
from textwrap import dedent
from typing import Any

from docs_pages.markdown import cell, prose
from numaproof.harness.commands.editor_schema import KINDS, schema_of
from numaproof.harness.scenario.steps import kinds as steps
from numaproof.harness.scenario.steps.action import Action

_TITLES = {"scenario": "Scenarios", "machine": "Machines", "check": "Check files", "costs": "Costs"}


def page(kind: str) -> str:
    """Every key of a kind of file, mapping by mapping; of scenarios each step with an example, too."""
    schema = schema_of(kind)
    about = prose(schema["description"].partition(" docs/")[0])
    guide = KINDS[kind][1].removeprefix("docs/")
    parts = [
        f"# {_TITLES[kind]}: every key\n",
        f"{about} [The guide](../{guide}) teaches it; here nothing is left out.",
        f"`numaproof schema {kind}` prints the same for editors.\n",
    ]
    if kind == "scenario":
        parts += ["## Steps, by example\n", *(_step(name, step) for name, step in steps.KINDS.items())]
    parts += ["## The file\n", *_mapping(schema)]
    for name, inner in schema.get("$defs", {}).items():
        parts += [f"## {name} {{ #{_anchor(name)} }}\n", f"{prose(inner.get('description', ''))}\n", *_mapping(inner)]
    return "\n".join(parts)


def _step(name: str, kind: type[Action]) -> str:
    """What its docstring says in a sentence, and its example."""
    summary, _, example = (inspect.getdoc(kind) or "").partition("\n")
    return f"### {name}\n\n{summary}\n\n```yaml\n{dedent(example).strip()}\n```\n"


def _mapping(schema: Mapping[str, Any]) -> Iterator[str]:
    """The keys of a mapping, or what its free keys lead to."""
    properties = schema.get("properties")
    if not properties:
        free = schema.get("additionalProperties")
        yield f"{_mark(_kind(schema if not isinstance(free, Mapping) else {'type': 'object', **schema}))}\n"
        return
    required = schema.get("required", ())
    yield "| Key | Value | What it says |\n|---|---|---|"
    for key, inner in properties.items():
        said = [inner.get("description", "")]
        if key in required:
            said.append("Required.")
        if "default" in inner:
            said.append(f"Default: `{_yaml(inner['default'])}`.")
        yield f"| `{key}` | {_mark(_kind(inner))} | {cell(' '.join(filter(None, said)))} |"
    yield ""


def _kind(schema: Mapping[str, Any]) -> str:
    """What a value may be, in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{_anchor(name)})"
    if "enum" in schema:
        return " or ".join(f"`{_yaml(one)}`" for one in schema["enum"])
    if "const" in schema:
        return f"`{_yaml(schema['const'])}`"
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return "; or ".join(dict.fromkeys(_kind(one) for one in schema[several]))
    kinds = schema.get("type", ())
    words = [_plain(one, schema) for one in ([kinds] if isinstance(kinds, str) else kinds)]
    return " or ".join(words) or "anything"


def _plain(kind: str, schema: Mapping[str, Any]) -> str:
    items, free = schema.get("items"), schema.get("additionalProperties")
    if kind == "array" and isinstance(items, Mapping):
        return f"a list: {_kind(items)}"
    if kind == "object" and isinstance(free, Mapping):
        return f"a mapping to: {_kind(free)}"
    names = {"string": "text", "integer": "whole number", "boolean": "true or false", "object": "a mapping"}
    return {**names, "array": "a list", "number": "number", "null": "null"}[kind]


def _mark(text: str) -> str:
    return text.replace("|", "\\|")


def _yaml(value: object) -> str:
    words = {True: "true", False: "false", None: "null"}
    return words[value] if value is None or isinstance(value, bool) else str(value)


def _anchor(name: str) -> str:
    return f"key-{name.lower()}"
