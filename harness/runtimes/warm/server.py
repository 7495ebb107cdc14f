"""A warm process that forks programs: they then start in milliseconds, where it runs.

Whoever calls `serve` says what a program does with its arguments. Each connection carries one order, a line of JSON:
the arguments, what is added to the environment, and a file for what the program prints. The program lives as long as
the connection: it is killed when the connection ends, asked to end by the line `term`, and the connection ends (with
the exit code as its last line) when the program does. Nothing here starts a thread, so that forking is safe.
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
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

TERMINATE = b"term\n"


def serve(path: str, program: Callable[[list[str]], int], preload: Iterable[str]) -> NoReturn:
    """Take orders until we are killed; ready as soon as the socket has its name.

    `program` is called with the arguments of an order, in a process of its own, and answers its exit code; `preload`
    names the modules that it would import, of which some may be missing.
    """
    _load(preload)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{path}.new")
    listener.listen(64)
    Path(f"{path}.new").rename(path)
    _Server(listener, program).serve()


def _load(modules: Iterable[str]) -> None:
    """Import once what every program would import again, and keep it in pages that all of them share."""
    for name in modules:
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # else the first collection of each program writes to, and so copies, all of these pages


class _Server:
    """The listener, and a connection for each program that runs."""

    def __init__(self, listener: socket.socket, program: Callable[[list[str]], int]) -> None:
        self._listener = listener
        self._program = program
        self._woken, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._connections: dict[int, socket.socket] = {}  # of the programs, by their process numbers

    def serve(self) -> NoReturn:
        """Start, end and bury programs for ever."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    self._start(self._listener.accept()[0])
                elif key.fd == self._woken:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._woken, 4096)
                elif key.data in self._connections:
                    self._obey(key.data)
            self._bury()

    def _start(self, connection: socket.socket) -> None:
        """Fork a program for a connection's order."""
        line = _read_line(connection)
        if not line:
            connection.close()  # whoever wanted to order is gone
            return
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            self._become(order, connection)
        self._connections[pid] = connection
        self._selector.register(connection, selectors.EVENT_READ, pid)

    def _become(self, order: dict[str, Any], connection: socket.socket) -> NoReturn:
        """Be the program that was ordered."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            printed = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(printed, 1)
            os.dup2(printed, 2)
            # These are the warm process's: a connection that is open here too would not end with it.
            self._selector.close()
            for one in (self._listener, connection, *self._connections.values()):
                one.close()
            os.close(self._woken)
            os.close(self._wake)
            os.environ.update(order["environment"])
            code = self._program(order["arguments"])
        finally:
            sys.stdout.flush()
            os._exit(code)

    def _obey(self, pid: int) -> None:
        """What a connection says while its program runs: its end, or that the program shall end."""
        try:
            said = self._connections[pid].recv(4096, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        if said:
            os.kill(pid, signal.SIGTERM)
            return
        os.kill(pid, signal.SIGKILL)
        self._selector.unregister(self._connections[pid])

    def _bury(self) -> None:
        """Tell the exit codes of the programs that have ended to those who ordered them."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                connection = self._connections.pop(pid)
                with contextlib.suppress(KeyError, ValueError):
                    self._selector.unregister(connection)
                with contextlib.suppress(OSError):
                    connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
                connection.close()


def _read_line(connection: socket.socket) -> bytes:
    """What comes up to a newline, and nothing of what follows it; empty: the connection has ended."""
    line = b""
    while not line.endswith(b"\n"):
        there = connection.recv(65536, socket.MSG_PEEK)
        if not there:
            return b""
        line += connection.recv(there.find(b"\n") + 1 or len(there))
    return line
