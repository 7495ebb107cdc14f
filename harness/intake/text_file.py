"""A file that holds a text, as people give it to be read."""

from pathlib import Path

from numaproof.errors import UserError

LARGEST = 64 << 20  # bytes of a file that is read


def text_of(name: str) -> str:
    """What a file holds, which has to be a text."""
    try:
        with Path(name).open("rb") as file:
            content = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise UserError(f"{name}: cannot be read ({getattr(error, 'strerror', None) or error}); give a file") from None
    if len(content) > LARGEST:
        raise UserError(f"{name}: is larger than {LARGEST >> 20} MiB; give the part that matters")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: is not UTF-8 text (byte {error.start}); give a text") from None
