"""`numaproof run`: exit codes, what is listed, what is written, and that nothing stays, however a run ends."""

import json
import os
import signal
import subprocess
import sys
import uuid
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from fake_sysfs.capture import capture
from harness.cli import main
from harness.runtimes.docker import engine_answers
from tests.places import short_directory
from tests.waiting import wait_until

GPU = "example.com/gpu"
NUMAPROOF = (sys.executable, "-m", "harness.cli")


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as place:
        yield place


def story(place: Path, name: str = "own", **words: Any) -> Path:
    """A scenario file: a pod with a CPU and a GPU is admitted."""
    pod = {"name": "p", "containers": [{"name": "c", "requests": {"cpu": 1, GPU: 1}}]}
    told = {
        "name": f"the story {name}",
        "why": "a test of the command",
        "source": "this file",
        "matrix": {"policy": ["restricted"], "scope": ["pod"], "machine": ["laptop"]},
        "plugins": [{"resource": GPU, "per_numa": 1}],
        "steps": [{"admit": pod, "expect": {"admitted": True, "aligned": "pod"}}],
        **words,
    }
    file = place / "theme" / f"{name}.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(yaml.safe_dump(told))
    return file


def wrong(place: Path) -> Path:
    pod = {"name": "p", "containers": [{"name": "c", "requests": {"cpu": 1}}]}
    return story(place, "wrong", steps=[{"admit": pod, "expect": {"reason": "TopologyAffinityError"}}], plugins=[])


def run(place: Path, *words: object, runtime: str = "process") -> subprocess.CompletedProcess[str]:
    """`numaproof run` with one worker, as a program."""
    command = [*NUMAPROOF, "run", "--runtime", runtime, "--out", str(place / "out"), "-n", "1", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=place)


def summary(place: Path) -> dict[str, Any]:
    found = json.loads((place / "out/summary.json").read_text())
    assert isinstance(found, dict)
    return found


