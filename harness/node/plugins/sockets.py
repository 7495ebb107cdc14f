"""Unix sockets that are private to their user, complete when they appear, and survive others tidying up."""

import os
import secrets
from pathlib import Path
from urllib.parse import quote

import grpc

from numaproof.errors import UserError
from numaproof.harness.vocabulary import LONGEST_SOCKET_PATH


def target(path: Path) -> str:
    """The gRPC name of a unix socket; gRPC reads it as a URI, so what means something in a URI is escaped."""
    return f"unix:{quote(str(path))}"


def private_directory(path: Path) -> None:
    """Make the directory if need be, and make it its owner's alone."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.chmod(0o700)
    except OSError as error:
        raise UserError(f"{path}: cannot be made a private directory ({error.strerror}); give another one") from error


def fits(path: Path) -> bool:
    """Whether a unix socket can have this path."""
    return len(os.fsencode(path)) <= LONGEST_SOCKET_PATH


class ListeningSocket:
    """A gRPC server's private unix socket, which appears under its name only when connections are accepted."""

    def __init__(self, server: grpc.Server, path: Path) -> None:
        """Start `server` at `path`, replacing whatever socket lies there."""
        self._path = path
        if not fits(path):
            raise UserError(
                f"{path}: {len(os.fsencode(path))} bytes are too long for a unix socket's path, which holds "
                f"{LONGEST_SOCKET_PATH}; use a directory with a shorter path"
            )
        # A client that watches the directory would dial between bind and listen, and fail: hence the other name first.
        # It is no longer than any name that a socket of ours has.
        draft = path.with_name(f".k{secrets.token_hex(3)}")
        try:
            server.add_insecure_port(target(draft))
            draft.chmod(0o600)
            server.start()
            status = draft.stat()
            draft.rename(path)
        except (RuntimeError, OSError) as error:
            server.stop(None)
            draft.unlink(missing_ok=True)
            raise UserError(f"{path}: cannot listen there ({error}); is the directory writable?") from error
        self._identity = (status.st_dev, status.st_ino)

    def remove(self) -> None:
        """Take the name away, unless another server has taken it over."""
        try:
            status = self._path.lstat()
        except FileNotFoundError:
            return
        if (status.st_dev, status.st_ino) == self._identity:
            self._path.unlink(missing_ok=True)
