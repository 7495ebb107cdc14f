"""Warm processes in a runtime: kept from one scenario and machine to the next, ended with the run."""

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from numaproof import fake_sysfs
from numaproof.harness.runtimes.program import Bind, Program, Runtime, ShowsMachines
from numaproof.harness.runtimes.scratch import run_directory
from numaproof.harness.runtimes.trees import HOST, Trees, machine_of, tree_to_mount
from numaproof.harness.runtimes.warm.process import WarmProcess

_MOST = 12  # kept at once, where each sees one machine only; each is a process of some 60 MiB


class WarmPool:
    """The warm processes of a run: one for all machines, or one for each where a runtime cannot show it another one."""

    def __init__(
        self,
        runtime: Runtime,
        directory: Path,
        trees: Trees,
        *,
        isolated: bool,
        command: tuple[str, ...],
        environment: Mapping[str, str],
    ) -> None:
        """`command` starts a warm process, with the path of its socket as the last argument."""
        self._runtime = runtime
        self._directory = directory
        self._trees = trees
        self._isolated = isolated
        self._command = command
        self._environment = environment
        # By the tree that they see, the one used last at the end.
        self._processes: OrderedDict[Path, WarmProcess] = OrderedDict()
        self._users: Counter[Path] = Counter()  # of the processes, by tree
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        with ExitStack() as ending:  # one that cannot be ended does not save the others
            for process in self._processes.values():
                ending.callback(process.close)
            self._processes.clear()

    @contextmanager
    def acquire(self, machine: str, *, own_tree: bool) -> Iterator[WarmProcess]:
        """A process that sees a machine; in a tree of its own, not kept, for whoever wants to change it."""
        if not own_tree:
            with self._use(self._trees.of(machine)) as process:
                yield process
            return
        with run_directory("tree") as directory:
            tree = directory / "tree"
            fake_sysfs.write(fake_sysfs.files(machine_of(machine)), tree)
            try:
                with self._use(tree) as process:
                    yield process
            finally:
                self._forget(tree)

    @contextmanager
    def _use(self, tree: Path) -> Iterator[WarmProcess]:
        """A process that sees a tree, and keeps seeing it as long as it is used."""
        process = self._find_or_start(tree)
        self._users[tree] += 1
        try:
            yield process
        finally:
            self._users[tree] -= 1

    def _find_or_start(self, tree: Path) -> WarmProcess:
        """A process that sees a tree: the one that did already, one that is idle, or a new one."""
        for seen in [seen for seen, process in self._processes.items() if not process.alive()]:
            # Killed from outside (out of memory, say): that is one scenario's failure, not that of all that follow.
            self._processes.pop(seen).close()
        if tree not in self._processes:
            idle = next((seen for seen in self._processes if not self._users[seen]), None)
            if idle is None or not self._retarget(idle, tree):
                if idle is not None and len(self._processes) >= _MOST:
                    self._processes.pop(idle).close()
                self._processes[tree] = self._start(tree)
        self._processes.move_to_end(tree)
        return self._processes[tree]

    def _forget(self, tree: Path) -> None:
        """Nobody will ask for this tree again: its process, if there is one, goes on with another, or not at all."""
        process = self._processes.get(tree)
        if process is None or (process.alive() and HOST not in self._processes and self._retarget(tree, HOST)):
            return
        self._processes.pop(tree).close()

    def _retarget(self, seen: Path, tree: Path) -> bool:
        """Have the process of one tree see another from now on; False: it cannot, and stays as it is."""
        process = self._processes[seen]
        if self._isolated:
            if not isinstance(process.running, ShowsMachines):
                return False
            del self._processes[seen]
            try:
                process.running.show(tree_to_mount(tree))
            except BaseException:  # a Ctrl-C too: who knows what it sees now
                process.close()
                raise
        self._processes.pop(seen, None)
        process.tree, process.sysfs_root = tree, self._root_of(tree)
        self._processes[tree] = process
        return True

    def _start(self, tree: Path) -> WarmProcess:
        self._count += 1
        path = self._directory / f"h{self._count}"
        # The run's directory has the same path inside and outside, so that every path means the same on both sides.
        program = Program(
            (*self._command, str(path)),
            machine=tree_to_mount(tree) if self._isolated else None,
            binds=(Bind(self._directory, str(self._directory)),) if self._isolated else (),
            environment=self._environment,
        )
        return WarmProcess(self._runtime, program, path, tree, self._root_of(tree))

    def _root_of(self, tree: Path) -> str:
        return "/" if self._isolated else str(tree)
