"""The process that computes answers: orders come on its stdin, answers go to its stdout, each behind its length.

The first answer, to no order, says that it is ready.

python -m numaproof.harness.serve.worker
"""

import ctypes
import gc
import json
import os
import resource
import signal
import struct
import sys
from typing import BinaryIO

from numaproof.harness.serve.answers import GOOD, answered
from numaproof.harness.serve.page import examples

HEAD = struct.Struct("!HI")  # an order: length of its kind, of its body; an answer: status, length
_MEMORY = 3 << 29  # bytes of address space
_PR_SET_PDEATHSIG = 1
_GRACE = 5  # s behind its limit an answer ends its process, should nobody else


def main() -> int:
    """Answer until nobody asks."""
    limit = int(sys.argv[1])
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # a server that is killed leaves nobody who computes
    orders, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing else may come between answers
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    # What the first answer imports, reads and keeps is there for all, and no garbage is looked for among it.
    answered("show", json.dumps({"texts": {name: examples()[0].get(name, "") for name in ("machine", "pod")}}).encode())
    gc.collect()
    gc.freeze()
    _write(answers, GOOD, b"")
    while (order := _order(orders)) is not None:
        signal.alarm(limit + _GRACE)
        status, body = answered(*order)
        signal.alarm(0)
        _write(answers, status, body)
        gc.collect()  # now, while nobody waits
    return 0


def _write(answers: BinaryIO, status: int, body: bytes) -> None:
    answers.write(HEAD.pack(status, len(body)) + body)
    answers.flush()


def _order(orders: BinaryIO) -> tuple[str, bytes] | None:
    head = orders.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    kind, body = HEAD.unpack(head)
    return orders.read(kind).decode(), orders.read(body)


if __name__ == "__main__":
    sys.exit(main())
