"""One value of a YAML text changed, everything else of the text as it was: comments, order, quotes.

Where that cannot be done in place, the text is written anew from its values.
"""

from collections.abc import Sequence
from typing import Any

import yaml

from numaproof.errors import UserError
from numaproof.fake_sysfs.strict_yaml import load_all

Path = Sequence[str | int]


def with_value(text: str, document: int, path: Path, value: Any) -> str:
    """The text with a value at a path of one of its documents (counted without empty ones); the last keys of the path
    may be missing yet. A UserError says which of them lead into something that has no keys.
    """
    wanted = [one.value for one in load_all(text, "text")]
    _put(wanted[document], path, value)
    edited = _in_place(text, document, path, value)
    if edited is not None and _values(edited) == wanted:
        return edited
    return dumped(wanted)


def without(text: str, document: int, path: Path) -> str:
    """The text without a key of a mapping; as it was where the key is not there."""
    wanted = [one.value for one in load_all(text, "text")]
    holder = wanted[document]
    for key in path[:-1]:
        holder = holder.get(key) if isinstance(holder, dict) else None
    if not isinstance(holder, dict) or path[-1] not in holder:
        return text
    del holder[path[-1]]
    edited = _lines_without(text, document, path)
    return edited if edited is not None and _values(edited) == wanted else dumped(wanted)


def dumped(documents: Sequence[Any]) -> str:
    """The text of documents."""
    return yaml.safe_dump_all(documents, sort_keys=False, default_flow_style=None, width=110, allow_unicode=True)


def _values(text: str) -> list[Any] | None:
    try:
        return [one.value for one in load_all(text, "text")]
    except UserError:
        return None


def _put(holder: Any, path: Path, value: Any) -> None:
    for depth, key in enumerate(path):
        kind: Any = list if isinstance(key, int) else dict
        if not isinstance(holder, kind):
            above = path[depth - 1] if depth else "text"
            raise UserError(f"{above}: is no mapping, in which {key} could stand; mend the text")
        if depth == len(path) - 1:
            holder[key] = value
        elif isinstance(holder, dict) and holder.get(key) is None:
            holder[key] = {}
        holder = holder[key]


def _in_place(text: str, document: int, path: Path, value: Any) -> str | None:
    """The text with the value's own characters changed; None: that is not possible."""
    node = _root(text, document)
    for depth, key in enumerate(path):
        if isinstance(node, yaml.SequenceNode) and isinstance(key, int):
            node = node.value[key]
            continue
        if not isinstance(node, yaml.MappingNode):
            return None
        found = next((pair for pair in node.value if pair[0].value == key), None)
        left = path[depth + 1 :]
        if found is None:
            return _inserted(text, node, f"{_scalar(key)}: {_flow(_nested(left, value))}")
        if _is_null(found[1]) or not left:
            # All behind the key's colon is the old value. `{key}` has none: what is made of it then is not taken.
            start = text.find(":", found[0].end_mark.index) + 1
            return f"{text[:start]} {_flow(_nested(left, value))}{text[max(_end(found[1]), start) :]}"
        node = found[1]
    return None


def _root(text: str, document: int) -> yaml.Node | None:
    """The nodes of a document; None: only the other parser reads it."""
    try:
        return [node for node in yaml.compose_all(text, yaml.SafeLoader) if not _is_null(node)][document]
    except yaml.YAMLError:
        return None


def _lines_without(text: str, document: int, path: Path) -> str | None:
    """The text without the lines of an entry of a block; None: it does not stand in lines of its own."""
    node: Any = _root(text, document)
    if node is None:
        return None
    for key in path:
        pair = next(pair for pair in node.value if pair[0].value == key)
        is_flow, node = node.flow_style, pair[1]
    if is_flow:
        return None
    start = text.rfind("\n", 0, pair[0].start_mark.index) + 1
    end = text.find("\n", _end(node))
    return text[:start] + (text[end + 1 :] if end >= 0 else "")


def _inserted(text: str, mapping: yaml.MappingNode, entry: str) -> str | None:
    """The text with one more entry at the end of a mapping."""
    if mapping.flow_style:
        end = mapping.value[-1][1].end_mark.index if mapping.value else mapping.start_mark.index + 1
        return f"{text[:end]}{', ' if mapping.value else ''}{entry}{text[end:]}"
    if not mapping.value:
        return None
    end = text.find("\n", _end(mapping))
    end = len(text) if end < 0 else end
    return f"{text[:end]}\n{' ' * mapping.value[0][0].start_mark.column}{entry}{text[end:]}"


def _end(node: yaml.Node) -> int:
    """Where the last of a node's own characters ends: a block's mark stands where the next one begins."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _nested(path: Path, value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _flow(value: Any) -> str:
    """A value in one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=1 << 20, sort_keys=False, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...")


def _scalar(key: str | int) -> str:
    return _flow(key)


def _is_null(node: yaml.Node) -> bool:
    return bool(node.tag == "tag:yaml.org,2002:null")