def refusal(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """The one line with which `numaproof run` refuses what it was given."""
    assert main(["run", *map(str, words)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("numaproof: ")
    assert captured.err.count("\n") == 1
    return captured.err


def test_what_passes_fails_and_does_not_apply_is_shown_and_written(place: Path) -> None:
    for_two = story(place, "two", needs={"numa": 2})
    refused = story(place, "refused", kubelet={"topologyManagerScope": "universe"}, matrix={"machine": ["laptop"]})
    done = run(place, story(place), wrong(place), for_two, refused)
    assert done.returncode == 1, done.stdout
    assert "runtime: process" in done.stdout
    # The scenario's reason, and the difference; no traceback.
    assert "the story wrong" in done.stdout
    assert "why: a test of the command" in done.stdout
    assert "steps[0]: expected rejection (TopologyAffinityError), was admitted" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    # A node that does not start is a failure, told with what it printed.
    assert "- the node ended: numaproof: " in done.stdout
    assert "universe" in done.stdout
    # The matrix.
    assert "4 instances on 1 machines: 1 passed, 2 failed, 1 skipped" in done.stdout
    assert "1 skipped: needs 2 NUMA nodes with CPUs, laptop has 1" in done.stdout
    # The files.
    assert summary(place)["runtime"] == "process"
    assert summary(place)["totals"] == {"passed": 1, "failed": 2, "skipped": 1}
    ids = {one["id"]: one["outcome"] for one in summary(place)["results"]}
    assert ids == {
        "theme/own[laptop-restricted-pod]": "passed",
        "theme/refused[laptop]": "failed",
        "theme/two[laptop-restricted-pod]": "skipped",
        "theme/wrong[laptop-restricted-pod]": "failed",
    }
    suite = ET.fromstring((place / "out/junit.xml").read_text())[0]
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "2",
        "errors": "0",
        "skipped": "1",
    }
    assert {case.get("name") for case in suite} == set(ids)
    assert any("expected rejection" in (failure.text or "") for failure in suite.iter("failure"))


def test_machines_may_be_given(place: Path) -> None:
    tarball = place / "captured.tar.gz"
    capture(tarball)
    file = place / "machine.yaml"
    file.write_text("preset: laptop\n")
    machines = ["xeon-2s", "pack:1 core:4 pu:2", str(file), str(tarball), "host"]
    needs = {"numa_cpus": 0}  # a host with a single core has none to spare, and nothing is asked for
    pod = {"name": "p", "containers": [{"name": "c", "requests": {"memory": "1Mi"}}]}
    any_machine = story(place, needs=needs, plugins=[], steps=[{"admit": pod, "expect": {"admitted": True}}])
    done = run(place, any_machine, *(word for machine in machines for word in ("--machine", machine)))
    assert done.returncode == 0, done.stdout
    assert [one["machine"] for one in summary(place)["results"]] == sorted(machines)
    assert summary(place)["totals"]["passed"] == 5


def test_what_does_not_apply_fails_when_all_is_required(place: Path) -> None:
    done = run(place, story(place, needs={"numa": 2}), "--require", "all")
    assert done.returncode == 1
    assert "does not apply, and all are required: needs 2 NUMA nodes" in done.stdout


def test_in_namespaces(place: Path) -> None:
    steps = [{"look": "machine"}]
    done = run(place, story(place, matrix={"machine": ["xeon-2s"]}, steps=steps), runtime="namespace")
    assert done.returncode == 0, done.stdout
    assert summary(place)["runtime"] == "namespace"


@pytest.mark.skipif(not engine_answers(), reason="no Docker engine answers, and none could be started")
def test_in_containers(place: Path) -> None:
    done = run(place, story(place), "workload", runtime="docker")
    assert done.returncode == 0, done.stdout
    assert summary(place)["runtime"] == "docker"
    assert summary(place)["totals"]["failed"] == 0


def test_a_list_of_instances(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    matrix = {"policy": ["none", "restricted"], "machine": ["laptop", "xeon-2s"]}
    file = story(place, matrix=matrix)
    assert main(["run", "--list", str(file)]) == 0
    assert capsys.readouterr().out.split() == [
        "theme/own[laptop-none]",
        "theme/own[laptop-restricted]",
        "theme/own[xeon-2s-none]",
        "theme/own[xeon-2s-restricted]",
    ]
    assert main(["run", "--list", str(place / "theme"), str(file), "--machine", "m"]) == 2
    assert main(["run", "--list", str(place / "theme"), str(file), "--machine", "dgx-a100"]) == 0
    assert capsys.readouterr().out.split() == ["theme/own[dgx-a100-none]", "theme/own[dgx-a100-restricted]"]


def test_shipped_ones_go_by_theme_id_and_instance(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--list", "views"]) == 0
    of_theme = capsys.readouterr().out.split()
    assert main(["run", "--list"]) == 0
    of_all = capsys.readouterr().out.split()
    assert set(of_theme) < set(of_all)
    wanted = of_theme[0]
    assert main(["run", "--list", wanted.partition("[")[0]]) == 0
    assert wanted in capsys.readouterr().out.split()
    assert main(["run", "--list", wanted]) == 0
    assert capsys.readouterr().out.split() == [wanted]


def test_what_is_no_scenario_is_told_in_a_line(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    story(place)
    bad = place / "theme/bad.yaml"
    bad.write_text("name: n\nwhy: w\nsource: s\nstps: []\n")
    assert f"{bad}: unknown key 'stps'" in refusal(capsys, bad)
    assert f"{bad}: unknown key 'stps'" in refusal(capsys, place / "theme")
    bad.write_text("{")
    assert f"{bad}: is no YAML" in refusal(capsys, bad)
    (place / "empty").mkdir()
    assert f"{place}/empty: no scenario lies in this folder" in refusal(capsys, place / "empty")
    assert "no-such/thing: no file, folder or scenario of this name; themes: " in refusal(capsys, "no-such/thing")
    assert "[m-none]: the scenario has no such instance" in refusal(capsys, "views/everybody-sees-the-machine[m-none]")


def test_other_bad_input_is_told_in_a_line(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = story(place)
    assert "--workers 0: give at least 1" in refusal(capsys, file, "-n", "0")
    assert "machine 'nonsense'" in refusal(capsys, file, "--machine", "nonsense")
    (place / "file").write_text("")
    assert main(["run", str(file), "--runtime", "process", "--out", str(place / "file/out")]) == 2
    assert f"--out {place}/file/out: Not a directory" in capsys.readouterr().err
    monkeypatch.setenv("DOCKER_HOST", f"unix://{place}/nobody.sock")
    assert "no Docker engine answers at unix://" in refusal(capsys, file, "--runtime", "docker")


@dataclass(frozen=True, slots=True)
class Started:
    """A run that is in the middle of an admission."""

    process: subprocess.Popen[str]
    mark: str  # in the environment of every process of the run
    directory: Path


def processes_of(mark: str) -> list[int]:
    """The processes that have a mark in their environment; a zombie has none."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def directories_of(mark: str) -> list[Path]:
    """The directory of a run: its warm processes were told a socket there."""
    found = []
    for pid in processes_of(mark):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        except OSError:
            continue
        if "harness.scenario.warm" in words:
            found.append(Path(words[words.index("harness.scenario.warm") + 1]).parents[1])
    return found


@contextmanager
def hanging_run(place: Path, workers: int) -> Iterator[Started]:
    """A run in namespaces whose plugin hangs while it allocates."""
    plugin = {"resource": GPU, "per_numa": 1, "faults": ["Allocate=hang"]}
    matrix = {"machine": ["laptop", "xeon-2s"][:workers]}
    # The node gives up a pod after half a minute: with so many of them the run stays in the middle long enough for us.
    containers = [{"name": "c", "requests": {"cpu": 1, GPU: 1}}]
    pods = [{"name": f"p{i}", "containers": containers} for i in range(20)]
    steps = [{"admit": pod, "expect": {"admitted": False}} for pod in pods]
    file = story(place, plugins=[plugin], matrix=matrix, steps=steps)
    mark = f"NUMAPROOF_TEST_MARK={uuid.uuid4().hex}"
    name, _, value = mark.partition("=")
    command = [*NUMAPROOF, "run", str(file), "--runtime", "namespace", "--out", str(place / "out"), "-n", str(workers)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, name: value},
        start_new_session=True,  # a process group of its own, as a shell's job has
    )

    def allocating(directory: Path) -> int:
        return sum('"Allocate"' in record.read_text() for record in directory.glob("*/r*/*.record"))

    with process:
        try:
            directory = wait_until(lambda: directories_of(mark), "the run's warm process", timeout=300)[0]
            wait_until(lambda: allocating(directory) == workers, "the plugins' calls", timeout=300)
            yield Started(process, mark, directory)
        finally:
            process.kill()


def mounted(directory: Path) -> bool:
    return str(directory) in Path("/proc/self/mountinfo").read_text()


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_leaves_nothing(place: Path, workers: int) -> None:
    with hanging_run(place, workers) as run:
        os.killpg(run.process.pid, signal.SIGINT)  # as a terminal does: to all of the group
        printed, _ = run.process.communicate(timeout=300)
        assert run.process.returncode == 130, printed
        assert not run.directory.exists()
        wait_until(lambda: not processes_of(run.mark), "the end of all processes", timeout=300)
        assert not mounted(run.directory)


def test_a_killed_run_leaves_nothing_after_clean(place: Path) -> None:
    with hanging_run(place, 2) as run:
        run.process.kill()
        run.process.wait()
        wait_until(lambda: not processes_of(run.mark), "the end of all processes", timeout=300)
        assert not mounted(run.directory)
        # Another test's sweep may have been quicker: what counts is that it is gone.
        subprocess.run([*NUMAPROOF, "clean"], check=True, capture_output=True)
        assert not run.directory.exists()
