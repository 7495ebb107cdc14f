"""The warm process of scenarios: what it forks are commands of `numaproof`.

python -m numaproof.harness.warm_commands SOCKET
"""

import sys
from typing import NoReturn

from numaproof.harness.cli import main
from numaproof.harness.runtimes.warm.server import serve

_PRELOADED = (
    "numaproof.harness.commands.node",
    "numaproof.harness.commands.plugin",
    # gRPC imports these when a server or a channel is made first: private names, whose loss would cost time only.
    "grpc._channel",
    "grpc._server",
    "grpc.experimental",
)


def serve_commands(path: str) -> NoReturn:
    """Fork commands by orders that come over a socket, until we are killed."""
    serve(path, main, _PRELOADED)


if __name__ == "__main__":
    serve_commands(sys.argv[1])
