"""The plain launcher: any program, with its machine, its binds and its environment."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from numaproof.harness.runtimes import Bind, CannotStartError, Runtime
from numaproof.harness.runtimes.launcher import PlainLauncher
from numaproof.harness.runtimes.local import NamespaceRuntime, ProcessRuntime
from numaproof.harness.runtimes.trees import HOST, Trees
from tests.places import short_directory
from tests.waiting import wait_until

MACHINE = "pack:2 [numa] core:3 pu:1"
# A shell, which is not Python: it says which CPUs it sees, and what it was given.
SHELL = ("/bin/sh", "-c", 'cat "$0/sys/devices/system/cpu/present"; echo "$COMMON $WORD"; exec "$@"')


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as place:
        yield place


def launcher(runtime: Runtime, tree: Path, *binds: Bind) -> PlainLauncher:
    isolated = runtime.name != "process"
    environment = {"COMMON": "a", "WORD": "b"}
    return PlainLauncher(runtime, tree, isolated=isolated, numaproof=(), binds=binds, environment=environment)


@pytest.mark.parametrize("runtime", [NamespaceRuntime(), ProcessRuntime()], ids=lambda one: one.name)
def test_a_program_sees_its_machine_and_its_environment(place: Path, runtime: Runtime) -> None:
    made = launcher(runtime, Trees(place).of(MACHINE))
    with made.start((*SHELL, made.sysfs_root, "sh", "-c", "exit 3"), environment={"WORD": "c"}) as running:
        assert running.wait(60) == 3
        assert running.output().splitlines() == ["0-5", "a c"]


@pytest.mark.parametrize("runtime", [NamespaceRuntime(), ProcessRuntime()], ids=lambda one: one.name)
def test_a_program_is_stopped_and_reaped(runtime: Runtime) -> None:
    made = launcher(runtime, HOST)
    forever = "trap 'echo bye; exit 4' TERM; echo up; while :; do sleep 0.05; done"
    with made.start(("/bin/sh", "-c", forever)) as running:
        wait_until(lambda: "up" in running.output(), "the program's first word")
        running.terminate()
        assert running.wait(60) == 4
    with made.start(("sleep", "1000")) as running:
        assert running.poll() is None
    assert running.poll() == 128 + 9


def test_binds_of_all_and_of_one_program(place: Path) -> None:
    for name in ("all", "one"):
        (place / name).mkdir()
        (place / name / "file").write_text(name)
    made = launcher(NamespaceRuntime(), HOST, Bind(place / "all", "/opt/np-all"))
    bind = Bind(place / "one", "/opt/np-one", read_only=True)
    with made.start(("cat", "/opt/np-all/file", "/opt/np-one/file"), binds=(bind,)) as running:
        assert running.wait(60) == 0
        assert running.output() == "allone"


def test_binds_are_refused_where_nothing_is_mounted(place: Path) -> None:
    with pytest.raises(CannotStartError, match="mounts nothing"):
        launcher(ProcessRuntime(), HOST).start(("/bin/true",), binds=(Bind(place, "/opt/np"),))
