"""A warm process that forks programs of ours: a node or a plugin then starts in milliseconds, where it runs.

    python -m numaproof.harness.runtimes.warm.server SOCKET

Each connection carries one order, a line of JSON: the arguments of `numaproof` and a file for what it prints. The
program lives as long as the connection: it is killed when the connection ends, and the connection ends (with the exit
code as its last line) when the program does. Nothing here starts a thread or touches gRPC, so that forking is safe.
"""

import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
from pathlib import Path
from typing import NoReturn

# gRPC imports these when a server or a channel is made first: private names, whose loss would cost time only.
_LATE_PARTS_OF_GRPC = ("grpc._channel", "grpc._server", "grpc.experimental")


def serve(path: str) -> NoReturn:
    """Take orders until we are killed; ready as soon as the socket has its name."""
    _load_everything()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{path}.new")
    listener.listen(64)
    Path(f"{path}.new").rename(path)
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(woken, selectors.EVENT_READ)
    programs: dict[int, socket.socket] = {}
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                connection, _ = listener.accept()
                pid = _start(connection, selector)
                programs[pid] = connection
                selector.register(connection, selectors.EVENT_READ, pid)
            elif key.fd == woken:
                with contextlib.suppress(BlockingIOError):
                    os.read(woken, 4096)
            elif key.data in programs and not _still_there(programs[key.data]):
                os.kill(key.data, signal.SIGKILL)
                selector.unregister(programs[key.data])
        for pid, code in _ended():
            connection = programs.pop(pid)
            with contextlib.suppress(KeyError, ValueError):
                selector.unregister(connection)
            with contextlib.suppress(OSError):
                connection.sendall(f"{code}\n".encode())
            connection.close()


def _load_everything() -> None:
    """Import once what every program would import again, and keep it in pages that all of them share."""
    import numaproof.harness.commands.node  # noqa: PLC0415
    import numaproof.harness.commands.plugin  # noqa: F401, PLC0415

    for name in _LATE_PARTS_OF_GRPC:
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # else the first collection of each program writes to, and so copies, all of these pages


def _still_there(connection: socket.socket) -> bool:
    try:
        return connection.recv(4096, socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def _start(connection: socket.socket, selector: selectors.BaseSelector) -> int:
    """Fork a program for a connection's order; the answer is its process number."""
    with connection.makefile("r") as lines:
        order = json.loads(lines.readline())
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        selector.close()
        printed = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        # The connection of this program and those of its siblings, the listener, the pipe: they are the warm process's.
        os.closerange(3, 1024)
        from numaproof.harness.cli import main  # noqa: PLC0415

        code = main(order["arguments"])
    finally:
        sys.stdout.flush()
        os._exit(code)


def _ended() -> list[tuple[int, int]]:
    """The programs that have ended: their process numbers and exit codes."""
    ended = []
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            ended.append((pid, os.waitstatus_to_exitcode(status)))
    return ended


if __name__ == "__main__":
    serve(sys.argv[1])
