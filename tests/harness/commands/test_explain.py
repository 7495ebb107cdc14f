"""`numaproof explain`, as a user calls it: pods, machines, configurations and pods before; the forms; bad input."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from numaproof.harness.cli import main
from tests.places import short_directory

SMALL = "numa:2 core:4 pu:1"  # CPUs 0-3 on NUMA node 0, 4-7 on NUMA node 1
CONFIG = """
kind: KubeletConfiguration
apiVersion: kubelet.config.k8s.io/v1beta1
topologyManagerPolicy: restricted
cpuManagerPolicy: static
reservedSystemCPUs: "0"
"""


def pod(name: str, cpu: int, **more: Any) -> str:
    limits = {"cpu": cpu, "memory": "64Mi", **more}
    container = {"name": "app", "resources": {"limits": limits}}
    return json.dumps({"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}})


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with short_directory() as directory:
        monkeypatch.chdir(directory)
        Path("config.yaml").write_text(CONFIG)
        for name, cpu in (("two", 2), ("three", 3), ("four", 4), ("five", 5)):
            Path(f"{name}.yaml").write_text(pod(name, cpu))
        yield directory


def told(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> dict[str, Any]:
    assert main(["explain", *arguments, "--machine", SMALL, "--config", "config.yaml", "--json"]) == code
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


@pytest.mark.usefixtures("place")
def test_an_admitted_pod(capsys: pytest.CaptureFixture[str]) -> None:
    # Three CPUs are left of NUMA node 0, and the first of them are taken.
    answer = told(capsys, 0, "three.yaml")
    assert answer["verdict"] == {"admitted": True, "reason": "", "message": ""}
    assert answer["blame"] is None
    container = answer["placement"]["app"]
    assert (container["affinity"], container["cpus"], container["cpus_by_numa"]) == ([0], "1-3", {"0": 3})
    assert answer["remedies"] == []
    assert (answer["policy"], answer["scope"]) == ("restricted", "container")


@pytest.mark.usefixtures("place")
def test_a_refused_pod_is_told_who_decided_and_what_helps(capsys: pytest.CaptureFixture[str]) -> None:
    # Three fill NUMA node 0, of which CPU 0 is reserved, and four NUMA node 1: nothing is left.
    answer = told(capsys, 1, "two.yaml", "--running", "three.yaml", "four.yaml")
    assert answer["verdict"]["reason"] == "TopologyAffinityError"
    blame = answer["blame"]
    assert (blame["what"], blame["wanted"], blame["free"]) == ("cpu", 2, {"0": 0, "1": 0})
    assert blame["cause"] == "in use"
    assert answer["fits_empty_node"] is True
    assert [one["apply"] for one in answer["remedies"]] == [{"remove": ["default/three"]}, {"remove": ["default/four"]}]
    assert all(one["verdict"]["admitted"] for one in answer["remedies"])


@pytest.mark.usefixtures("place")
def test_every_policy_and_scope_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    answer = told(capsys, 0, "five.yaml")  # more than a NUMA node has, so that two are preferred
    cells = {(cell["policy"], cell["scope"]): cell["verdict"]["admitted"] for cell in answer["matrix"]}
    policies = {"none": True, "best-effort": True, "restricted": True, "single-numa-node": False}
    assert cells == {
        (policy, scope): admitted for policy, admitted in policies.items() for scope in ("container", "pod")
    }
    assert (answer["blame"]["what"], answer["blame"]["wanted"]) == ("cpu", 5)


@pytest.mark.usefixtures("place")
def test_text_ends_with_assumptions_and_fits_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "two.yaml", "--machine", SMALL]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "ADMITTED" in lines
    assert lines[lines.index("Assumed") + 1].startswith("- no configuration is given: ")
    assert "* single-numa-node both       admitted: CPUs 2 of NUMA 0" in lines


@pytest.mark.usefixtures("place")
def test_a_pod_of_a_deployment_and_of_stdin(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    template = json.loads(pod("ignored", 2))
    deployment = {"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": template}}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(deployment)))
    answer = told(capsys, 0, "-")
    assert (answer["pod"], answer["placement"]["app"]["cpus"]) == ("default/web", "1-2")


BAD = {
    "no such pod": (["nothing.yaml"], "nothing.yaml: "),
    "two pods": (["two-pods.yaml"], "two-pods.yaml: has 2 pods; give the one to explain, the others by --running"),
    "not a pod": (["config.yaml"], 'kind: "KubeletConfiguration" is not admitted by a node'),
    "a workload without a template": (["empty.yaml"], "Deployment: has no pod template"),
    "no such machine": (["two.yaml", "--machine", "nothing"], "machine 'nothing': "),
    "no such policy": (["two.yaml", "--config", "wrong.yaml"], "wrong.yaml:1: topologyManagerPolicy: unknown value"),
    "reserved CPUs elsewhere": (["two.yaml", "--config", "other.yaml"], "reservedSystemCPUs: CPUs 99 are not online"),
    "a running pod that is none": (["two.yaml", "--running", "config.yaml"], "is not admitted by a node"),
    "a machine beyond masks": (["two.yaml", "--machine", "power9-ac922"], "the kubelet's masks end at 63"),
}


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("two-pods.yaml").write_text(f"{pod('a', 1)}\n---\n{pod('b', 1)}\n")
    Path("empty.yaml").write_text("{kind: Deployment, metadata: {name: web}, spec: {}}")
    Path("wrong.yaml").write_text("topologyManagerPolicy: strictest\n")
    Path("other.yaml").write_text('{cpuManagerPolicy: static, reservedSystemCPUs: "99"}')
    before = sorted(Path().iterdir())
    arguments, message = BAD[case]
    assert main(["explain", *arguments, *(() if "--machine" in arguments else ("--machine", SMALL))]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert sorted(Path().iterdir()) == before
