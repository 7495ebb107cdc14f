"""Programs in containers of a real engine: what they see, and that none outlives its run."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from numaproof import fake_sysfs
from numaproof.errors import UserError
from numaproof.harness.runtimes import Bind, CannotStartError, Program
from numaproof.harness.runtimes.docker import LABEL, DockerRuntime, connect, engine_answers, reap_containers
from numaproof.harness.runtimes.engine.contexts import engine_address
from numaproof.harness.runtimes.image.build import ensure_image
from numaproof.harness.runtimes.program import ShowsMachines
from numaproof.harness.runtimes.scratch import run_directory
from tests.harness.runtimes.engine.test_contexts import create_context, use_context
from tests.places import short_directory
from tests.waiting import wait_until

# `make test` gives an engine of its own where none answers (root, Debian): only elsewhere is there nothing to test.
pytestmark = pytest.mark.skipif(not engine_answers(), reason="no Docker engine answers, and none could be started")


@pytest.fixture(scope="module")
def runtime() -> Iterator[DockerRuntime]:
    with run_directory("test") as run:
        runtime = DockerRuntime(ensure_image(), run)
        yield runtime
        runtime.close()


def shell(text: str, *binds: Bind) -> Program:
    return Program(("/bin/sh", "-c", text), binds=binds)


def test_the_engine_of_a_context_is_used_unless_a_host_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def engine() -> str:
        with contextlib.closing(connect()) as client:
            return str(client.info()["DockerRootDir"])

    there, address = engine(), engine_address(os.environ)
    create_context(tmp_path, "there", address)
    create_context(tmp_path, "nowhere", "unix:///nonexistent/context.sock")
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("DOCKER_CONTEXT", "there")
    assert engine() == there
    use_context(tmp_path, "nowhere")
    assert engine() == there
    monkeypatch.delenv("DOCKER_CONTEXT")
    with pytest.raises(UserError, match="no Docker engine answers at unix:///nonexistent/context"):
        engine()
    monkeypatch.setenv("DOCKER_HOST", address)
    assert engine() == there


def test_output_and_exit_code(runtime: DockerRuntime) -> None:
    with runtime.start(shell("echo out; echo err >&2; exit 7")) as running:
        assert running.wait(60) == 7
        assert sorted(running.output().split()) == ["err", "out"]


def test_sigterm_reaches_the_program(runtime: DockerRuntime) -> None:
    with runtime.start(shell("trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done")) as running:
        wait_until(lambda: "up" in running.output(), "the program's first word")
        done = running.execute(("/bin/sh", "-c", "echo here; exit 4"))
        assert (done.code, done.output) == (4, "here\n")
        assert not isinstance(running, ShowsMachines)
        running.terminate()
        assert running.wait(60) == 3


def test_no_network_no_privileges_no_writable_root(runtime: DockerRuntime) -> None:
    look = "ls /sys/class/net; grep CapEff /proc/self/status; touch /etc/x 2>/dev/null || echo read-only"
    with runtime.start(shell(look)) as running:
        assert running.wait(60) == 0
        printed = running.output().split()
    assert "read-only" in printed
    assert printed[printed.index("CapEff:") + 1] == "0000000000000000"
    assert "eth0" not in printed


def test_what_the_engine_was_told_of_a_container(runtime: DockerRuntime) -> None:
    with runtime.start(shell("sleep 1000")) as running, contextlib.closing(connect()) as client:
        told = client.api.inspect_container(running.execute(("hostname",)).output.strip())
    config, host = told["Config"], told["HostConfig"]
    assert not host["Privileged"]
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"]
    assert not host["CapAdd"]
    # Podman lists what it dropped, one by one.
    assert host["CapDrop"] == ["ALL"] or "CHOWN" in host["CapDrop"]
    assert any(option.startswith("no-new-privileges") for option in host["SecurityOpt"])
    assert 0 < host["PidsLimit"] <= 4096
    assert config["User"] == f"{os.geteuid()}:{os.getegid()}"
    assert not any(host[shared] == "host" for shared in ("PidMode", "IpcMode", "UTSMode", "UsernsMode"))


def test_binds_are_seen_and_written_through(runtime: DockerRuntime) -> None:
    with short_directory() as place:
        (place / "word").write_text("hello\n")
        with runtime.start(shell("cat /mnt/word; echo more > /mnt/new", Bind(place, "/mnt"))) as running:
            assert running.wait(60) == 0
            assert running.output() == "hello\n"
        assert (place / "new").read_text() == "more\n"


def test_the_machine_is_seen_but_for_the_command_line_which_no_container_may_cover(runtime: DockerRuntime) -> None:
    machine = replace(fake_sysfs.parse_machine("pack:1 core:8 pu:1"), isolated=(2, 3))
    with short_directory() as place:
        fake_sysfs.write(fake_sysfs.files(machine), place / "tree")
        program = shell("cat /sys/devices/system/cpu/isolated; grep -c ^processor /proc/cpuinfo")
        with runtime.start(replace(program, machine=place / "tree")) as running:
            assert running.wait(60) == 0
            assert running.output().split() == ["2-3", "8"]


def test_cpus_and_memory_are_bound(runtime: DockerRuntime) -> None:
    program = shell("grep -E '^(Cpus|Mems)_allowed_list:' /proc/self/status")
    with runtime.start(replace(program, cpus=(0,), memory_nodes=(0,))) as running:
        assert running.wait(60) == 0
        assert running.output().split() == ["Cpus_allowed_list:", "0", "Mems_allowed_list:", "0"]


def test_a_command_that_does_not_exist(runtime: DockerRuntime) -> None:
    with pytest.raises(CannotStartError, match="cannot start /no/such/program"):
        runtime.start(Program(("/no/such/program",)))


def test_the_image_holds_our_command(runtime: DockerRuntime) -> None:
    with runtime.start(Program(("python3", "-m", "numaproof", "machine", "list"))) as running:
        assert running.wait(120) == 0
        assert "laptop" in running.output().split()


def test_the_image_holds_the_suites(runtime: DockerRuntime) -> None:
    words = ("run", "--runtime", "process", "--out", "/tmp/out", "single_numa/too-large")
    with runtime.start(Program(("python3", "-m", "numaproof", *words))) as running:
        assert running.wait(120) == 0, running.output()
        assert "PASSED: 8 of 8 instances on 2 machines, " in running.output()


def test_a_container_that_somebody_removed_has_ended(runtime: DockerRuntime) -> None:
    with runtime.start(shell("sleep 1000")) as running:
        assert running.poll() is None
        with contextlib.closing(connect()) as client:
            client.api.remove_container(running.execute(("hostname",)).output.strip(), force=True)
        assert running.wait(60) == 128 + signal.SIGKILL
        assert running.output() == ""


def test_containers_of_a_killed_run_are_reaped() -> None:
    code = (
        "import sys\n"
        "from numaproof.harness.runtimes import Program\n"
        "from numaproof.harness.runtimes.docker import DockerRuntime\n"
        "from numaproof.harness.runtimes.image.build import ensure_image\n"
        "from numaproof.harness.runtimes.scratch import run_directory\n"
        "with run_directory('test') as place:\n"
        "    DockerRuntime(ensure_image(), place).start(Program(('sleep', '1000')))\n"
        "    print(place, flush=True)\n"
        "    sys.stdin.read()"
    )
    client = connect()
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        place = Path(run.stdout.readline().strip())

        def containers() -> list[str]:
            found = client.containers.list(all=True, filters={"label": f"{LABEL}={place}"}, ignore_removed=True)
            return [str(container.name) for container in found]

        (name,) = containers()
        assert name not in reap_containers(client)
        run.kill()
    cleaned = subprocess.run(
        [sys.executable, "-m", "numaproof", "clean"], capture_output=True, text=True, check=True
    ).stdout
    assert f"removed {place}" in cleaned or not place.exists()
    assert containers() == []
    client.close()
