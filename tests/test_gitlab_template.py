"""The GitLab template: its inputs, and its script, run as GitLab's runner runs it."""

import json
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.harness.commands.stories import story
from tests.harness.report.junit_shape import check_shape
from tests.places import short_directory

REPOSITORY = Path(__file__).parent.parent
TEMPLATE = REPOSITORY / "docs/examples/ci/gitlab.yml"
HEADER, JOBS = yaml.safe_load_all(TEMPLATE.read_text())
INPUTS: dict[str, Any] = HEADER["spec"]["inputs"]
INPUT = re.compile(r"\$\[\[ inputs\.(\w+) \]\]")


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checked-out project; what is installed gets its dependencies from here, not from an index."""
    monkeypatch.setenv("PYTHONPATH", sysconfig.get_path("purelib"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")  # pip's way to say that it is off
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    with short_directory() as place:
        yield place


def test_the_first_hour_shows_inputs_that_there_are() -> None:
    page = (REPOSITORY / "docs/first-hour-plugin-author.md").read_text()
    [block] = re.findall(r"```yaml\n(include:.*?)```", page, re.DOTALL)
    [shown] = yaml.safe_load(block)["include"]
    assert REPOSITORY / shown["file"] == TEMPLATE
    assert set(shown["inputs"]) <= set(INPUTS)


def job(**inputs: str) -> Any:
    """The one job that an inclusion with these inputs makes: GitLab fills in what it has parsed."""
    given = {name: words["default"] for name, words in INPUTS.items() if "default" in words} | inputs
    assert set(given) == set(INPUTS)

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {filled(key): filled(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [filled(inner) for inner in value]
        return INPUT.sub(lambda found: given[found[1]], value) if isinstance(value, str) else value

    [(name, made)] = filled(JOBS).items()
    assert name == given["job"]
    return made


def run(shell: str, project: Path, **inputs: str) -> tuple[int, str]:
    """Run a job's script; its exit code, and what it printed."""
    made = job(install=str(REPOSITORY), **inputs)
    variables = {
        name: value["value"] if isinstance(value, dict) else value.replace("$CI_PROJECT_DIR", str(project))
        for name, value in made["variables"].items()
    }
    done = subprocess.run(
        [shell, "-e", "-c", "\n".join(made["script"])],
        cwd=project,
        env={**os.environ, **variables, "CI": "true", "GITLAB_CI": "true", "CI_PROJECT_DIR": str(project)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def results_of(made: dict[str, Any], project: Path) -> tuple[Any, list[Any]]:
    """What GitLab takes of a job: the JUnit file's root, and the issues of Code Quality."""
    reports = made["artifacts"]["reports"]
    return check_shape((project / reports["junit"]).read_text()), json.loads(
        (project / reports["codequality"]).read_text()
    )


def test_a_run_by_bash(project: Path) -> None:
    pod = {"name": "p", "containers": [{"name": "c", "requests": {"cpu": 1}}]}
    expecting = [{"admit": pod, "expect": {"reason": "TopologyAffinityError"}}]
    story(project, "wrong case", steps=expecting, plugins=[])
    inputs = {"command": "run", "arguments": "-n 1 'theme/wrong case.yaml'", "machine": "xeon-2s"}
    code, printed = run("bash", project, **inputs)
    assert code == 1, printed
    [suite], [issue] = results_of(job(**inputs), project)
    assert [case.get("file") for case in suite] == ["theme/wrong case.yaml"]
    assert issue["location"]["path"] == "theme/wrong case.yaml"
    assert "steps[0]: expected rejection" in issue["description"]


def test_a_check_by_a_plain_shell(project: Path) -> None:
    """Images without bash have another shell."""
    command = f"-- {sys.executable} -m numaproof plugin generic --dir {{dir}}"
    inputs = {"command": "check", "arguments": f"--only dp/options/1 {command}", "results": "a b"}
    code, printed = run("sh", project, **inputs)
    assert code == 0, printed
    [suite], issues = results_of(job(**inputs), project)
    assert ([case.get("name") for case in suite], issues) == (["dp/options/1"], [])
    assert (project / "a b/report.html").exists()
    # What an input holds is a word, never code.
    evil = "$(touch pwned) `touch pwned` ; touch pwned ; \" && touch pwned && \" ' ; touch pwned ; '"
    for name in ("machine", "arguments", "runtime", "command", "results"):
        code, printed = run("sh", project, **{**inputs, "machine": "no-such-machine", name: evil})
        assert code == 2, (name, printed)
    assert not list(project.rglob("pwned*"))


def test_no_input_stands_in_the_script() -> None:
    [words] = JOBS.values()
    assert not INPUT.search("".join(words["script"]))
    assert set(INPUT.findall(TEMPLATE.read_text())) == set(INPUTS)
    assert words["artifacts"]["when"] == "always"  # a failed job has the results that matter
    for name, value in job(command="run")["variables"].items():
        assert name == "PIP_CACHE_DIR" or value["expand"] is False
