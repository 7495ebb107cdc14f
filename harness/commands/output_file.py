"""Files that commands write where a user says: whole, or not at all."""

import os
import tempfile
from pathlib import Path

from numaproof.errors import UserError


def write_output(path: Path, text: str) -> None:
    """Replace a file by a text; a UserError, with nothing left behind, if that cannot be."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror}); choose another place") from None
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UserError(f"{path}: cannot be written ({error.strerror}); choose another place") from None
