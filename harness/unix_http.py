"""HTTP over a unix socket, as `curl --unix-socket` speaks it."""

import http.client
import socket
from pathlib import Path


def get_page(path: Path, page: str, timeout: float) -> str:
    """The text of a page at a unix socket; OSError if nobody answers, or not well."""
    connection = _UnixConnection(path, timeout)
    try:
        connection.request("GET", page)
        answer = connection.getresponse()
        text = answer.read().decode()
    except http.client.HTTPException as error:
        raise OSError(f"{page}: {error!r}") from None
    finally:
        connection.close()
    if answer.status != http.client.OK:
        raise OSError(f"{page}: {answer.status} {text.strip()}")
    return text


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))
