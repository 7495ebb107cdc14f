"""`numaproof node status, admit, explain, bind, remove, taint, quota`: what a user asks of a node that runs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from numaproof.harness.cli import main
from numaproof.harness.node.node import Node
from tests.harness.node.running import STATIC, running_node

DEDICATED = {"key": "CPUAffinity", "operator": "Exists"}
TAINT = "CPUAffinity=dedicated:NoScheduleNoAdmitNoExecute"


@pytest.fixture
def node() -> Iterator[Node]:
    with running_node(STATIC) as running:
        yield running


@pytest.fixture
def pod_file(tmp_path: Path) -> Path:
    limits = {"cpu": 2, "memory": "1Gi"}
    spec: dict[str, Any] = {
        "tolerations": [DEDICATED],
        "containers": [{"name": "app", "resources": {"limits": limits}}],
    }
    path = tmp_path / "pod.yaml"
    path.write_text(yaml.safe_dump({"metadata": {"name": "worker"}, "spec": spec}))
    return path


def asked(node: Node, *words: str) -> int:
    return main(["node", *words, "--root", str(node.root)])


def test_a_pod_is_admitted_bound_shown_and_removed(
    node: Node, pod_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(node, "admit", str(pod_file)) == 0
    assert capsys.readouterr().out == "default/worker: Pending: waits to be bound: spec.cpuAffinity not told yet\n"
    assert asked(node, "status") == 0
    assert "pod default/worker: waits to be bound" in capsys.readouterr().out
    assert asked(node, "bind", "worker", "--cpus", "10-11") == 0
    assert capsys.readouterr().out == "default/worker: admitted, CPUs 10-11\n"
    assert asked(node, "status") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "pod default/worker: runs, bound to CPUs 10-11" in lines
    # 8 CPUs of NUMA node 1, 2 of them the pod's.
    assert lines[lines.index("NUMA node 1: CPUs 8-15") + 1] == "  cpu: 6 available of 8 allocatable, capacity 8"
    assert asked(node, "remove", "default/worker") == 0
    assert node.assignments() == ()


def test_a_pod_goes_by_its_uid_too(node: Node, pod_file: Path) -> None:
    asked(node, "admit", str(pod_file))
    (waiting,) = node.snapshot().pending
    assert asked(node, "remove", waiting.pod.uid) == 0
    assert node.snapshot().pending == ()


def test_a_refusal_is_told_and_the_exit_code_is_1(
    node: Node, pod_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(node, "quota", "default", "1") == 0
    assert asked(node, "admit", str(pod_file)) == 1
    assert capsys.readouterr().out.startswith("default/worker: ExceededQuota: exceeded quota: default, requested: ")
    assert asked(node, "quota", "default", "none") == 0
    assert asked(node, "admit", str(pod_file)) == 0


def test_a_node_explains_what_it_would_decide(node: Node, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # 16 CPUs, one of them reserved: 15 can be had, 16 cannot.
    for cpus, code in ((15, 0), (16, 1)):
        path = tmp_path / f"{cpus}.yaml"
        limits = {"cpu": cpus, "memory": "1Gi"}
        spec = {"containers": [{"name": "app", "resources": {"limits": limits}}]}
        path.write_text(yaml.safe_dump({"metadata": {"name": "large"}, "spec": spec}))
        assert asked(node, "explain", str(path)) == code
    admitted, _, refused = capsys.readouterr().out.partition("default/large: UnexpectedAdmissionError: ")
    assert admitted.startswith("default/large: admitted\n")
    assert "  would help: ask for 15 CPUs instead of 16 in container app\n" in refused
    assert node.assignments() == ()


def test_taints_come_and_go_and_evictions_are_told(
    node: Node, pod_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(node, "admit", str(pod_file))
    capsys.readouterr()
    assert asked(node, "taint", TAINT, "team=blue:NoExecute") == 0
    assert capsys.readouterr().out.startswith("evicted: ")
    assert [str(one) for one in node.snapshot().topology.taints] == [TAINT, "team=blue:NoExecute"]
    assert asked(node, "taint", "CPUAffinity-", "team:NoExecute-") == 0
    assert node.snapshot().topology.taints == ()


def test_the_node_as_json_and_yaml_and_its_topology(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(node, "status", "--json") == 0
    as_json = json.loads(capsys.readouterr().out)
    assert [one["cpuSet"] for one in as_json["status"]["topology"]["numaNodes"]] == ["0-7", "8-15"]
    assert asked(node, "status", "--yaml") == 0
    assert yaml.safe_load(capsys.readouterr().out) == as_json
    assert asked(node, "status", "--nrt") == 0
    assert yaml.safe_load(capsys.readouterr().out)["kind"] == "NodeResourceTopology"
    assert asked(node, "status", "--nrt", "--json") == 0
    assert json.loads(capsys.readouterr().out)["apiVersion"] == "topology.node.k8s.io/v1alpha2"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("bind", "worker"), "bind: nothing is given; give --numa-node, --cpus or both"),
        (("bind", "nobody", "--cpus", "2"), "pod default/nobody: is not here"),
        (("remove", "nobody"), "pod default/nobody: is not here"),
        (("admit", "missing.yaml"), "missing.yaml: cannot be read"),
        (("taint", "CPUAffinity"), "is not a taint; write KEY=VALUE:EFFECT"),
        (("taint", "CPUAffinity=some:NoScheduleNoAdmitNoExecute"), "CPUAffinity has no value 'some'"),
        (("taint", "team-"), "taint team: is not there to be removed"),
        (("taint", "k=v=w:NoSchedule"), ".value: 'v=w' is not a taint's value"),
        (("taint", f"k={'v' * 64}:NoSchedule"), "is not a taint's value"),
        (("taint", "\u00e9:NoSchedule"), "is not a taint's key"),
        (("taint", "A B/k:NoSchedule"), ".key: 'A B/k' is not a taint's key"),
        (("remove", "a\nb"), "pod 'default/a\\nb': is not here"),
        (("bind", "a\nb", "--cpus", "2"), "pod 'default/a\\nb': is not here"),
        (("quota", "Foo Bar", "4"), "namespace: 'Foo Bar' is not a namespace"),
        (("quota", "default", "many"), 'dedicated_cpu: "many" is not a quantity'),
        (("quota", "default", "-1"), "dedicated_cpu: -1 is negative"),
    ],
)
def test_bad_input_is_one_line(
    node: Node, words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["node", "--root", str(node.root), *words]
    if "-1" in words:
        arguments = ["node", "--root", str(node.root), *words[:-1], "--", words[-1]]
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("words", [("status",), ("status", "--json"), ("remove", "a")])
def test_nobody_there(words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node", *words, "--root", str(tmp_path / "none")]) == 2
    error = capsys.readouterr().err
    assert "no node answers there" in error
    assert error.count("\n") == 1


def test_a_root_that_no_socket_can_be_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node", "status", "--root", str(tmp_path / ("r" * 200))]) == 2
    error = capsys.readouterr().err
    assert "is longer than a unix socket's path can be" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("token", [b"\xff\xfe", b"one\ntwo", "t\u00f6ken".encode()])
def test_a_token_that_is_none(node: Node, token: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    (node.root / "bind.token").write_bytes(token)
    assert asked(node, "bind", "worker", "--cpus", "2") == 2
    error = capsys.readouterr().err
    assert "bind.token: " in error
    assert error.count("\n") == 1


def test_help_says_numa_as_it_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["node", "status", "--help"])
    assert "Show the NUMA topology" in capsys.readouterr().out


def test_no_root(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node", "status"]) == 2
    assert (
        capsys.readouterr().err == "numaproof: --root: is missing; give the directory of the node's sockets and state\n"
    )


def test_without_the_token_nobody_binds(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    (node.root / "bind.token").unlink()
    assert asked(node, "bind", "worker", "--cpus", "2") == 2
    assert "bind.token: cannot be read" in capsys.readouterr().err
