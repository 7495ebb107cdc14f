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
from numaproof.harness.runtimes.local import Launched, NamespaceRuntime, ProcessRuntime
from numaproof.harness.runtimes.warm.pool import Host, Hosts
from numaproof.harness.runtimes.warm.trees import Trees, machine_of
from numaproof.harness.scenario.rig import RigFailedError
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
def hosts(runtime: Runtime, *, isolated: bool, warm: tuple[str, ...] = QUICK) -> Iterator[tuple[Hosts, Trees]]:
    with short_directory() as place:
        trees = Trees(place / "trees")
        made = Hosts(runtime, place, trees, isolated=isolated, python=sys.executable, environment={"X": "1"}, warm=warm)
        with made:
            yield made, trees


def test_a_host_that_can_see_one_machine_only_is_kept_for_it() -> None:
    runtime = Blind()
    with hosts(runtime, isolated=True) as (made, trees):
        with made.lent(ONE, own_tree=False) as (first, tree):
            assert tree == trees.of(ONE)
            assert first.sysfs_root == "/"
        with made.lent(OTHER, own_tree=False) as (second, _), made.lent(ONE, own_tree=False) as (again, _):
            assert second is not first
            assert again is first
        assert [program.machine for program, _ in runtime.started] == [trees.of(ONE), trees.of(OTHER)]
    assert runtime.alive() == []


def present(host: Host) -> str:
    """The CPUs that a program there sees."""
    return host.running.execute(("cat", "/sys/devices/system/cpu/present")).output.strip()


def test_in_namespaces_one_host_sees_one_machine_after_the_other() -> None:
    with hosts(NamespaceRuntime(), isolated=True) as (made, _):
        with made.lent(ONE, own_tree=False) as (first, _):
            assert present(first) == "0-1"
        with made.lent(OTHER, own_tree=False) as (second, _):
            assert second is first
            assert present(second) == "0-3"
        with made.lent(ONE, own_tree=True) as (own, tree):
            assert own is first
            change(tree, lambda machine: without_cpus(machine, (1,)))
            assert own.running.execute(("cat", "/sys/devices/system/cpu/online")).output == "0\n"
        with made.lent(ONE, own_tree=False) as (again, _):
            assert again is first
            assert again.running.execute(("cat", "/sys/devices/system/cpu/online")).output == "0-1\n"
            assert again.sysfs_root == "/"
        with made.lent("host", own_tree=False) as (last, _):
            assert last is first
            assert present(last) == Path("/sys/devices/system/cpu/present").read_text().strip()


def test_nobody_s_machine_is_taken_away() -> None:
    with hosts(NamespaceRuntime(), isolated=True) as (made, _), made.lent(ONE, own_tree=False) as (first, _):
        with made.lent(OTHER, own_tree=False) as (second, _):
            assert (present(first), present(second)) == ("0-1", "0-3")
        with made.lent("host", own_tree=False) as (third, _):
            assert third is second
            assert present(first) == "0-1"


def test_of_two_hosts_the_one_that_loses_its_tree_goes() -> None:
    with hosts(NamespaceRuntime(), isolated=True) as (made, _), made.lent("host", own_tree=False) as (first, _):
        with made.lent(ONE, own_tree=True) as (own, _):
            assert present(own) == "0-1"
        assert not own.alive()
        assert first.alive()


def test_one_that_dies_with_a_tree_of_its_own_is_replaced() -> None:
    with hosts(NamespaceRuntime(), isolated=True) as (made, _):
        with made.lent(ONE, own_tree=True) as (own, _):
            own.running.terminate()
            wait_until(lambda: not own.alive(), "the end of the warm process")
        with made.lent(ONE, own_tree=False) as (new, _):
            assert present(new) == "0-1"


def test_a_host_that_sees_who_knows_what_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_running: Launched, _machine: Path | None) -> bool:
        raise CannotStartError("cannot mount /sys: no")

    monkeypatch.setattr(Launched, "show", fail)
    runtime = Blind()
    with hosts(runtime, isolated=True) as (made, _):
        with made.lent(ONE, own_tree=False):
            pass
        with pytest.raises(CannotStartError, match="cannot mount"), made.lent(OTHER, own_tree=False):
            pass
        assert runtime.alive() == []
        with made.lent(ONE, own_tree=False) as (new, _):
            assert new.alive()


def test_without_isolation_one_host_serves_all_machines() -> None:
    runtime = Blind()
    with hosts(runtime, isolated=False) as (made, trees):
        with made.lent(ONE, own_tree=False) as (first, _):
            assert first.sysfs_root == str(trees.of(ONE))
        with made.lent(OTHER, own_tree=False) as (second, _):
            assert second is first
            assert second.sysfs_root == str(trees.of(OTHER))
        assert len(runtime.started) == 1


def test_the_host_itself_is_seen_as_it_is() -> None:
    runtime = Blind()
    with hosts(runtime, isolated=True) as (made, _), made.lent("host", own_tree=False) as (_, tree):
        assert tree == Path("/")
        assert runtime.started[0][0].machine is None


def test_whoever_changes_the_tree_gets_one_alone() -> None:
    runtime = Blind()
    with hosts(runtime, isolated=True) as (made, trees), made.lent(ONE, own_tree=False) as (kept, _):
        with made.lent(ONE, own_tree=True) as (own, tree):
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
    with hosts(runtime, isolated=True) as (made, trees):
        for machine in machines[:12]:
            with made.lent(machine, own_tree=False):
                pass
        with made.lent(machines[0], own_tree=False), made.lent(machines[12], own_tree=False):
            alive = {program.machine for program in runtime.alive()}
        assert alive == {trees.of(machine) for machine in machines if machine != machines[1]}
    assert runtime.alive() == []


def test_one_that_died_is_replaced() -> None:
    runtime = Blind()
    with hosts(runtime, isolated=True) as (made, _):
        with made.lent(ONE, own_tree=False) as (first, _):
            first.running.terminate()
            wait_until(lambda: not first.alive(), "the end of the warm process")
        with made.lent(ONE, own_tree=False) as (second, _):
            assert second is not first
            assert second.alive()


def test_one_that_does_not_come_up_is_told_with_what_it_printed() -> None:
    runtime = Blind()
    with (
        hosts(runtime, isolated=True, warm=("-c", "print('no luck')")) as (made, _),
        pytest.raises(RigFailedError, match="the warm process ended: no luck"),
        made.lent(ONE, own_tree=False),
    ):
        pass
    assert runtime.alive() == []


def test_an_order_that_nobody_takes_is_told() -> None:
    with short_directory() as place:
        # It binds and does not listen.
        host = Host(ProcessRuntime(), Program((sys.executable, *QUICK, str(place / "h"))), place / "h", "/")
        try:
            with pytest.raises(RigFailedError, match="takes no orders"):
                host.start(["machine", "list"], place / "out")
        finally:
            host.close()
