"""Programs without an engine: what they see, what they leave (nothing), and how they end."""

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from numaproof import fake_sysfs
from numaproof.harness.runtimes import Bind, CannotStartError, DeviceNode, Program
from numaproof.harness.runtimes.local import NamespaceRuntime, ProcessRuntime
from numaproof.harness.runtimes.program import ShowsMachines
from tests.places import short_directory
from tests.waiting import wait_until

RUNTIMES = [NamespaceRuntime(), ProcessRuntime()]
both = pytest.mark.parametrize("runtime", RUNTIMES, ids=lambda runtime: runtime.name)


def shell(text: str) -> Program:
    return Program(("/bin/sh", "-c", text))


def gone(pid: int) -> bool:
    """Whether no such process runs; a zombie does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter: it ended between open and read
        return True


@both
def test_output_and_exit_code(runtime: NamespaceRuntime | ProcessRuntime) -> None:
    with runtime.start(shell("echo out; echo err >&2; exit 7")) as running:
        assert running.wait(60) == 7
        assert sorted(running.output().split()) == ["err", "out"]


@both
def test_sigterm_reaches_the_program(runtime: NamespaceRuntime | ProcessRuntime) -> None:
    with runtime.start(shell("trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done")) as running:
        wait_until(lambda: "up" in running.output(), "the program's first word")
        running.terminate()
        assert running.wait(60) == 3
        assert "bye" in running.output()


@both
def test_a_program_ended_by_a_signal(runtime: NamespaceRuntime | ProcessRuntime) -> None:
    with runtime.start(shell("kill -9 $$")) as running:
        assert running.wait(60) == 128 + signal.SIGKILL


@both
def test_what_the_program_started_ends_with_it(runtime: NamespaceRuntime | ProcessRuntime) -> None:
    with short_directory() as place:
        # A daemon: its own session, its parent gone. Its number is told by the host, whatever namespace it is in.
        program = shell(f"setsid sh -c 'exec 9<{place}; while :; do sleep 1; done' & sleep 1000")
        with runtime.start(program) as running:
            holders = wait_until(lambda: processes_holding(place), "the daemon")
            assert running.poll() is None
        assert all(gone(pid) for pid in holders)


def processes_holding(place: Path) -> list[int]:
    """The processes that have a place open, as the host numbers them."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            files = [str(file.readlink()) for file in (process / "fd").iterdir()]
        except OSError:
            continue
        if str(place) in files:
            found.append(int(process.name))
    return found


@both
def test_a_killed_harness_leaves_nothing(runtime: NamespaceRuntime | ProcessRuntime) -> None:
    with short_directory() as place:
        harness = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import sys\n"
                "from numaproof.harness.runtimes import Program\n"
                f"from numaproof.harness.runtimes.local import {type(runtime).__name__} as Runtime\n"
                f"running = Runtime().start(Program(('/bin/sh', '-c', 'exec 9<{place}; while :; do sleep 1; done')))\n"
                "print('up', flush=True)\n"
                "sys.stdin.read()",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with harness:
            assert harness.stdout is not None
            assert harness.stdout.readline() == b"up\n"
            holders = wait_until(lambda: processes_holding(place), "the program")
            harness.kill()
        wait_until(lambda: all(gone(pid) for pid in holders), "the end of the program")


@both
def test_a_flood_is_drained_and_cut(runtime: NamespaceRuntime | ProcessRuntime) -> None:
    with runtime.start(shell("echo first; yes flood | head -c 3000000; echo last")) as running:
        assert running.wait(120) == 0
        text = running.output()
        assert text.startswith("first\n")
        assert text.endswith("last\n")
        assert "bytes left out" in text
        assert len(text) < 1_000_000


@both
def test_a_command_that_does_not_exist(runtime: NamespaceRuntime | ProcessRuntime) -> None:
    with pytest.raises(CannotStartError, match="cannot start /no/such/program: No such file"):
        runtime.start(Program(("/no/such/program",)))


@both
def test_a_command_is_executed_beside_the_program(runtime: NamespaceRuntime | ProcessRuntime) -> None:
    with runtime.start(shell("while :; do sleep 1; done")) as running:
        done = running.execute(("/bin/sh", "-c", "echo here; exit 4"))
        assert (done.code, done.output) == (4, "here\n")


def test_binds_appear_where_nothing_was_and_the_host_does_not_see_them() -> None:
    with short_directory() as source, short_directory() as host:
        (source / "word").write_text("hello\n")
        (host / "file").write_text("kept\n")
        (host / "folder").mkdir()
        (host / "link").symlink_to("file")
        target = f"{host}/deep/place"
        program = Program(
            ("/bin/sh", "-c", f"cat {target}/word {host}/link; echo more > {target}/new; ls {host}"),
            binds=(Bind(source, target),),
        )
        with NamespaceRuntime().start(program) as running:
            assert running.wait(60) == 0
            assert running.output().split() == ["hello", "kept", "deep", "file", "folder", "link"]
        assert (source / "new").read_text() == "more\n"
        assert sorted(path.name for path in host.iterdir()) == ["file", "folder", "link"]


