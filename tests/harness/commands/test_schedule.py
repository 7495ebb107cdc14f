"""`numaproof schedule`, as a user calls it: pods and nodes of every form, the report, bad input in one line."""

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from numaproof.fake_sysfs import preset_names
from numaproof.harness.cli import main
from tests.harness.affinity.test_resource_topology_file import PRINTED
from tests.places import short_directory

POD = """
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: c, resources: {limits: {cpu: 3, memory: 100Mi}}}]
"""
# Two NUMA nodes of 4 CPUs, one thread a core: CPU 0 is reserved.
SMALL = "numa:2 core:4 pu:1"
WITHOUT_MEMORY = PRINTED.replace("64Gi", "1").replace("32Gi", "1").replace("name: memory", "name: example.com/fpga")
TAINTED = """
topologyManagerPolicy: restricted
topologyManagerScope: pod
cpuManagerPolicy: static
reservedSystemCPUs: "0"
registerWithTaints:
- {key: CPUAffinity, value: dedicated, effect: NoScheduleNoAdmitNoExecute}
"""
TOLERATES = "{key: CPUAffinity, value: dedicated, effect: NoScheduleNoAdmitNoExecute}"


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with short_directory() as directory:
        monkeypatch.chdir(directory)
        (directory / "pod.yaml").write_text(POD)
        (directory / "nodes.yaml").write_text(WITHOUT_MEMORY)
        (directory / "kubelet.yaml").write_text(TAINTED)
        yield directory


