"""Files that commands write where a user says: whole, or not at all; devices and links are written through."""

import errno
import os
import tempfile
from pathlib import Path

from numaproof.errors import UserError


def write_output(path: Path, text: str) -> None:
    """Replace a file by a text; a UserError, with nothing left behind, if that cannot be."""
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            # What is put in its place would take /dev/stdout away from everybody.
            path.write_text(text, encoding="utf-8")
            return
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise _error(path, error) from None
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise _error(path, error) from None


def remove_output(path: Path) -> None:
    """Remove a file that an earlier `write_output` left, if there is one; links, as /dev/stdout is one, stay."""
    if path.is_symlink() or not path.is_file():
        return
    try:
        path.unlink()
    except OSError as error:
        raise UserError(f"{path}: cannot be removed ({error.strerror}); it is of an earlier run, not of this") from None


def refuse_unwritable(path: Path) -> None:
    """Say now what `write_output` would say later, before there is anything to write; nothing is changed by it."""
    if not path.absolute().parent.is_dir():
        raise UserError(f"{path}: its directory does not exist; make it first")
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.exists() and (path.is_symlink() or not path.is_file()):
            # Not opened: the reader of a pipe would take its end for the end of everything.
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.resolve().parent)
        os.close(descriptor)
        Path(name).unlink()
    except OSError as error:
        raise _error(path, error) from None


def _error(path: Path, error: OSError) -> UserError:
    return UserError(f"{path}: cannot be written ({error.strerror}); choose another place")
