"""A tree that changes while it is in use: afterwards it is the changed machine's, and nothing else has moved."""

import errno
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from numaproof.fake_sysfs.alter import with_cpus, with_hugepages, with_vfs, without_cpus
from numaproof.fake_sysfs.change import change
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.files import files
from numaproof.fake_sysfs.machine import Machine
from numaproof.fake_sysfs.read import read
from numaproof.fake_sysfs.write import write
from tests.fake_sysfs.example import MACHINE, PF
from tests.fake_sysfs.on_disk import contents, on_a_small_disk
from tests.places import short_directory

CHANGES: dict[str, Callable[[Machine], Machine]] = {
    "nothing": lambda machine: machine,
    "cpu off": lambda machine: without_cpus(machine, (3,)),
    "a whole node's cpus off": lambda machine: without_cpus(machine, machine.cpus_of(1)),
    "hugepages": lambda machine: with_hugepages(machine, 1, 1048576, 4),
    "no hugepages": lambda machine: with_hugepages(machine, 0, 2048, 0),
    "more vfs": lambda machine: with_vfs(machine, PF, 4),
    "fewer vfs": lambda machine: with_vfs(machine, PF, 1),
    "no vfs": lambda machine: with_vfs(machine, PF, 0),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_changed_tree_is_the_one_written_from_the_changed_machine(name: str) -> None:
    with short_directory() as place:
        write(files(MACHINE), place / "tree")
        changed = change(place / "tree", CHANGES[name])
        assert changed == CHANGES[name](MACHINE)
        write(files(changed), place / "expected")
        assert contents(place / "tree") == contents(place / "expected")
        assert read(place / "tree") == changed


def test_a_change_and_its_contrary_leave_the_tree_as_it_was() -> None:
    with short_directory() as place:
        write(files(MACHINE), place / "tree")
        before = contents(place / "tree")
        change(place / "tree", lambda machine: without_cpus(machine, (0, 8, 15)))
        change(place / "tree", lambda machine: with_vfs(machine, PF, 3))
        assert contents(place / "tree") != before
        change(place / "tree", lambda machine: with_cpus(machine, (0, 8, 15), like=MACHINE))
        change(place / "tree", lambda machine: with_vfs(machine, PF, 2))
        assert contents(place / "tree") == before


def test_a_cpu_comes_back_beside_one_that_stays_off() -> None:
    both_off = without_cpus(MACHINE, (0, 8))
    assert with_cpus(both_off, (8,), like=MACHINE) == without_cpus(MACHINE, (0,))


def test_an_isolated_cpu_stays_so_while_it_is_off() -> None:
    machine = replace(MACHINE, isolated=(3, 4))
    off = without_cpus(machine, (3, 5))
    assert off.isolated == (3, 4)
    assert with_cpus(off, (3, 5), like=machine) == machine
    with short_directory() as place:
        write(files(machine), place / "tree")
        assert change(place / "tree", lambda machine: without_cpus(machine, (3, 5))) == off
        assert (place / "tree/sys/devices/system/cpu/isolated").read_text() == "3-4\n"
        assert "isolcpus=3-4" in (place / "tree/proc/cmdline").read_text().split()


def test_an_open_file_and_files_of_the_same_content_stay_as_they_are() -> None:
    with short_directory() as place:
        write(files(MACHINE), place / "tree")
        online = place / "tree/sys/devices/system/cpu/cpu3/online"
        assert online.samefile(place / "tree/sys/devices/system/cpu/cpu4/online"), "not hard-linked: nothing is tested"
        with online.open() as file:
            change(place / "tree", CHANGES["cpu off"])
            assert file.read() == "1\n"
        assert online.read_text() == "0\n"
        assert (place / "tree/sys/devices/system/cpu/cpu4/online").read_text() == "1\n"


@pytest.mark.parametrize("name", ["cpu off", "hugepages", "more vfs", "fewer vfs"])
def test_at_no_moment_is_a_file_missing_that_both_machines_have(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    after = files(CHANGES[name](MACHINE))
    both = [path for path in files(MACHINE) if path in after]
    rename = os.rename
    renamed: list[str] = []
    with short_directory() as place:
        write(files(MACHINE), place / "tree")

        def rename_and_look(source: str, target: str) -> None:
            rename(source, target)
            renamed.append(target)
            assert [path for path in both if not os.path.lexists(place / "tree" / path)] == []

        monkeypatch.setattr(os, "rename", rename_and_look)
        change(place / "tree", CHANGES[name])
    assert renamed


def test_changes_at_the_same_time_are_made_one_after_the_other() -> None:
    with short_directory() as place:
        write(files(MACHINE), place / "tree")
        cpus = range(1, 9)
        threads = [
            threading.Thread(target=change, args=(place / "tree", lambda m, n=n: without_cpus(m, (n,)))) for n in cpus
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert read(place / "tree") == without_cpus(MACHINE, tuple(cpus))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda machine: without_cpus(machine, (77,)), ("cpu 77", "online")),
        (lambda machine: with_cpus(machine, (3,), like=MACHINE), ("cpu 3", "offline")),
        (lambda machine: with_hugepages(machine, 7, 2048, 1), ("node 7", "0-1")),
        (lambda machine: with_hugepages(machine, 1, 1048576, 9), ("node 1", "more than the node's memory")),
        (lambda machine: with_vfs(machine, PF, 5), (PF, "0 to 4")),
        (lambda machine: with_vfs(machine, "0000:80:01.0", 1), ("0000:80:01.0", PF)),
    ],
    ids=["no such cpu", "online already", "no such node", "too many pages", "too many VFs", "no VFs"],
)
def test_an_impossible_change_is_refused_in_one_line_and_changes_nothing(
    wrong: Callable[[Machine], Machine], words: tuple[str, ...]
) -> None:
    with short_directory() as place:
        write(files(MACHINE), place / "tree")
        before = contents(place / "tree")
        with pytest.raises(MachineError) as caught:
            change(place / "tree", wrong)
        assert "\n" not in str(caught.value)
        assert all(word in str(caught.value) for word in words)
        assert contents(place / "tree") == before


