"""`numaproof node` as a program: its flags, its ready line, its end."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from numaproof import fake_sysfs
from numaproof.harness.cli import main
from tests.harness.node.running import client, pod
from tests.places import short_directory

FLAGS = [
    "--topology-manager-policy=single-numa-node",
    "--topology-manager-scope=pod",
    "--cpu-manager-policy=static",
    "--reserved-cpus=0",
    "--memory-manager-policy=Static",
    "--kube-reserved=memory=924Mi",
    "--eviction-hard=memory.available<100Mi",
    "--reserved-memory=0:memory=512Mi;1:memory=512Mi",
    "--feature-gates=TopologyManager=true",
]
MACHINE = "pack:2 [numa(memory=64GiB)] core:4 pu:2"


@contextmanager
def node(root: Path, *flags: str) -> Iterator["subprocess.Popen[str]"]:
    """The program, killed at the end if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "numaproof", "node", "--root", str(root), *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def ready_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("ready: "), process.stderr.read() if process.stderr else ""
    return line


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_told_to_stop_and_goes_on_where_it_was(number: signal.Signals) -> None:
    with short_directory() as root:
        with node(root, "--machine", MACHINE, "--port", "0", *FLAGS) as process:
            line = ready_line(process)
            assert "2 NUMA nodes, 16 CPUs; policy single-numa-node, scope pod" in line
            assert re.search(r"http://127\.0\.0\.1:\d+$", line.strip())
            with client(root) as control:
                given = control.admit(pod("p", {"cpu": 2, "memory": "1Gi"})).pod
                two = pod("q", {"cpu": 6, "memory": "1Gi"}, {"cpu": 6, "memory": "1Gi"})
                assert control.admit(two).verdict.reason == "TopologyAffinityError"
            process.send_signal(number)
            assert process.wait(120) == 0
            assert process.stderr is not None
            assert "Traceback" not in process.stderr.read()
        assert not list(root.rglob("*.sock"))
        with node(root, "--machine", MACHINE, *FLAGS) as process:
            ready_line(process)
            with client(root) as control:
                assert list(control.state().pods) == [given]


def test_it_reads_the_machine_from_a_tree_and_its_configuration_from_a_file() -> None:
    with short_directory() as place:
        fake_sysfs.write(fake_sysfs.files(fake_sysfs.parse_machine(MACHINE)), place / "tree")
        (place / "kubelet.yaml").write_text(
            "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n"
            "topologyManagerPolicy: restricted\nfeatureGates: {CPUManagerPolicyAlphaOptions: true}\n"
        )
        flags = ("--config", str(place / "kubelet.yaml"), "--sysfs-root", str(place / "tree"))
        options = (
            "--cpu-manager-policy=static",
            "--reserved-cpus=0",
            "--cpu-manager-policy-options=align-by-socket=true",
        )
        with node(place / "r", *flags, *options, "--feature-gates", "TopologyManager=true") as process:
            assert "2 NUMA nodes, 16 CPUs; policy restricted, scope container" in ready_line(process)


def test_this_machine_is_the_machine_when_none_is_given() -> None:
    with short_directory() as root, node(root) as process:
        assert f"{len(fake_sysfs.read(Path('/')).cpu_ids)} CPUs" in ready_line(process)


BAD = (
    (["--machine", "nonesuch"], "nonesuch"),
    (["--sysfs-root", "/nonesuch"], "/nonesuch"),
    (["--config", "/nonesuch.yaml"], "/nonesuch.yaml: cannot be read"),
    (["--topology-manager-policy", "tight"], "--topology-manager-policy: unknown value 'tight'"),
    (["--topology-manager-policy-options", "max-allowable-numa-nodes=4"], "--topology-manager-policy-options: "),
    (["--cpu-manager-policy", "static"], "greater than zero"),
    (["--reserved-cpus", "0-"], "--reserved-cpus: "),
    (["--reserved-cpus", "99"], "CPUs 99 are not online"),
    (["--reserved-memory", "memory=1Gi"], "is not of the form NODE:NAME=VALUE"),
    (["--system-reserved", "cpu"], "is not of the form NAME=VALUE"),
    (["--eviction-hard", "memory.available=1Gi"], "is not of the form NAME<VALUE"),
    (["--feature-gates", "TopologyManger=true"], "did you mean TopologyManager?"),
    (["--memory-manager-policy", "Static"], "reservedMemory: "),
    (["--deadline", "0"], "--deadline 0"),
    (["--grace", "-1"], "--grace -1"),
    (["--port", "99999999"], "--port 99999999"),
    (["--max-pods", "-1"], "--max-pods"),
    (["--name", "Node_A x"], "--name 'Node_A x': is not a node's name"),
    (["--name", "a\nb"], "--name 'a\\nb': is not a node's name"),
    (["--name", "a" * 254], "is not a node's name"),
    (["--register-with-taints", "k=a\nb:NoSchedule"], "--register-with-taints.value: 'a\\nb' is not a taint's value"),
)


@pytest.mark.parametrize(("flags", "text"), BAD)
def test_bad_flags_are_one_line_and_exit_code_two(
    flags: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = [] if {"--machine", "--sysfs-root"} & set(flags) else ["--machine", MACHINE]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        with short_directory() as root:
            assert main(["node", "--root", str(root / "r"), *machine, *flags]) == 2
            assert not list(root.rglob("*.sock"))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    error = capsys.readouterr().err
    assert error.startswith("numaproof: ")
    assert error.count("\n") == 1
    assert text in error
