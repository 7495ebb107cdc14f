"""Scenario files: what is read, and how each mistake is told: file, key, remedy."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from numaproof.errors import UserError
from numaproof.harness.scenario.parse import parse_scenario


def good() -> dict[str, Any]:
    return {
        "name": "n",
        "why": "w",
        "source": "s",
        "matrix": {"policy": ["none", "restricted"], "machine": ["xeon-2s"]},
        "plugins": [{"resource": "example.com/gpu", "per_numa": 2}],
        "steps": [
            {
                "admit": {"name": "p", "containers": [{"name": "c", "requests": {"cpu": 2, "example.com/gpu": 1}}]},
                "expect": {"admitted": True, "when": {"policy": "none"}},
            }
        ],
    }


def parsed(tmp_path: Path, value: Any) -> Any:
    folder = tmp_path / "theme"
    folder.mkdir(exist_ok=True)
    file = folder / "story.yaml"
    file.write_text(value if isinstance(value, str) else yaml.safe_dump(value))
    return parse_scenario(file)


def test_a_good_file(tmp_path: Path) -> None:
    scenario = parsed(tmp_path, good())
    assert scenario.id == "theme/story"
    assert scenario.matrix == {"policy": ("none", "restricted"), "machine": ("xeon-2s",)}
    (step,) = scenario.steps
    assert step.action.pod.specs[0].requests == {"cpu": "2", "example.com/gpu": "1"}
    assert step.expected[0].when == {"policy": ("none",)}


def changed(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """The good file with one place of it replaced."""
    scenario = good()
    place: Any = scenario
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return scenario


BAD: list[tuple[tuple[Any, ...], Any, str]] = [
    (("stepz",), [], "stepz: unknown key; known: name, why"),
    (("why",), "", "why: '' is not a text"),
    (("steps",), [], "steps: [] is not a list of at least 1"),
    (("matrix", "policy"), ["stricter"], "matrix.policy: 'stricter' is not known; take some of: none, best-effort"),
    (("matrix", "policy"), ["none", "restricted", "none"], "matrix.policy: 'none' is there twice; keep one"),
    (("matrix", "machine"), ["laptop", "laptop"], "matrix.machine: 'laptop' is there twice; keep one"),
    (("matrix", "scope"), "pod", "matrix.scope: 'pod' is not a list of values"),
    (("needs",), {"cores": 3}, "needs.cores: unknown key; known: numa"),
    (("needs",), {"numa": -1}, "needs.numa: -1 is not a whole number of 0 or more"),
    (("needs",), {"hugepages": ["4Mi"]}, "needs.hugepages: '4Mi' is not known"),
    (("plugins", 0), {"resource": "example.com/gpu"}, "plugins[0]: give the devices once"),
    (("plugins", 0), {"resource": "r/x", "like": "dgx1-v100"}, "plugins[0]: give the devices once, by per_numa;"),
    (("plugins", 0), {"resource": "r/x", "sysfs": "gpu", "like": "dgx9"}, "plugins[0].like: 'dgx9' is not known"),
    (("needs",), {"own_machines": True}, "needs.own_machines: true is not a text"),
    (
        ("plugins", 0, "preferred"),
        "best",
        "plugins[0].preferred: 'best' is not known; take one of: none, lowest, links",
    ),
    (
        ("plugins", 0, "resource"),
        "example.com/nic",
        "steps[0].admit: asks for example.com/gpu, which no plugin here offers (offered: example.com/nic)",
    ),
    (("plugins", 0, "list"), "lost", "plugins[0].list: 'lost' is not known; take one of: kept, fails, ends"),
    (("steps", 0, "remove"), "p", "offline, look, start (given: admit, remove)"),
    (("steps", 0), {"expect": {"admitted": True}}, "offline, look, start (given: none)"),
    (("plugins",), None, "plugins: null is not a list; write [...]"),
    (
        ("steps", 0, "expect"),
        {"aligned": False},
        'aligned: false is not known; take one of: container, pod, "no" (in quotes, else it is false)',
    ),
    (("steps", 0), {"stop": "node"}, "steps[0].stop: 'node': write the resource whose plugin shall stop"),
    (("steps", 0), {"stop": "example.com/nic"}, "steps[0].stop: no plugin here offers example.com/nic"),
    (("steps", 0), {"lose": "everything"}, "steps[0].lose: 'everything': write `device_checkpoint`"),
    (("steps", 0, "expect"), [], "steps[0]: expects nothing"),
    (("steps", 0, "expect"), {"admited": True}, "steps[0].expect.admited: unknown key"),
    (("steps", 0, "expect"), {"admitted": True, "reason": "X"}, "an admitted pod has no reason"),
    (
        ("steps", 0, "expect"),
        {"aligned": "yes"},
        "steps[0].expect.aligned: 'yes' is not known; take one of: container, pod",
    ),
    (("steps", 0, "expect"), {"when": {"policy": "best-effort"}}, "when.policy: 'best-effort' is not in the matrix"),
    (("steps", 0, "expect"), {"calls": {"example.com/gpu": {"Alloc": 1}}}, "gpu.Alloc: unknown key; known: Allocate"),
    (("steps", 0, "admit", "containers"), [], "steps[0].admit.containers: [] is not a list of at least 1"),
    (("steps", 0, "admit", "containers", 0, "kind"), "side", "containers[0].kind: 'side' is not known"),
]


@pytest.mark.parametrize(("path", "value", "text"), BAD, ids=[text[:40] for _, _, text in BAD])
def test_a_mistake_is_told_with_its_place(tmp_path: Path, path: tuple[Any, ...], value: Any, text: str) -> None:
    with pytest.raises(UserError) as told:
        parsed(tmp_path, changed(path, value))
    assert re.match(rf"{tmp_path}/theme/story\.yaml:\d+: ", str(told.value))
    assert text in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("text", ["steps: [", "- 1", "\x00", "just words", "null"])
def test_what_is_not_a_scenario_at_all(tmp_path: Path, text: str) -> None:
    with pytest.raises(UserError, match=r"story\.yaml"):
        parsed(tmp_path, text)


@pytest.mark.parametrize("text", ["", "# later\n", "---\n"])
def test_a_file_that_holds_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "story.yaml"
    file.write_text(text)
    with pytest.raises(UserError) as told:
        parse_scenario(file)
    assert str(told.value) == f"{file}: holds nothing; `numaproof init scenario` writes one to start from"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        parse_scenario(tmp_path / "none.yaml")
