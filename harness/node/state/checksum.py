"""The kubelet's checksum of a state file: 32-bit FNV-1a over the way Go prints the value with its types."""

from collections.abc import Iterable, Mapping


def fnv1a(text: str) -> int:
    """The 32-bit FNV-1a hash of the text in UTF-8."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def go_struct(fields: Iterable[tuple[str, str, str]]) -> str:
    """A struct: each field is its name, its Go type and its value as printed."""
    return "{" + " ".join(f"{name}:({kind}){value}" for name, kind, value in fields) + "}"


def go_map(items: Mapping[str, str]) -> str:
    """A map with text keys, sorted; keys and values carry no types, as their map's type names them."""
    return "map[" + " ".join(f"{key}:{items[key]}" for key in sorted(items)) + "]"


def go_int_map(items: Mapping[int, str]) -> str:
    """A map with numbers for keys, sorted as numbers."""
    return "map[" + " ".join(f"{key}:{items[key]}" for key in sorted(items)) + "]"


def go_list(items: Iterable[object]) -> str:
    """A slice; its elements carry no types."""
    return "[" + " ".join(map(str, items)) + "]"


def text_checksum(text: str) -> int:
    """The checksum of a text: kubelet v1.37 has its content a second time as one."""
    return fnv1a(f"(string){text}")
