"""`numaproof run`: which instances are chosen, where it stops, and a folder that holds one run's results."""

import json
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape

from numaproof.harness.cli import main
from tests.harness.commands.stories import NUMAPROOF, story
from tests.places import short_directory

POD = {"name": "p", "containers": [{"name": "c", "requests": {"cpu": 1}}]}
POLICIES = ["none", "best-effort", "restricted", "single-numa-node"]


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as place:
        yield place


def wrong(place: Path, **words: Any) -> Path:
    """A scenario whose every instance fails."""
    steps = [{"admit": POD, "expect": {"reason": "TopologyAffinityError"}}]
    return story(place, "wrong", steps=steps, plugins=[], **words)


def ran(place: Path, *words: object) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """A run with one worker, as a program, and its summary."""
    command = [*NUMAPROOF, "run", "--runtime", "process", "-n", "1", "--out", str(place / "out"), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=place)
    return done, json.loads((place / "out/summary.json").read_text())


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert main(["run", "--list", "--json", *words]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["instances"]
    return found


def test_of_all_instances_those_of_policies_scopes_and_themes_are_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    everything = listed(capsys)
    parts: tuple[tuple[str, str, Callable[[Any], bool]], ...] = (
        ("--theme", "views", lambda one: one["theme"] == "views"),
        ("--scope", "pod", lambda one: one["values"].get("scope") == "pod"),
        ("--policy", "restricted", lambda one: one["values"].get("policy") == "restricted"),
    )
    for option, value, part in parts:
        chosen = listed(capsys, option, value)
        assert 0 < len(chosen) < len(everything)
        # What says nothing of it in its matrix may have it from its kubelet's configuration.
        assert {one["id"] for one in everything if part(one)} <= {one["id"] for one in chosen}
        name = option.removeprefix("--")
        assert [one["id"] for one in chosen if name in one["values"] and not part(one)] == []


def test_an_option_twice_means_either_and_two_options_both(capsys: pytest.CaptureFixture[str]) -> None:
    def ids(*words: str) -> set[str]:
        return {one["id"] for one in listed(capsys, *words)}

    restricted, none = ids("--policy", "restricted"), ids("--policy", "none")
    assert ids("--policy", "restricted", "--policy", "none") == restricted | none
    assert ids("--policy", "restricted", "--scope", "pod") == restricted & ids("--scope", "pod")


def test_a_machine_twice_is_one(place: Path) -> None:
    done, summary = ran(place, story(place), *("--machine", "laptop") * 2)
    assert done.stdout.splitlines()[-2].startswith("PASSED: 1 of 1 instance on 1 machine"), done.stdout
    assert (done.returncode, len(summary["results"]), summary["cut"]) == (0, 1, False)


def test_parts_of_ids_choose_with_and_or_not(capsys: pytest.CaptureFixture[str]) -> None:
    everything = {one["id"] for one in listed(capsys)}
    chosen = {one["id"] for one in listed(capsys, "-k", "DGX and not (restricted or container)")}
    assert {one["id"] for one in listed(capsys, "-k", "")} == everything  # as pytest has it
    assert chosen == {one for one in everything if "dgx" in one and "restricted" not in one and "container" not in one}
    assert chosen


def test_an_only_instance_that_is_not_chosen_is_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--list", "--policy", "none", str(story(place))]) == 2
    assert capsys.readouterr().err.startswith("numaproof: --policy none: the only instance is not such; see them by: ")


def test_it_stops_at_the_first_failure_when_asked(place: Path) -> None:
    file = wrong(place, matrix={"policy": POLICIES, "machine": ["laptop"]})
    done, summary = ran(place, file)
    assert (done.returncode, summary["totals"]["failed"], summary["cut"]) == (1, len(POLICIES), False)
    done, summary = ran(place, file, "-x")
    assert (done.returncode, summary["totals"]["failed"], summary["cut"]) == (1, 1, True)
    assert summary["did_not_run"] == len(POLICIES) - 1


def test_why_a_story_matters_is_told_once(place: Path) -> None:
    two = wrong(place, matrix={"policy": ["none", "restricted"], "machine": ["laptop"]})
    done, _ = ran(place, two)
    assert done.stdout.count(": the story wrong\n") == 2
    assert done.stdout.count("why: a test of the command\n") == 1


def test_all_of_a_failure_is_told_when_asked(place: Path) -> None:
    file = wrong(place)
    short, full = (ran(place, file, *words)[0].stdout for words in ((), ("-v",)))
    assert "again: numaproof run " not in short
    assert "again: numaproof run " in full


def test_what_failed_on_a_machine_of_the_command_line_is_run_again_there(place: Path) -> None:
    file, machine = wrong(place), "pack:1 core:4 pu:2"
    done, _ = ran(place, file, "-v", "--machine", machine, "--machine", "laptop")
    told = [line.partition("again: numaproof ")[2] for line in done.stdout.splitlines() if "again: " in line]
    words = next(words for words in map(shlex.split, told) if machine in words)
    done, summary = ran(place, *words[1:])
    assert [(one["machine"], one["outcome"]) for one in summary["results"]] == [(machine, "failed")], done.stderr
    page = (place / "out/index.html").read_text()
    assert str(escape(shlex.join(["--machine", machine, f"{file}::{summary['results'][0]['id']}"]))) in page


def test_what_does_not_apply_fails_again_when_all_is_required(place: Path) -> None:
    file = story(place, needs={"numa": 2})
    done, _ = ran(place, file, "-v", "--require", "all")
    words = shlex.split(done.stdout.partition("again: numaproof ")[2].partition("\n")[0])
    done, summary = ran(place, *words[1:])
    assert (done.returncode, summary["totals"]["failed"]) == (1, 1), done.stdout


def test_a_folder_holds_the_last_run_alone_and_what_is_not_ours(place: Path) -> None:
    two = story(place, matrix={"policy": ["restricted"], "machine": ["laptop", "xeon-2s"]})
    _, summary = ran(place, two)
    assert {one["machine"] for one in summary["results"]} == {"laptop", "xeon-2s"}
    (place / "out/notes.txt").write_text("mine")
    done, summary = ran(place, two, "--machine", "laptop")
    assert (done.returncode, {one["machine"] for one in summary["results"]}) == (0, {"laptop"})
    out = place / "out"
    assert sorted(path.name for path in out.iterdir()) == [
        *("index.html", "junit.xml", "machines", "notes.txt", "summary.json")
    ]
    assert {path.stem for path in (out / "machines").iterdir()} == {"laptop"}
    assert "xeon-2s" not in (out / "junit.xml").read_text() + (out / "index.html").read_text()


def test_a_run_that_is_refused_leaves_the_results_of_the_last_one(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, summary = ran(place, story(place))
    assert main(["run", str(place / "theme/own.yaml"), "--out", str(place / "out"), "--machine", "labtop"]) == 2
    assert json.loads((place / "out/summary.json").read_text()) == summary
