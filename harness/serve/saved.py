"""What somebody saved or shares: a file with all texts, or a link that holds them behind its #."""

import base64
import binascii
import json
import zlib
from pathlib import Path

from numaproof.errors import UserError
from numaproof.harness.intake.pasted import Texts
from numaproof.harness.serve.inputs import LARGEST_BODY, texts_from

FORMAT = "playground 1"
MARK = "#p1="  # of a link; what follows is JSON, deflated, in the letters of base64 for addresses
_REMEDY = "give what the playground saved, or a link that it made"


def opened(argument: str) -> Texts:
    """The texts of a file or a link; a UserError says what is wrong with it."""
    if MARK in argument:
        return _texts(_inflated(argument.partition(MARK)[2]), "link")
    try:
        with Path(argument).open("rb") as file:
            content = file.read(LARGEST_BODY + 1)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{argument}: cannot be read ({getattr(error, 'strerror', None) or error}); {_REMEDY}"
        ) from None
    if len(content) > LARGEST_BODY:
        raise UserError(f"{argument}: is larger than {LARGEST_BODY} bytes; {_REMEDY}")
    return _texts(content, argument)


def _inflated(text: str) -> bytes:
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        unpacker = zlib.decompressobj(wbits=-15)
        found = unpacker.decompress(packed, LARGEST_BODY + 1)
    except (binascii.Error, ValueError, zlib.error):
        raise UserError(f"link: is damaged, or not whole; {_REMEDY}") from None
    if len(found) > LARGEST_BODY:
        raise UserError(f"link: holds more than {LARGEST_BODY} bytes; {_REMEDY}")
    if not unpacker.eof:
        raise UserError(f"link: is not whole; {_REMEDY}")
    return found


def _texts(content: bytes, where: str) -> Texts:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise UserError(f"{where}: is not JSON; {_REMEDY}") from None
    if not isinstance(found, dict):
        raise UserError(f"{where}: holds no texts; {_REMEDY}")
    told = found.pop("numaproof", FORMAT)
    if told != FORMAT:
        raise UserError(f"{where}: numaproof: {str(told)[:60]!r} is not {FORMAT!r}; {_REMEDY}")
    try:
        return texts_from(found)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
