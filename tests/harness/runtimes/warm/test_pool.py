"""Warm processes: kept for the next scenario and machine, replaced when they died, few at a time, gone in the end."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from numaproof import fake_sysfs
from numaproof.fake_sysfs.alter import without_cpus
from numaproof.fake_sysfs.change import change
from numaproof.harness.runtimes import CannotStartError, Program, Running, Runtime
from numaproof.harness.runtimes.local import LocalProgram, NamespaceRuntime, ProcessRuntime
from numaproof.harness.runtimes.trees import Trees, machine_of
from numaproof.harness.runtimes.warm.pool import WarmPool
from numaproof.harness.runtimes.warm.process import WarmProcess
from tests.places import short_directory
from tests.waiting import wait_until

ONE, OTHER = "pack:1 core:2 pu:1", "pack:2 [numa] core:2 pu:1"

# In place of the real warm process, which takes a second to import everything: it comes up, and takes no orders.
QUICK = (
    "-I",
    "-S",
    "-c",
    "import signal, socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1]); signal.pause()",
)


class Blind:
    """A runtime that keeps a list of what it started, and shows programs no machine: enough to count them."""

    name = "blind"

    def __init__(self) -> None:
        self.started: list[tuple[Program, Running]] = []

    def start(self, program: Program) -> Running:
        running = ProcessRuntime().start(replace(program, machine=None, binds=()))
        self.started.append((program, running))
        return running

    def alive(self) -> list[Program]:
        return [program for program, running in self.started if running.poll() is None]


@contextmanager
def pool_in(runtime: Runtime, *, isolated: bool, warm: tuple[str, ...] = QUICK) -> Iterator[tuple[WarmPool, Trees]]:
    with short_directory() as place:
        trees = Trees(place / "trees")
        command = (sys.executable, *warm)
        with WarmPool(runtime, place, trees, isolated=isolated, command=command, environment={"X": "1"}) as pool:
            yield pool, trees


def test_a_process_that_can_see_one_machine_only_is_kept_for_it() -> None:
    runtime = Blind()
    with pool_in(runtime, isolated=True) as (pool, trees):
        with pool.acquire(ONE, own_tree=False) as first:
            assert first.tree == trees.of(ONE)
            assert first.sysfs_root == "/"
        with pool.acquire(OTHER, own_tree=False) as second, pool.acquire(ONE, own_tree=False) as again:
            assert second is not first
            assert again is first
        assert [program.machine for program, _ in runtime.started] == [trees.of(ONE), trees.of(OTHER)]
    assert runtime.alive() == []


def present(process: WarmProcess) -> str:
    """The CPUs that a program there sees."""
    return process.running.execute(("cat", "/sys/devices/system/cpu/present")).output.strip()


def test_in_namespaces_one_process_sees_one_machine_after_the_other() -> None:
    with pool_in(NamespaceRuntime(), isolated=True) as (pool, _):
        with pool.acquire(ONE, own_tree=False) as first:
            assert present(first) == "0-1"
        with pool.acquire(OTHER, own_tree=False) as second:
            assert second is first
            assert present(second) == "0-3"
        with pool.acquire(ONE, own_tree=True) as own:
            assert own is first
            change(own.tree, lambda machine: without_cpus(machine, (1,)))
            assert own.running.execute(("cat", "/sys/devices/system/cpu/online")).output == "0\n"
        with pool.acquire(ONE, own_tree=False) as again:
            assert again is first
            assert again.running.execute(("cat", "/sys/devices/system/cpu/online")).output == "0-1\n"
            assert again.sysfs_root == "/"
        with pool.acquire("host", own_tree=False) as last:
            assert last is first
            assert present(last) == Path("/sys/devices/system/cpu/present").read_text().strip()


def test_nobody_s_machine_is_taken_away() -> None:
    with pool_in(NamespaceRuntime(), isolated=True) as (pool, _), pool.acquire(ONE, own_tree=False) as first:
        with pool.acquire(OTHER, own_tree=False) as second:
            assert (present(first), present(second)) == ("0-1", "0-3")
        with pool.acquire("host", own_tree=False) as third:
            assert third is second
            assert present(first) == "0-1"


def test_of_two_processes_the_one_that_loses_its_tree_goes() -> None:
    with pool_in(NamespaceRuntime(), isolated=True) as (pool, _), pool.acquire("host", own_tree=False) as first:
        with pool.acquire(ONE, own_tree=True) as own:
            assert present(own) == "0-1"
        assert not own.alive()
        assert first.alive()


def test_one_that_dies_with_a_tree_of_its_own_is_replaced() -> None:
    with pool_in(NamespaceRuntime(), isolated=True) as (pool, _):
        with pool.acquire(ONE, own_tree=True) as own:
            own.running.terminate()
            wait_until(lambda: not own.alive(), "the end of the warm process")
        with pool.acquire(ONE, own_tree=False) as new:
            assert present(new) == "0-1"


def test_a_process_that_sees_who_knows_what_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_running: LocalProgram, _machine: Path | None) -> None:
        raise CannotStartError("cannot mount /sys: no")

    monkeypatch.setattr(LocalProgram, "show", fail, raising=False)
    runtime = Blind()
    with pool_in(runtime, isolated=True) as (pool, _):
        with pool.acquire(ONE, own_tree=False):
            pass
        with pytest.raises(CannotStartError, match="cannot mount"), pool.acquire(OTHER, own_tree=False):
            pass
        assert runtime.alive() == []
        with pool.acquire(ONE, own_tree=False) as new:
            assert new.alive()


def test_without_isolation_one_process_serves_all_machines() -> None:
    runtime = Blind()
    with pool_in(runtime, isolated=False) as (pool, trees):
        with pool.acquire(ONE, own_tree=False) as first:
            assert first.sysfs_root == str(trees.of(ONE))
        with pool.acquire(OTHER, own_tree=False) as second:
            assert second is first
            assert second.sysfs_root == str(trees.of(OTHER))
        assert len(runtime.started) == 1


def test_the_host_itself_is_seen_as_it_is() -> None:
    runtime = Blind()
    with pool_in(runtime, isolated=True) as (pool, _), pool.acquire("host", own_tree=False) as process:
        assert process.tree == Path("/")
        assert runtime.started[0][0].machine is None


def test_whoever_changes_the_tree_gets_one_alone() -> None:
    runtime = Blind()
    with pool_in(runtime, isolated=True) as (pool, trees), pool.acquire(ONE, own_tree=False) as kept:
        with pool.acquire(ONE, own_tree=True) as own:
            tree = own.tree
            assert own is not kept
            assert tree != trees.of(ONE)
            assert fake_sysfs.read(tree) == machine_of(ONE)
            assert len(runtime.alive()) == 2
        assert not tree.exists()
        assert len(runtime.alive()) == 1
        assert kept.alive()


def test_only_so_many_are_kept_and_the_longest_idle_one_goes() -> None:
    runtime = Blind()
    machines = [f"pack:1 core:{cores} pu:1" for cores in range(1, 14)]
    with pool_in(runtime, isolated=True) as (pool, trees):
        for machine in machines[:12]:
            with pool.acquire(machine, own_tree=False):
                pass
        with pool.acquire(machines[0], own_tree=False), pool.acquire(machines[12], own_tree=False):
            alive = {program.machine for program in runtime.alive()}
        assert alive == {trees.of(machine) for machine in machines if machine != machines[1]}
    assert runtime.alive() == []


def test_one_that_died_is_replaced() -> None:
    runtime = Blind()
    with pool_in(runtime, isolated=True) as (pool, _):
        with pool.acquire(ONE, own_tree=False) as first:
            first.running.terminate()
            wait_until(lambda: not first.alive(), "the end of the warm process")
        with pool.acquire(ONE, own_tree=False) as second:
            assert second is not first
            assert second.alive()


def test_one_that_does_not_come_up_is_told_with_what_it_printed() -> None:
    runtime = Blind()
    with (
        pool_in(runtime, isolated=True, warm=("-c", "print('no luck')")) as (pool, _),
        pytest.raises(CannotStartError, match="the warm process ended: no luck"),
        pool.acquire(ONE, own_tree=False),
    ):
        pass
    assert runtime.alive() == []


def test_an_order_that_nobody_takes_is_told() -> None:
    with short_directory() as place:
        # It binds and does not listen.
        program = Program((sys.executable, *QUICK, str(place / "h")))
        process = WarmProcess(ProcessRuntime(), program, place / "h", Path("/"), "/")
        try:
            with pytest.raises(CannotStartError, match="takes no orders"):
                process.start(["numaproof", "machine", "list"])
        finally:
            process.close()
