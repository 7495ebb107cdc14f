"""A node's metrics, read at its unix socket as a scraper would."""

import http.client
import socket
from pathlib import Path

from numaproof.harness.scenario.samples import parse_samples


def read_metrics(path: Path, timeout: float) -> dict[str, float]:
    """The samples that /metrics shows at a unix socket; OSError if nobody answers."""
    page = _UnixConnection(path, timeout)
    try:
        page.request("GET", "/metrics")
        return parse_samples(page.getresponse().read().decode())
    finally:
        page.close()


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))
