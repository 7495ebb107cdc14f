"""The reference of the gRPC interfaces, from what the .proto files say."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from docs_pages.markdown import cell, prose

_HEAD = """# gRPC interfaces

The services that the reference node, the fake plugins and the conformance suite speak, from the comments of the .proto
files in `harness/api/`. On the wire the kubelet's own services have the kubelet's paths and field numbers.
"""
_FILES = (
    "deviceplugin_v1beta1",
    "pluginregistration_v1",
    "podresources_v1",
    "preferredallocations_draft",
    "numaproof_v1",
)
_OPENS = re.compile(r"(service|message|enum) (\w+) \{(\})?$")
_RPC = re.compile(r"rpc (\w+)\((stream )?([\w.]+)\) returns \((stream )?([\w.]+)\)")
_FIELD = re.compile(r"((?:repeated |optional )?(?:map<[^>]+>|[\w.]+)) (\w+) = (\d+)")
_VALUE = re.compile(r"(\w+) = (\d+)")


@dataclass(slots=True)
class _Block:
    """A service, a message or an enum."""

    kind: str
    name: str
    said: str
    rows: list[tuple[str, ...]] = field(default_factory=list)  # what it is called, its type or number, what is said


def page(repository: Path) -> str:
    """Every service with its calls, every message with its fields."""
    parts = [_HEAD]
    for name in _FILES:
        parts += _file(repository / f"harness/api/{name}.proto")
    return "\n".join(parts)


def _file(path: Path) -> Iterator[str]:
    text = path.read_text()
    package = re.search(r"^package ([\w.]+);", text, re.MULTILINE)
    assert package, path
    head = " ".join(line.lstrip("/ ") for line in text.partition("syntax")[0].splitlines())
    yield f"## {path.name}\n\n{prose(head)}\n\nPackage `{package[1]}`, in `harness/api/{path.name}`.\n"
    blocks = list(_blocks(text.partition(package[0])[2]))
    names = {block.name for block in blocks}
    for block in sorted(blocks, key=lambda one: one.kind != "service"):
        yield f"### {block.kind} {block.name} {{ #{_anchor(package[1], block.name)} }}\n"
        if block.said:
            yield f"{prose(block.said)}\n"
        heads = {"service": ("Call", "Takes, and answers"), "enum": ("Value", "Number")}
        first, second = heads.get(block.kind, ("Field", "Type"))
        if block.rows:
            yield f"| {first} | {second} | |\n|---|---|---|"
            for name, kind, said in block.rows:
                yield f"| `{name}` | {_linked(kind, names, package[1])} | {cell(said)} |"
            yield ""


def _blocks(text: str) -> Iterator[_Block]:
    """What a file declares, one after the other, each with the comment above it."""
    said: list[str] = []
    block: _Block | None = None
    for line in map(str.strip, text.splitlines()):
        code, _, comment = line.partition("//")
        code = code.strip()
        if not code:
            said = [*said, comment.strip()] if comment else []
            continue
        told = " ".join([*said, comment.strip()] if comment else said)
        said = []
        if opened := _OPENS.match(code):
            block = _Block(opened[1], opened[2], told)
            if opened[3]:
                yield block
        elif code == "}":
            assert block is not None, line
            yield block
        elif block is not None and not code.startswith("reserved "):
            block.rows.append((*_row(block.kind, code), told))


def _row(kind: str, code: str) -> tuple[str, str]:
    if kind == "service":
        call = _RPC.match(code)
        assert call, code
        return call[1], f"{call[2] or ''}{call[3]}, {call[4] or ''}{call[5]}"
    found = (_VALUE if kind == "enum" else _FIELD).match(code)
    assert found, code
    return (found[1], found[2]) if kind == "enum" else (found[2], f"{found[1]} = {found[3]}")


def _linked(kind: str, names: set[str], package: str) -> str:
    words = re.split(r"(\w+(?:\.\w+)*)", kind.replace("numaproof.", "").replace("deviceplugin.v1beta1.", ""))
    return "".join(f"[{word}](#{_anchor(package, word)})" if word in names else prose(word) for word in words)


def _anchor(package: str, name: str) -> str:
    return f"{package}.{name}".lower().replace(".", "-")
