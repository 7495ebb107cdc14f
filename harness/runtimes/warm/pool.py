"""Warm processes in a runtime: kept from one scenario and machine to the next, ended with the run."""

import json
import socket
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from numaproof import fake_sysfs
from numaproof.harness.runtimes import Bind, Program, Runtime
from numaproof.harness.runtimes.scratch import run_directory
from numaproof.harness.runtimes.warm.trees import HOST, Trees, machine_of
from numaproof.harness.scenario.rig import RigFailedError
from numaproof.harness.waiting import wait_until

_START_SECONDS = 120
_END_SECONDS = 60
_MOST = 12  # kept at once, where each sees one machine only; each is a process of some 60 MiB

# (arguments of the warm process's own interpreter) in front of the socket's path
WARM = ("-m", "numaproof.harness.runtimes.warm.server")


class Child:
    """A program that a warm process forked; it ends with its connection."""

    def __init__(self, connection: socket.socket, output: Path) -> None:
        self._connection = connection
        self._output = output

    def kill(self) -> None:
        """End it hard, and wait until it is gone."""
        self._connection.shutdown(socket.SHUT_WR)
        self._connection.settimeout(_END_SECONDS)
        while self._connection.recv(4096):
            pass
        self._connection.close()

    def ended(self) -> bool:
        """Whether it has ended by itself."""
        self._connection.setblocking(False)
        try:
            return self._connection.recv(64, socket.MSG_PEEK) is not None
        except BlockingIOError:
            return False
        finally:
            self._connection.setblocking(True)

    def printed(self) -> str:
        """What it has printed so far."""
        try:
            return self._output.read_text(errors="replace")
        except FileNotFoundError:
            return ""


class Host:
    """A warm process that sees one machine at a time: as /sys, or in a runtime that mounts nothing, by its path."""

    def __init__(self, runtime: Runtime, program: Program, path: Path, sysfs_root: str) -> None:
        self.runtime = runtime
        self.running = running = runtime.start(program)
        self._path = path
        self.sysfs_root = sysfs_root  # where a program there finds its machine
        try:
            wait_until(
                lambda: path.exists() or running.poll() is not None, timeout=_START_SECONDS, what="the warm process"
            )
        except BaseException:
            self.close()
            raise
        if not path.exists():
            self.close()
            raise RigFailedError(f"the warm process ended: {running.output().strip()}")

    def start(self, arguments: list[str], output: Path) -> Child:
        """Fork `numaproof ARGUMENTS` there."""
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(self._path))
            connection.sendall(json.dumps({"arguments": arguments, "output": str(output)}).encode() + b"\n")
        except OSError as error:
            connection.close()
            raise RigFailedError(f"the warm process takes no orders ({error}): {self.running.output()}") from error
        return Child(connection, output)

    def alive(self) -> bool:
        """Whether it still takes orders."""
        return self.running.poll() is None

    def close(self) -> None:
        """End it, and with it everything that it forked."""
        self.running.__exit__()


class Hosts:
    """The hosts of a run: one for all machines, or one for each where a runtime cannot show a program another one."""

    def __init__(
        self,
        runtime: Runtime,
        place: Path,
        trees: Trees,
        *,
        isolated: bool,
        python: str,
        environment: Mapping[str, str],
        warm: tuple[str, ...] = WARM,
    ) -> None:
        self._runtime = runtime
        self._place = place
        self._trees = trees
        self._isolated = isolated
        self._python = python
        self._environment = environment
        self._warm = warm
        self._hosts: OrderedDict[Path, Host] = OrderedDict()  # by the tree that they see, the one used last at the end
        self._users: Counter[Path] = Counter()  # of the hosts, by tree
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        with ExitStack() as ending:  # one that cannot be ended does not save the others
            for host in self._hosts.values():
                ending.callback(host.close)
            self._hosts.clear()

    @contextmanager
    def lent(self, machine: str, *, own_tree: bool) -> Iterator[tuple[Host, Path]]:
        """A host that sees a machine, and its tree; a tree of its own, not kept, for whoever wants to change it."""
        if not own_tree:
            tree = self._trees.of(machine)
            with self._used(tree) as host:
                yield host, tree
            return
        with run_directory("tree") as place:
            tree = place / "tree"
            fake_sysfs.write(fake_sysfs.files(machine_of(machine)), tree)
            try:
                with self._used(tree) as host:
                    yield host, tree
            finally:
                self._leave(tree)

    @contextmanager
    def _used(self, tree: Path) -> Iterator[Host]:
        """A host that sees a tree, as long as it is used."""
        host = self._seeing(tree)
        self._users[tree] += 1
        try:
            yield host
        finally:
            self._users[tree] -= 1

    def _seeing(self, tree: Path) -> Host:
        """A host that sees a tree: the one that did already, one that is idle, or a new one."""
        for seen in [seen for seen, host in self._hosts.items() if not host.alive()]:
            # Killed from outside (out of memory, say): that is one scenario's failure, not that of all that follow.
            self._hosts.pop(seen).close()
        if tree not in self._hosts:
            idle = next((seen for seen in self._hosts if not self._users[seen]), None)
            if idle is None or not self._turned(idle, tree):
                if idle is not None and len(self._hosts) >= _MOST:
                    self._hosts.pop(idle).close()
                self._hosts[tree] = self._started(tree)
        self._hosts.move_to_end(tree)
        return self._hosts[tree]

    def _leave(self, tree: Path) -> None:
        """Nobody will ask for this tree again: its host, if there is one, goes on with another, or not at all."""
        host = self._hosts.get(tree)
        if host is None or (host.alive() and HOST not in self._hosts and self._turned(tree, HOST)):
            return
        self._hosts.pop(tree).close()

    def _turned(self, seen: Path, tree: Path) -> bool:
        """Whether the host of one tree sees another from now on; if not, it stays as it is."""
        host = self._hosts.pop(seen)
        try:
            if self._isolated and not host.running.show(_mounted(tree)):
                self._hosts[seen] = host
                return False
        except BaseException:  # a Ctrl-C too: who knows what it sees now
            host.close()
            raise
        host.sysfs_root = self._root_of(tree)
        self._hosts[tree] = host
        return True

    def _started(self, tree: Path) -> Host:
        self._count += 1
        path = self._place / f"h{self._count}"
        # The run's directory has the same path inside and outside, so that every path means the same on both sides.
        program = Program(
            (self._python, *self._warm, str(path)),
            machine=_mounted(tree) if self._isolated else None,
            binds=(Bind(self._place, str(self._place)),) if self._isolated else (),
            environment=self._environment,
        )
        return Host(self._runtime, program, path, self._root_of(tree))

    def _root_of(self, tree: Path) -> str:
        return "/" if self._isolated else str(tree)


def _mounted(tree: Path) -> Path | None:
    """What a runtime mounts of a tree; None: nothing, as the host's own machine is there already."""
    return None if tree == HOST else tree
