"""The kinds of step: each is a file with an example that can be parsed, listed in one table and in the documents."""

import inspect
from pathlib import Path

import pytest
import yaml

from numaproof.harness.scenario import steps
from numaproof.harness.scenario.parse import parse_scenario
from numaproof.harness.scenario.steps.action import Action
from numaproof.harness.scenario.steps.kinds import KINDS

REPOSITORY = Path(__file__).parents[3]
BEFORE = """\
name: n
why: w
source: s
plugins: [{resource: example.com/nic, devices: [{id: nic-a, numa: [0]}]}]
steps:
- admit: {name: first, containers: [{name: app, requests: {cpu: 1}}]}
  expect: {admitted: true}
"""
POD = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: app}]}}"


def test_every_file_is_a_kind() -> None:
    files = {path.stem for path in Path(str(steps.__file__)).parent.glob("*.py")}
    assert files - {"__init__", "action", "kinds"} == set(KINDS)
    assert all(kind.__module__.endswith(f".{name}") for name, kind in KINDS.items())


def example(kind: type[Action]) -> str:
    _, _, text = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")
    return text


@pytest.mark.parametrize("name", KINDS)
def test_the_example_of_a_kind_can_be_parsed(tmp_path: Path, name: str) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    file = tmp_path / "story.yaml"
    file.write_text(BEFORE + example(KINDS[name]))
    kinds = {step.action.name for step in parse_scenario(file).steps[1:]}
    assert kinds == {name}
    assert len(yaml.safe_load(example(KINDS[name]))) == len(parse_scenario(file).steps) - 1


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_is_documented(name: str) -> None:
    assert f"| `{name}: " in (REPOSITORY / "docs/scenarios.md").read_text()