def output(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> str:
    assert main(["schedule", *arguments]) == code
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def told(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> Any:
    return json.loads(output(capsys, code, *arguments, "--json"))


@pytest.mark.usefixtures("place")
def test_every_pod_has_a_line_and_both_ways_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    """The NUMA nodes have 3 and 4 CPUs for pods: a pod of 3 fits each once."""
    lines = output(capsys, 1, "3*pod.yaml", "--nodes", SMALL).splitlines()
    assert [line.split() for line in lines[:4]] == [
        ["pod", "node", "NUMA", "node", "CPUs", "verdict"],
        ["web-0", "numa-2-core-4-pu-1", "0", "1-3", "admitted"],
        ["web-1", "numa-2-core-4-pu-1", "1", "4-6", "admitted"],
        ["web-2", "-", "-", "-", "not", "sent:", "Unschedulable"],
    ]
    assert "web-2 fits none of 1 nodes; the nearest:" in lines
    assert "  numa-2-core-4-pu-1: 3 CPUs wanted, 1 CPUs left on the whole node" in lines
    assert lines[-1] == "with the predicate +0 refused, +0 admitted, +0 CPUs"


def test_the_plain_way_is_beside_the_predicate(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    """After pods of 2 and 3 each NUMA node has 1 CPU left: the plain fit sends a pod of 2 there all the same."""
    for name, cpus in (("a", 2), ("b", 3), ("d", 2)):
        (place / f"{name}.yaml").write_text(POD.replace("cpu: 3", f"cpu: {cpus}").replace("web", name))
    report = told(capsys, 1, "a.yaml", "b.yaml", "d.yaml", "--nodes", SMALL)
    assert report["report"] == {
        "plain": {
            "pods": 3,
            "sent": 3,
            "admitted": 2,
            "refused": 1,
            "refusedBy": {"TopologyAffinityError": 1},
            "waiting": 0,
            "unschedulable": 0,
            "cpusAdmitted": 5.0,
        },
        "predicate": {
            "pods": 3,
            "sent": 2,
            "admitted": 2,
            "refused": 0,
            "refusedBy": {},
            "waiting": 0,
            "unschedulable": 1,
            "cpusAdmitted": 5.0,
        },
    }
    lines = output(capsys, 1, "a.yaml", "b.yaml", "d.yaml", "--nodes", SMALL).splitlines()
    assert "plain fit: refused: 1 TopologyAffinityError" in lines
    assert lines[-1] == "with the predicate -1 refused, +0 admitted, +0 CPUs"


@pytest.mark.usefixtures("place")
def test_json_has_every_pod(capsys: pytest.CaptureFixture[str]) -> None:
    report = told(capsys, 1, "50*pod.yaml", "--nodes", SMALL)
    assert len(report["pods"]) == 50
    assert report["pods"][0] == {
        "name": "web-0",
        "namespace": "default",
        "node": "numa-2-core-4-pu-1",
        "numaNodeID": "0",
        "numaNodes": [0],
        "cpuAffinity": "1-3",
        "admitted": True,
        "reason": "",
        "message": "",
        "notFitting": {},
        "notFittingNodes": 0,
    }
    assert report["pods"][2]["node"] is None
    assert report["pods"][2]["reason"] == "Unschedulable"
    assert report["pods"][2]["notFitting"] == {"numa-2-core-4-pu-1": "3 CPUs wanted, 1 CPUs left on the whole node"}
    assert "and 10 more, --json has all" in output(capsys, 1, "50*pod.yaml", "--nodes", SMALL)


@pytest.mark.usefixtures("place")
def test_copies_of_nodes_have_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    report = told(capsys, 0, "4*pod.yaml", "--nodes", f"2*{SMALL}")
    assert [one["node"] for one in report["pods"]] == [f"numa-2-core-4-pu-1-{number}" for number in (0, 1, 0, 1)]


def test_several_documents_lists_and_stdin(
    capsys: pytest.CaptureFixture[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "two.yaml").write_text(POD + "---\n" + POD.replace("web", "db"))
    (place / "list.yaml").write_text(
        "kind: PodList\nitems:\n- " + POD.strip().replace("\n", "\n  ").replace("web", "l")
    )
    monkeypatch.setattr(
        "sys.stdin",
        io.StringIO(
            json.dumps(
                {
                    "kind": "Pod",
                    "metadata": {"name": "in"},
                    "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}]},
                }
            )
        ),
    )
    report = told(capsys, 0, "2*two.yaml", "list.yaml", "-", "--nodes", "xeon-2s")
    assert [one["name"] for one in report["pods"]] == ["web-0", "db-0", "web-1", "db-1", "l", "in"]


@pytest.mark.usefixtures("place")
def test_nodes_known_by_their_zones_only(capsys: pytest.CaptureFixture[str]) -> None:
    """worker-1 has 7.5 CPUs left on node-0, and tells none on node-1: two pods of 3, and no third."""
    report = told(capsys, 1, "3*pod.yaml", "--nodes", "nodes.yaml")
    assert [(one["node"], one["numaNodeID"]) for one in report["pods"]] == [
        ("worker-1", "0"),
        ("worker-1", "0"),
        (None, None),
    ]
    lines = output(capsys, 1, "3*pod.yaml", "--nodes", "nodes.yaml").splitlines()
    assert "3 pods, 1 node (1 by zones alone)" in lines
    both = told(capsys, 0, "3*pod.yaml", "--nodes", "2*nodes.yaml", SMALL)
    assert {one["node"] for one in both["pods"]} <= {"worker-1-0", "worker-1-1", "numa-2-core-4-pu-1"}


def test_the_configuration_is_that_of_all_machines(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    report = told(capsys, 1, "pod.yaml", "--nodes", SMALL, "--config", "kubelet.yaml")
    taint = "CPUAffinity=dedicated:NoScheduleNoAdmitNoExecute"
    assert report["pods"][0]["notFitting"] == {"numa-2-core-4-pu-1": f"spec.tolerations has none for the taint {taint}"}
    (place / "pod.yaml").write_text(POD.replace("spec:", f"spec:\n  tolerations: [{TOLERATES}]"))
    [one] = told(capsys, 0, "pod.yaml", "--nodes", SMALL, "--config", "kubelet.yaml")["pods"]
    assert (one["numaNodeID"], one["cpuAffinity"]) == ("0", "1-3")


@pytest.mark.usefixtures("place")
def test_every_preset_does_without_a_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    presets = [name for name in preset_names() if name != "power9-ac922"]
    report = told(capsys, 0, f"{len(presets)}*pod.yaml", "--nodes", *presets)
    assert {one["node"] for one in report["pods"]} == set(presets)


def test_stdin_is_bounded_and_text(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numaproof.harness.commands.pod_files.LARGEST", 10)
    monkeypatch.setattr("sys.stdin", io.StringIO("# 345678901"))
    assert main(["schedule", "-", "--nodes", "xeon-2s"]) == 2
    assert "stdin: is longer than 10 characters" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\xff"), encoding="utf-8"))
    assert main(["schedule", "-", "--nodes", "xeon-2s"]) == 2
    assert "stdin: is not UTF-8 text (byte 1)" in capsys.readouterr().err


def test_stdin_that_was_decoded_into_surrogates_is_no_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As stdin is under C.UTF-8."""
    content = io.BytesIO(b'kind: Pod\nmetadata: {name: "\xff"}\n')
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(content, encoding="utf-8", errors="surrogateescape"))
    assert main(["schedule", "-", "--nodes", "xeon-2s"]) == 2
    assert capsys.readouterr().err == "numaproof: stdin: is not UTF-8 text; write YAML\n"


@pytest.mark.parametrize("name", ["nodes.txt", "nodes", "nodes.tar"])
def test_what_a_file_of_nodes_is_its_kind_says(capsys: pytest.CaptureFixture[str], place: Path, name: str) -> None:
    (place / "nodes.yaml").rename(place / name)
    report = told(capsys, 0, "pod.yaml", "--nodes", name)
    assert report["pods"][0]["node"] == "worker-1"


@pytest.mark.usefixtures("place")
def test_nodes_come_from_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    """As in --nodes <(kubectl get ...): it can be read once only."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb"), os.fdopen(writing, "wb") as pipe:
        pipe.write(WITHOUT_MEMORY.encode())
        pipe.close()
        report = told(capsys, 0, "pod.yaml", "--nodes", f"/dev/fd/{reading}")
    assert report["pods"][0]["node"] == "worker-1"


@pytest.mark.parametrize("text", ["node 0 cpus: 0 1 2 3 4 5\nnode 0 size: 9216 MB\n", "1 NUMA node, 6 CPUs, 9GiB\n"])
def test_nodes_are_told_by_the_text_of_a_machine(capsys: pytest.CaptureFixture[str], place: Path, text: str) -> None:
    """Of 6 CPUs one is reserved: a pod of 3 fits, a second one does not."""
    (place / "numactl.txt").write_text(text)
    report = told(capsys, 1, "2*pod.yaml", "--nodes", "numactl.txt")
    assert [pod.get("node") for pod in report["pods"]] == ["numactl", None]


def test_the_cpus_that_a_pod_brings_are_told(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "bound.yaml").write_text(POD.replace("spec:", f"spec:\n  cpuAffinity: 1-3\n  tolerations: [{TOLERATES}]"))
    [one] = told(capsys, 0, "bound.yaml", "--nodes", "nodes.yaml")["pods"]
    assert (one["numaNodeID"], one["cpuAffinity"]) == ("0", "1-3")


BAD: list[tuple[tuple[str, ...], str]] = [
    (("no.yaml", "--nodes", "xeon-2s"), "no.yaml: cannot be read (No such file or directory); give a file in YAML"),
    (("empty.yaml", "--nodes", "xeon-2s"), "empty.yaml: is empty; give Pod manifests"),
    (("broken.yaml", "--nodes", "xeon-2s"), "broken.yaml:1: is not YAML"),
    (("nodes.yaml", "--nodes", "xeon-2s"), 'nodes.yaml:4: items[0]: pod: kind: "NodeResourceTopology" is not admitted'),
    (("list.yaml", "--nodes", "xeon-2s"), "list.yaml:2: items: is not a list of pods"),
    (
        ("negative.yaml", "--nodes", "xeon-2s"),
        "negative.yaml:2: pod web: containers[0].resources.limits.cpu: -3 is negative",
    ),
    (("0*pod.yaml", "--nodes", "xeon-2s"), "0*pod.yaml: no copy is asked for; give a number from 1 on"),
    (("pod.yaml", "pod.yaml", "--nodes", "xeon-2s"), "pod.yaml: pod default/web is there twice"),
    (("-", "3*-", "--nodes", "xeon-2s"), "-: stdin can be read once; name it once"),
    (("-", "--nodes", "-"), "-: stdin can be read once; name it once"),
    (("pod.yaml", "--nodes", "xeon-3s"), "machine 'xeon-3s': is neither a file"),
    (("pod.yaml", "--nodes", "power9-ac922"), "--nodes power9-ac922: the machine has a NUMA node 250"),
    (("pod.yaml", "--nodes", "xeon-2s", "xeon-2s"), "--nodes: a node xeon-2s is there twice; take COUNT*NODE"),
    (("pod.yaml", "--nodes", "0*xeon-2s"), "0*xeon-2s: no copy is asked for"),
    (("pod.yaml", "--nodes", "nothing.yaml"), "nothing.yaml: has no NodeResourceTopology"),
    (
        ("pod.yaml", "--nodes", "node.json"),
        "node.json:1: kind: 'Node' is no NodeResourceTopology; give objects of these",
    ),
    (("pod.yaml", "--nodes", "deployment.yaml"), "deployment.yaml:1: kind: 'Deployment' is no NodeResourceTopology"),
    (
        ("pod.yaml", "--nodes", "prose.txt"),
        "prose.txt: is a text without a NodeResourceTopology; give one, or a machine",
    ),
    (("pod.yaml", "--nodes", "plain.json"), "plain.json: is a text without a NodeResourceTopology"),
    (("pod.yaml", "--nodes", "bytes.yaml"), "bytes.yaml: is not UTF-8 text (byte 1)"),
    (("pod.yaml", "--nodes", "bytes.bin"), "bytes.bin: is not a tar archive"),
    (
        ("pod.yaml", "--nodes", "huge.yaml"),
        "huge.yaml:30: items[0].zones[0].resources[0].available: 1e400 is more than",
    ),
    (("pod.yaml", "--nodes", "wrong.yaml"), 'wrong.yaml:30: items[0].zones[0].resources[0].available: "7500x" is not'),
    (("pod.yaml", "--nodes", "xeon-2s", "--config", "no.yaml"), "no.yaml: cannot be read"),
    (("pod.yaml", "--nodes", "xeon-2s", "--config", "pod.yaml"), "pod.yaml:2: is a Pod of"),
    (
        ("pod.yaml", "--nodes", "numa:2 core:1 pu:1", "--config", "cpus.yaml"),
        "--nodes numa:2 core:1 pu:1: reservedSystemCPUs: CPUs 7",
    ),
    (
        ("pod.yaml", "--nodes", "big-64", "--config", "kubelet.yaml"),
        "--nodes big-64: topologyManagerPolicy: restricted: unsup",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_bad_input_is_one_line(
    capsys: pytest.CaptureFixture[str], place: Path, arguments: tuple[str, ...], message: str
) -> None:
    (place / "empty.yaml").write_text("# nothing\n")
    (place / "broken.yaml").write_text("a: [")
    (place / "list.yaml").write_text("kind: List\nitems: {}\n")
    (place / "negative.yaml").write_text(POD.replace("cpu: 3", "cpu: -3"))
    (place / "nothing.yaml").write_text("kind: List\nitems: []\n")
    (place / "node.json").write_text('{"kind": "Node"}')
    (place / "deployment.yaml").write_text("kind: Deployment\n")
    (place / "prose.txt").write_text("a text\n")
    (place / "plain.json").write_text('{"packages": 2}')
    (place / "bytes.yaml").write_bytes(b"a\xff")
    (place / "bytes.bin").write_bytes(b"a\xff")
    (place / "huge.yaml").write_text(PRINTED.replace("7500m", "1e400"))
    (place / "wrong.yaml").write_text(PRINTED.replace("7500m", "7500x"))
    (place / "cpus.yaml").write_text("cpuManagerPolicy: static\nreservedSystemCPUs: '7'\n")
    assert main(["schedule", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"numaproof: {message}")
    assert captured.err.count("\n") == 1
