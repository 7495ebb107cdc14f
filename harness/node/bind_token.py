"""The permission to bind pods: a token in a file of its own, so that a scheduler may be given this and nothing else."""

import hmac
import secrets
from pathlib import Path

from numaproof.errors import UserError
from numaproof.harness.node.state import files

NAME = "bind.token"
NOT_PERMITTED = f"binding takes a permission of its own: authorize as Bearer, with what {NAME} below the root holds"
_SCHEME = "bearer"
_SHORTEST = 16  # characters; a file with fewer was not written by us, and is too easy to guess


class BindToken:
    """The token of one root directory: made at the node's first start, and the same ever after."""

    def __init__(self, root: Path) -> None:
        path = root / NAME
        if not path.exists():
            files.write(path, secrets.token_urlsafe(32) + "\n", durable=True)
        try:
            self._token = path.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{path}: cannot be read ({error}); mend or delete it") from None
        if len(self._token) < _SHORTEST:
            raise UserError(f"{path}: holds no token of {_SHORTEST} characters or more; delete it: a new one is made")

    def allows(self, authorization: str | None) -> bool:
        """Whether an `authorization` of the form `Bearer TOKEN` carries it."""
        scheme, _, given = (authorization or "").partition(" ")
        return scheme.lower() == _SCHEME and hmac.compare_digest(given.strip().encode(), self._token.encode())