def test_a_directory_that_had_to_grow_is_as_open_as_before() -> None:
    # In one that all may write to, the kernel would let a user not even open /dev/null to write.
    script = "stat -c %a /dev; echo gone > /dev/null && echo written"
    device = DeviceNode("/dev/null", "/dev/numaproof/one", "rw")
    with NamespaceRuntime().start(Program(("/bin/sh", "-c", script), devices=(device,))) as running:
        assert running.wait(60) == 0
        assert running.output().split() == [f"{Path('/dev').stat().st_mode & 0o7777:o}", "written"]


def test_a_read_only_bind_refuses_writes() -> None:
    with short_directory() as place:
        program = Program(("/bin/sh", "-c", "echo x > /mnt/file"), binds=(Bind(place, "/mnt", read_only=True),))
        with NamespaceRuntime().start(program) as running:
            assert running.wait(60) != 0
            assert "Read-only" in running.output()
        assert list(place.iterdir()) == []


def test_a_place_at_the_root_that_does_not_exist_is_told() -> None:
    with short_directory() as place, pytest.raises(CannotStartError, match="cannot mount /no-such-place/x: its first"):
        NamespaceRuntime().start(Program(("/bin/true",), binds=(Bind(place, "/no-such-place/x"),)))


def test_a_bind_of_nothing_is_told() -> None:
    with pytest.raises(CannotStartError, match="cannot mount /no/such/source"):
        NamespaceRuntime().start(Program(("/bin/true",), binds=(Bind(Path("/no/such/source"), "/mnt"),)))


def write_machine(argument: str, tree: Path) -> Path:
    fake_sysfs.write(fake_sysfs.files(fake_sysfs.parse_machine(argument)), tree)
    return tree


def test_a_running_program_is_shown_another_machine() -> None:
    with short_directory() as place:
        small = write_machine("pack:1 core:2 pu:1", place / "small")
        large = write_machine("pack:2 [numa(memory=4GB)] core:2 pu:1", place / "large")
        with NamespaceRuntime().start(replace(shell("while :; do sleep 1; done"), machine=small)) as running:

            def seen() -> list[str]:
                files = ("/sys/devices/system/cpu/present", "/sys/devices/system/node/online", "/proc/self/mountinfo")
                cpus, nodes, *mounts = running.execute(("cat", *files)).output.splitlines()
                return [cpus, nodes, str(len(mounts))]

            first = seen()
            assert first[:2] == ["0-1", "0"]
            running.show(large)
            assert seen() == ["0-3", "0-1", first[2]]  # as many mounts: none lies below another
            running.show(None)
            assert seen()[0] == Path("/sys/devices/system/cpu/present").read_text().strip()
            running.show(small)
            assert seen() == first


def test_the_kernels_command_line_is_that_of_the_machine() -> None:
    with short_directory() as place:
        (place / "mine.yaml").write_text("cores: 8\nisolated: 2-7\n")
        tree = write_machine(str(place / "mine.yaml"), place / "tree")
        look = replace(shell("cat /sys/devices/system/cpu/isolated /proc/cmdline"), machine=tree)
        with NamespaceRuntime().start(look) as running:
            assert running.wait(60) == 0
            assert running.output() == "2-7\nBOOT_IMAGE=/boot/vmlinuz root=/dev/sda1 ro isolcpus=2-7\n"


def test_a_tree_without_a_command_line_is_shown_with_the_hosts() -> None:
    with short_directory() as place:
        tree = write_machine("pack:1 core:2 pu:1", place / "tree")
        (tree / "proc/cmdline").unlink()
        look = replace(shell("cat /sys/devices/system/cpu/present /proc/cmdline"), machine=tree)
        with NamespaceRuntime().start(look) as running:
            assert running.wait(60) == 0
            assert running.output() == f"0-1\n{Path('/proc/cmdline').read_text()}"


def test_a_machine_that_cannot_be_shown_is_told() -> None:
    with short_directory() as place:
        (place / "sys").mkdir()
        (place / "sys/devices").write_text("no directory")
        with NamespaceRuntime().start(shell("while :; do sleep 1; done")) as running:
            with pytest.raises(CannotStartError, match=r"cannot mount .*/sys/devices: Not a directory"):
                running.show(place)
            assert running.poll() is None


def test_a_program_that_has_ended_is_shown_nothing() -> None:
    with NamespaceRuntime().start(shell("echo bye")) as running:
        assert running.wait(60) == 0
        with pytest.raises(CannotStartError, match="the program has ended: bye"):
            running.show(None)


def test_where_nothing_is_mounted_no_machine_is_shown() -> None:
    with ProcessRuntime().start(shell("sleep 1000")) as running:
        assert not isinstance(running, ShowsMachines)


def test_the_process_runtime_says_that_it_mounts_nothing() -> None:
    with pytest.raises(CannotStartError, match="mounts nothing"):
        ProcessRuntime().start(Program(("/bin/true",), binds=(Bind(Path("/etc"), "/mnt"),)))
