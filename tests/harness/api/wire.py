"""Fields of protobuf messages as bytes, written by hand and not by any stub."""


def text(number: int, value: str) -> bytes:
    """A string field on the wire."""
    return part(number, value.encode())


def part(number: int, value: bytes) -> bytes:
    """A field with a length on the wire: number and type 2, length, value."""
    return bytes([number << 3 | 2, len(value)]) + value


def whole(number: int, value: int) -> bytes:
    """A small integer field on the wire: number and type 0, value."""
    return bytes([number << 3, value])