def test_a_tree_that_is_not_ours_is_not_touched() -> None:
    with short_directory() as place:
        write({"sys/devices/system/cpu/online": b"0\n"}, place / "tree")
        with pytest.raises(MachineError, match="not written by numaproof"):
            change(place / "tree", CHANGES["nothing"])


# Fill a small disk up to a little, and a little more, until the change fits: each failure must leave the old state.
FULL_DISK = """
import os, sys
from pathlib import Path
from numaproof.fake_sysfs.change import change
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.files import files
from numaproof.fake_sysfs.write import write
from tests.fake_sysfs.example import MACHINE, PF
from tests.fake_sysfs.on_disk import contents
from tests.fake_sysfs.example import MACHINE
from tests.fake_sysfs.test_change import CHANGES
from tests.places import short_directory

disk = Path(sys.argv[1])
tree = disk / "tree"
write(files(MACHINE), tree)
before = contents(tree)
fillers = []
try:
    while True:
        filler = disk / f"filler{len(fillers)}"
        fillers.append(filler)
        filler.write_bytes(%(content)s)
except OSError:
    pass
for failures in range(len(fillers)):
    try:
        change(tree, CHANGES["more vfs"])
        break
    except MachineError as error:
        assert "no space is left" in str(error), error
        assert contents(tree) == before, "the old state is not left"
    for _ in range(%(step)s):
        fillers.pop().unlink(missing_ok=True)
else:
    raise SystemExit("the change never fitted")
for filler in fillers:
    filler.unlink(missing_ok=True)
with short_directory() as place:
    write(files(CHANGES["more vfs"](MACHINE)), place / "expected")
    assert contents(tree) == contents(place / "expected")
print(failures)
"""


@pytest.mark.parametrize(
    ("content", "step", "options"),
    [("b'x' * 4096", 3, "size=3m"), ("b''", 9, "nr_inodes=3000")],
    ids=["no blocks", "no inodes"],
)
def test_a_full_disk_leaves_the_old_state(content: str, step: int, options: str) -> None:
    with short_directory() as place:
        failures = int(on_a_small_disk(FULL_DISK % {"content": content, "step": step}, place, options))
        assert failures > 2, "the disk was not full"


@pytest.mark.parametrize("name", ["more vfs", "no vfs", "cpu off", "hugepages"])
def test_a_failure_in_the_middle_leaves_the_old_state(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = os.rename
    calls = 0
    failing = 0

    def rename_or_fail(source: str, target: str) -> None:
        nonlocal calls
        calls += 1
        if calls == failing:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        rename(source, target)

    with short_directory() as place:
        write(files(MACHINE), place / "tree")
        before = contents(place / "tree")
        monkeypatch.setattr(os, "rename", rename_or_fail)
        change(place / "tree", CHANGES["nothing"])
        assert calls == 0
        # At every step would take long: the first ones, and then some.
        for step in (1, 2, 3, *range(4, 1000, 9)):
            calls, failing = 0, step
            refused = refusal(place / "tree", CHANGES[name])
            if not refused:
                break
            assert "nothing was changed" in refused
            assert contents(place / "tree") == before
        assert failing > 3
        assert read(place / "tree") == CHANGES[name](MACHINE)


def refusal(tree: Path, to: Callable[[Machine], Machine]) -> str:
    """Why the tree cannot be changed so; empty when it has been."""
    try:
        change(tree, to)
    except MachineError as error:
        return str(error)
    return ""


def test_a_directory_in_which_a_stranger_lies_is_not_taken_away() -> None:
    with short_directory() as place:
        write(files(MACHINE), place / "tree")
        (place / "tree/sys/bus/pci/devices/0000:81:00.1/stranger").write_text("mine")
        before = contents(place / "tree")
        with pytest.raises(MachineError, match=r"not empty.*nothing was changed"):
            change(place / "tree", CHANGES["no vfs"])
        assert contents(place / "tree") == before
