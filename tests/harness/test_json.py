"""`--json`: every command that a machine may want to read has it, and keeps the keys that its help names."""

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from numaproof.harness.cli import main
from numaproof.harness.commands import image
from numaproof.harness.node.node import Node
from tests.harness.node.running import STATIC, running_node
from tests.harness.parsers import parsers

REPOSITORY = Path(__file__).parent.parent.parent
EXPLAIN = REPOSITORY / "docs/examples/explain"
COSTS = REPOSITORY / "docs/examples/costs"
POD = f"{REPOSITORY}/docs/examples/schedule/database.yaml"
SOLVED = ("chosen", "cost", "raw_cost", "optimal", "bound", "gap", "greedy", "annealed", "seed", "unlisted", "edges")
MACHINE = ("name", "cpu_model", "cpus", "nodes", "caches", "pci", "links")

# A command line, its exit code, and the keys of its answer; PATH.KEY is a key of each entry of a list.
ANSWERS: dict[str, tuple[int, tuple[str, ...]]] = {
    "machine list": (
        0,
        ("presets", *(f"scenarios.{key}" for key in ("name", "packages", "nodes", "cpus", "memory", "devices"))),
    ),
    "machine show laptop": (0, MACHINE),
    "machine read tree": (0, MACHINE),
    "machine diff laptop xeon-1s": (1, ("equal", "differing")),
    "cost solve --machine laptop --request cpu=2": (0, (*SOLVED, "edges.between", "edges.cost")),
    "cost graph --machine dgx1-v100": (
        0,
        ("nodes.distances", "nodes.cpus", "devices.address", "devices.bridges", "links.cost"),
    ),
    f"cost graph {COSTS}/linked-gpus.yaml --request example.com/gpu=2": (
        0,
        ("layers.resource", "layers.vertices", "edges.between", "edges.cost", "chosen", "cost", "optimal"),
    ),
    f"cost explain {COSTS}/linked-gpus.yaml --request example.com/gpu=2": (
        0,
        (*SOLVED, "walk.resource", "walk.alternatives", "searched", "greedy_chosen", "other_rule"),
    ),
    f"explain {EXPLAIN}/half.yaml --machine laptop": (
        0,
        ("pod", "policy", "scope", "verdict", "why", "placement", "decisions", "remedies", "matrix.policy"),
    ),
    f"schedule {POD} --nodes xeon-2s": (0, ("pods.name", "pods.node", "pods.admitted", "report")),
    "policies": (0, ("semantics", "nodes", "rows.providers", "rows.decisions", "rows.differing")),
    "vectors merge-kep.jsonl.xz": (
        0,
        tuple(f"files.{key}" for key in ("file", "kind", "total", "reproduced", "differing")),
    ),
    "plugin gpu --board dgx1-v100 --dry-run": (0, ("resource", "devices.id", "devices.numa", "devices.healthy")),
    "plugin --list-faults": (0, ("faults",)),
    "run views --list": (
        0,
        tuple(f"instances.{key}" for key in ("id", "scenario", "theme", "file", "machine", "values")),
    ),
    "check --dry-run": (
        0,
        tuple(f"checks.{key}" for key in ("id", "title", "level", "requirement", "why", "remedy", "feature", "since")),
    ),
    "image": (0, ("image",)),
    "clean": (0, ("removed",)),
}
# Asked of a node that runs, one after another.
OF_A_NODE: dict[str, tuple[int, tuple[str, ...]]] = {
    "node admit waits.yaml": (0, ("verdict", "pod")),
    "node bind waits --cpus 15": (0, ("verdict", "pod")),
    f"node explain {POD}": (0, ("verdict", "policy", "scope", "decisions", "pod", "why", "remedies", "matrix")),
    f"node admit {POD}": (0, ("verdict", "pod")),
    "node taint example.com/old:NoSchedule": (0, ("taints.key", "taints.effect", "evicted")),
    "node quota default 4": (0, ("quotas.namespace", "quotas.dedicated_cpu", "quotas.used")),
    "node status": (0, ("metadata", "spec", "status")),
}
# These have nothing to tell but that they are done, or that they serve.
SILENT = {
    *("machine", "machine write", "machine capture", "machine import", "cost", "node", "node remove"),
    *("init", "init scenario", "init machine", "init check"),  # what they write is the answer
    *("schema", "completion", "serve"),  # JSON already, a shell's own words, and an API that speaks JSON
}


