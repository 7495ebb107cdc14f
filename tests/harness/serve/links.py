"""Links as the playground's page makes them."""

import base64
import json
import zlib

from numaproof.harness.intake.pasted import Texts
from numaproof.harness.serve.saved import MARK


def deflated(content: bytes, level: int = 6) -> str:
    """What stands behind a link's mark, as browsers make it: `deflate-raw`, in letters for addresses."""
    packer = zlib.compressobj(level, wbits=-15)
    return base64.urlsafe_b64encode(packer.compress(content) + packer.flush()).decode().rstrip("=")


def link_part(texts: Texts, level: int = 6) -> str:
    """What stands behind the page's address to have it show these texts; empty ones are left out."""
    told = {name: text for name, text in texts.as_dict().items() if text}
    return MARK + deflated(json.dumps(told, ensure_ascii=False).encode(), level)
