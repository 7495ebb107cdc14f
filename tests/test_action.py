"""The GitHub Action: the scripts of action.yml, run as the runner runs them, with its variables and files."""

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.harness.commands.stories import story
from tests.harness.report.junit_shape import check_shape
from tests.places import short_directory

REPOSITORY = Path(__file__).parent.parent
ACTION: dict[str, Any] = yaml.safe_load((REPOSITORY / "action.yml").read_text())
CI_PAGE = REPOSITORY / "docs/ci.md"
INSTALL, RUN = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{\s*inputs\.([\w-]+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Runner:
    """A job's folders: the repository that was checked out, and the runner's own."""

    workspace: Path
    temp: Path

    def step(self, step: dict[str, Any], **inputs: str) -> "Done":
        """Run a step of the action, with its inputs where the workflow gives them, else with their defaults."""
        given = {name: str(words.get("default", "")) for name, words in ACTION["inputs"].items()}
        given |= {name.replace("_", "-"): value for name, value in inputs.items()}

        def filled(text: str) -> str:
            return EXPRESSION.sub(lambda found: given[found[1]], text)

        files = {name: self.temp / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV")}
        for file in files.values():
            file.write_text("")
        script = self.temp / "script.sh"
        script.write_text(step["run"])
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=self.workspace / filled(step.get("working-directory", ".")),
            env={
                **os.environ,
                **{name: filled(value) for name, value in step["env"].items()},
                **{name: str(file) for name, file in files.items()},
                "GITHUB_ACTIONS": "true",
                "GITHUB_ACTION_PATH": str(REPOSITORY),
                "GITHUB_WORKSPACE": str(self.workspace),
                "RUNNER_TEMP": str(self.temp),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return Done(done.returncode, done.stdout, outputs_of(files["GITHUB_OUTPUT"]), files["GITHUB_STEP_SUMMARY"])


def outputs_of(file: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in file.read_text().splitlines())


@dataclass(frozen=True, slots=True)
class Done:
    """What a step did."""

    code: int
    printed: str
    outputs: dict[str, str]
    summary: Path

    @property
    def commands(self) -> list[str]:
        """The lines that the runner takes for commands: none of those between `stop-commands` and its token."""
        lines, token = [], None
        for line in self.printed.splitlines():
            if token is not None:
                token = None if line == f"::{token}::" else token
            elif line.startswith("::stop-commands::"):
                token = line.removeprefix("::stop-commands::")
            elif line.startswith("::"):
                lines.append(line)
        assert token is None, "the runner's commands stay stopped"
        return lines


@pytest.fixture(scope="module")
def installed() -> Iterator[Path]:
    """The runner's own folder, after the step that installs; our dependencies are from here, not from an index."""
    with short_directory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", sysconfig.get_path("purelib"))
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_NO_BUILD_ISOLATION", "0")  # pip's way to say that it is off
        done = Runner(place, place).step(INSTALL, python=sys.executable)
        assert done.code == 0, done.printed
        yield place


@pytest.fixture
def runner(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    monkeypatch.setenv("PYTHONPATH", sysconfig.get_path("purelib"))
    with short_directory() as workspace:
        yield Runner(workspace, installed)


def plugin(python: Path, *options: str) -> str:
    return " ".join([f"'{python}'", "-m", "numaproof", "plugin", "generic", "--count", "3", *options])


def own_plugin(path: Path, python: Path) -> None:
    """A program that is a plugin, which has no options but ours."""
    path.write_text(f'#!/bin/sh\nexec {python} -m numaproof plugin generic "$@"\n')
    path.chmod(0o755)


QUICK = "--only dp/options/1 --only dp/list/3 --seed 1"


def test_a_good_plugin(runner: Runner) -> None:
    command = plugin(runner.temp / "numaproof/bin/python")
    done = runner.step(RUN, command="check", plugin=command, machine="xeon-2s", arguments=QUICK)
    assert done.code == 0, done.printed
    results = runner.workspace / "numaproof-results"
    assert done.outputs == {
        "verdict": "passed",
        "exit-code": "0",
        "results": str(results),
        "junit": f"{results}/junit.xml",
        "tests": "2",
        "passed": "2",
        "failed": "0",
        "skipped": "0",
    }
    assert sorted(path.name for path in results.iterdir()) == ["junit.xml", "report.html", "report.yaml"]
    check_shape((results / "junit.xml").read_text())
    assert done.summary.read_text().startswith("## ✅ numaproof check: conformant\n")
    assert done.commands == []


def test_a_bad_plugin_cannot_command_the_runner(runner: Runner) -> None:
    bad = plugin(runner.temp / "numaproof/bin/python", "--fault", "'ListAndWatch=bad-health:\n::set-output name=a::b'")
    (runner.workspace / "sub").mkdir()
    (runner.workspace / "sub/numaproof.yaml").write_text("check: {level: must}\n")
    words = {"plugin": bad, "arguments": QUICK, "working_directory": "sub", "runtime": "namespace"}
    done = runner.step(RUN, command="check", **words)
    assert done.code == 1, done.printed
    assert (done.outputs["verdict"], done.outputs["failed"], done.outputs["passed"]) == ("failed", "1", "1")
    [command] = done.commands
    assert command.startswith("::error file=sub/numaproof.yaml,title=dp/list/3%3A health words (MUST)::")
    assert "remedy: " in command
    summary = done.summary.read_text()
    assert summary.startswith("## ❌ numaproof check: not conformant: dp/list/3\n")
    assert "<strong>dp/list/3: health words (MUST)</strong>" in summary


def test_a_plugin_that_does_not_start(runner: Runner) -> None:
    done = runner.step(RUN, command="check", plugin="sh -c 'echo ::warning::x; exit 1'", arguments=QUICK)
    assert (done.code, done.outputs["verdict"]) == (3, "not-started")
    [command] = done.commands
    assert command.startswith("::error title=numaproof check::the subject could not be started: ")
    assert "junit" not in done.outputs


def test_a_run_with_a_failure(runner: Runner) -> None:
    pod = {"name": "p", "containers": [{"name": "c", "requests": {"cpu": 1}}]}
    expecting = [{"admit": pod, "expect": {"reason": "TopologyAffinityError"}}]
    story(runner.workspace, "wrong case", steps=expecting, plugins=[], matrix={"machine": ["laptop"]})
    story(runner.workspace, "good", matrix={"machine": ["laptop"]})
    story(runner.workspace, "large", needs={"numa": 9})
    what = "'theme/wrong case.yaml' theme/good.yaml theme/large.yaml"
    words = {"what": what, "machine": "laptop\npack:2 [numa(memory=4GB)] core:2 pu:1\n", "results": "a b/c"}
    done = runner.step(RUN, command="run", runtime="process", workers="1", **words)
    assert done.code == 1, done.printed
    counts = {key: done.outputs[key] for key in ("verdict", "tests", "passed", "failed", "skipped")}
    assert counts == {"verdict": "failed", "tests": "6", "passed": "2", "failed": "2", "skipped": "2"}
    assert done.outputs["results"] == str(runner.workspace / "a b/c")
    assert (runner.workspace / "a b/c/summary.json").exists()
    [command] = done.commands
    assert command.startswith("::error file=theme/wrong case.yaml,line=")
    assert "title=theme/wrong case (2 instances)::steps[0]: expected rejection" in command
    summary = done.summary.read_text()
    assert "6 instances on 2 machines: 2 passed, 2 failed, 2 skipped" in summary
    done = runner.step(RUN, command="run", require="all", what="theme/large.yaml", machine="laptop")
    assert (done.code, done.outputs["failed"]) == (1, "1"), done.printed


def test_a_typo_is_told_at_the_job(runner: Runner) -> None:
    done = runner.step(RUN, command="run", what="no-such-theme")
    assert (done.code, done.outputs["verdict"]) == (2, "bad-input"), done.printed
    [command] = done.commands
    assert command.startswith("::error title=numaproof::numaproof: no-such-theme: no file, folder or scenario")


@pytest.mark.parametrize(
    ("command", "name", "told"),
    [
        ("run", "plugin", "the inputs plugin and image are for the command check"),
        ("run", "image", "the inputs plugin and image are for the command check"),
        ("check", "what", "the input what is for the command run"),
    ],
)
def test_what_is_for_the_other_command_is_not_left_undone(runner: Runner, command: str, name: str, told: str) -> None:
    done = runner.step(RUN, machine="no-such-machine", **{"command": command, name: "x"})
    assert done.code == 2
    assert done.commands == [f"::error title=numaproof::{told}"]


def test_strict_is_never_left_out_for_how_it_is_written(runner: Runner) -> None:
    lax = plugin(runner.temp / "numaproof/bin/python", "--fault", "Allocate=accept-empty")
    words = {"command": "check", "plugin": lax, "arguments": "--only dp/allocate/3"}
    assert [runner.step(RUN, strict=value, **words).code for value in ("true", "false", "")] == [1, 0, 0]
    done = runner.step(RUN, strict="yes", **words)
    assert done.code == 2
    assert done.commands == ["::error title=numaproof::the input strict is neither true nor false"]


EVIL = (
    # As code in double quotes, in single quotes, in none; as an option; as several commands of the runner and outputs.
    "--only=x $(touch pwned) `touch pwned` ; touch pwned ; \" && touch pwned && \" ' ; touch pwned ; ' ${PATH} #",
    "x\n::error::pwned\n::add-mask::pwned\nverdict=passed\nx=$(touch pwned)\ntouch pwned\n",
)
OF_INSTALL = ("version", "python")
OF_ONE = {name: words["description"].partition(": ")[0] for name, words in ACTION["inputs"].items()}


@pytest.mark.parametrize("name", sorted(set(ACTION["inputs"]) - {"working-directory"}))
def test_no_input_is_code(runner: Runner, name: str) -> None:
    """Whatever an input holds, no more comes of it than a word of the command, which refuses it."""
    for evil in EVIL:
        for command in ("run", "check"):
            if OF_ONE[name] in ({"run", "check"} - {command}):
                continue
            # Refused at the latest for the machine, before anything starts.
            inputs = {"command": command, "machine": "no-such-machine"} | {name.replace("-", "_"): evil}
            if command == "check":
                inputs.setdefault("plugin", "false")
            done = runner.step(INSTALL if name in OF_INSTALL else RUN, **inputs)
            assert done.code == 2, (done.code, done.printed)
            assert done.outputs.get("verdict") in (None, "bad-input")
            [line] = done.commands
            assert re.match("::error title=numaproof::.{10}", line)
    assert not [path for place in (runner.workspace, runner.temp) for path in place.rglob("pwned*")]


def test_the_workflow_of_the_documentation(runner: Runner) -> None:
    [text] = re.findall(r"^```yaml\n(name: .*?)^```$", CI_PAGE.read_text(), re.MULTILINE | re.DOTALL)
    steps = [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]
    outputs = {name for step in steps for name in re.findall(r"\.outputs\.([\w-]+)", yaml.safe_dump(step))}
    assert outputs
    assert outputs <= set(ACTION["outputs"])
    own_plugin(runner.workspace / "my-plugin", runner.temp / "numaproof/bin/python")
    (runner.workspace / "scenarios").mkdir()
    story(runner.workspace / "scenarios")
    ours = [step["with"] for step in steps if "/numaproof@" in step["uses"]]
    assert [words["command"] for words in ours] == ["check", "run"]
    for words in ours:
        assert set(words) <= set(ACTION["inputs"])
        quick = {"arguments": "--only dp/options/1"} if words["command"] == "check" else {}
        done = runner.step(RUN, **words, **quick)
        assert (done.code, done.outputs["verdict"]) == (0, "passed"), done.printed
        assert int(done.outputs["tests"]) == int(done.outputs["passed"]) > 0


def test_no_script_holds_an_expression() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
        assert set(EXPRESSION.findall("".join(step["env"].values()))) <= set(ACTION["inputs"])
    used = {name for step in (INSTALL, RUN) for name in EXPRESSION.findall(yaml.safe_dump(step))}
    assert used == set(ACTION["inputs"])


def test_every_output_comes_of_the_run(runner: Runner) -> None:
    told = {words["value"] for words in ACTION["outputs"].values()}
    assert told == {f"${{{{ steps.numaproof.outputs.{name} }}}}" for name in ACTION["outputs"]}
    command = plugin(runner.temp / "numaproof/bin/python")
    done = runner.step(RUN, command="check", plugin=command, arguments="--only dp/options/1")
    assert set(done.outputs) == set(ACTION["outputs"])


def test_an_old_python_is_refused(runner: Runner) -> None:
    old = runner.workspace / "python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    done = runner.step(INSTALL, python=str(old))
    assert done.code == 2
    assert done.commands[0].startswith("::error title=numaproof::Python 3.11 or newer is needed; use actions/setup-py")