@pytest.fixture
def node() -> Iterator[Node]:
    with running_node(STATIC) as running:
        yield running


def values_at(content: Any, path: str) -> list[Any]:
    """What stands at a path; of a list, in each of its entries, of which there is at least one."""
    found = [content]
    for key in path.split("."):
        entries = [entry for one in found for entry in (one if isinstance(one, list) else [one])]
        assert entries, path
        found = [entry[key] for entry in entries]
    return found


def check(answer: str, keys: tuple[str, ...]) -> None:
    content = json.loads(answer)
    for path in keys:
        values_at(content, path)


@pytest.mark.parametrize("line", ANSWERS)
def test_every_answer_has_its_keys(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(image, "ensure_image", lambda tell: "numaproof:0123456789abcdef")  # building takes minutes
    shutil.copy(REPOSITORY / "tests/vectors/merge-kep.jsonl.xz", ".")
    if line == "machine read tree":
        main(["machine", "write", "laptop", "tree"])
        capsys.readouterr()
    code, keys = ANSWERS[line]
    assert main([*shlex.split(line), "--json"]) == code
    check(capsys.readouterr().out, keys)


def test_every_answer_of_a_node_has_its_keys(node: Node, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    waits = tmp_path / "waits.yaml"
    waits.write_text(
        "metadata: {name: waits}\nspec: {tolerations: [{key: CPUAffinity, operator: Exists}], containers: "
        "[{name: c, resources: {limits: {cpu: 1, memory: 1Gi}}}]}\n"
    )
    for line, (code, keys) in OF_A_NODE.items():
        words = shlex.split(line.replace("waits.yaml", str(waits)))
        assert main([*words, "--root", str(node.root), "--json"]) == code, line
        check(capsys.readouterr().out, keys)


def test_every_command_has_it_or_has_nothing_to_tell() -> None:
    having = {name for name, parser in parsers().items() if "--json" in parser._option_string_actions}
    assert set(parsers()) - having == SILENT
    tried = {*ANSWERS, *OF_A_NODE}
    assert [name for name in having if not any(f"{line} ".startswith(f"{name} ") for line in tried)] == []


def test_help_names_the_keys() -> None:
    """All but those of the node's own API, which its help names as a whole."""
    missing = []
    for line, (_, keys) in ANSWERS.items():
        name = max((one for one in parsers() if f"{line} ".startswith(f"{one} ")), key=len)
        told = str(parsers()[name]._option_string_actions["--json"].help)
        missing += [f"{line}: {key}" for path in keys for key in path.split(".") if key not in told]
    assert missing == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("run views --json", "--json: goes with --list"),
        ("check --json -- x", "--json: goes with --dry-run"),
        ("plugin gpu --json", "--json: goes with --dry-run or --list-faults"),
    ],
)
def test_where_it_does_not_belong_it_is_refused(line: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(line)) == 2
    assert words in capsys.readouterr().err


def test_a_difference_is_told_by_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["machine", "diff", "laptop", "laptop", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"equal": True, "differing": {}}
    assert main(["machine", "diff", "pack:2 core:2 pu:1", "pack:2 core:1 pu:1", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["equal"] is False
    gone = {cpu["id"] for cpu in told["differing"]["cpus"]["a"]}
    assert {2, 3} <= gone


def test_an_answer_is_all_that_is_written(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "numaproof", "machine", "list", "--json"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stderr == ""
    assert [one["name"] for one in json.loads(done.stdout)["presets"]][:2] == ["aws-p4d", "big-64"]
