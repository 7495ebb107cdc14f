"""`numaproof run`: exit codes, what is listed, what is told, and what is written."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest

import numaproof
from numaproof.fake_sysfs.capture import capture
from numaproof.harness.cli import main
from numaproof.harness.runtimes.docker import LABEL, connect, engine_answers
from numaproof.harness.runtimes.image.build import ensure_image
from tests.harness.commands.stories import GPU, NUMAPROOF, story
from tests.harness.report.junit_shape import check_shape
from tests.places import short_directory

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as place:
        yield place


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


@dataclass(frozen=True, slots=True)
class Mixed:
    """A run of which one instance passes, two fail (one by its node, which does not start), and one does not apply."""

    code: int
    printed: str
    errors: str
    out: Path
    place: Path

    IDS: ClassVar = {
        "theme/own[laptop-restricted-pod]": "passed",
        "theme/refused[laptop]": "failed",
        "theme/two[laptop-restricted-pod]": "skipped",
        "theme/wrong[laptop-restricted-pod]": "failed",
    }


@pytest.fixture(scope="module")
def mixed() -> Iterator[Mixed]:
    with short_directory() as place:
        for_two = story(place, "two", needs={"numa": 2})
        refused = story(place, "refused", kubelet={"reservedSystemCPUs": "0-9999"}, matrix={"machine": ["laptop"]})
        annotations = ("--annotations", f"gitlab={place / 'quality.json'}")
        done = run(place, story(place), wrong(place), for_two, refused, *annotations)
        yield Mixed(done.returncode, done.stdout, done.stderr, place / "out", place)


def test_what_failed_is_told_by_the_exit_code(mixed: Mixed) -> None:
    assert mixed.code == 1, mixed.printed


def test_a_difference_is_shown_with_its_reason(mixed: Mixed) -> None:
    for words in (
        "the story wrong",
        "why: a test of the command",
        "steps[0]: expected rejection (TopologyAffinityError), was admitted",
        "the node: c: placed on ",
    ):
        assert words in mixed.printed
    lines = (mixed.place / "theme/wrong.yaml").read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if text.startswith("- admit"))
    assert f"  theme/wrong.yaml:{line}: the story wrong\n" in mixed.printed


def test_what_failed_is_named_so_that_it_can_be_run_again(mixed: Mixed) -> None:
    assert "FAILED theme/wrong[laptop-restricted-pod]\n" in mixed.printed


def test_a_node_that_does_not_start_is_shown_with_what_it_printed(mixed: Mixed) -> None:
    assert "- the node ended: numaproof: " in mixed.printed
    assert "9999" in mixed.printed


def test_no_traceback_is_shown(mixed: Mixed) -> None:
    assert "Traceback" not in mixed.printed + mixed.errors


def test_the_matrix_and_what_was_skipped_are_shown(mixed: Mixed) -> None:
    head, *_ = mixed.printed.splitlines()
    assert head.endswith(": 4 instances on laptop, runtime process, 1 at a time")
    assert "machine  restricted   other\nlaptop       1 of 2  0 of 1\n" in mixed.printed
    assert "1 skipped: 1 needs 2 NUMA nodes with CPUs, laptop has 1\n" in mixed.printed
    assert "FAILED: 2 of 4 instances on 1 machine, 1 passed, 1 skipped, " in mixed.printed


def test_the_files_are_named_and_there(mixed: Mixed) -> None:
    out = mixed.out
    assert mixed.printed.splitlines()[-1] == f"{out}/index.html"
    assert sorted(path.name for path in out.iterdir()) == ["index.html", "junit.xml", "machines", "summary.json"]
    assert (out / "machines/laptop.txt").exists()


def test_the_summary_for_programs(mixed: Mixed) -> None:
    written = summary(mixed.out.parent)
    assert written["runtime"] == "process"
    assert written["totals"] == {"passed": 1, "failed": 2, "skipped": 1}
    assert {one["id"]: one["outcome"] for one in written["results"]} == mixed.IDS
    told = {one["id"].partition("[")[0]: one for one in written["results"]}
    assert told["theme/wrong"]["file"] == str(mixed.place / "theme/wrong.yaml")
    assert "expected rejection (TopologyAffinityError), was admitted" in told["theme/wrong"]["differences"][0]
    assert "9999" in told["theme/refused"]["differences"][0]
    assert told["theme/two"]["reason"] == "needs 2 NUMA nodes with CPUs, laptop has 1"
    assert datetime.fromisoformat(written["started"]).tzinfo is not None
    assert written["seconds"] > 0
    assert written["version"] == numaproof.__version__
    assert written["command"].startswith("numaproof run --runtime process --out ")
    assert not written["cut"]


def test_junit_for_ci(mixed: Mixed) -> None:
    [suite] = check_shape((mixed.out / "junit.xml").read_text())
    counts = {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "4", "failures": "2", "errors": "0", "skipped": "1"}
    assert {case.get("name") for case in suite} == set(mixed.IDS)
    wrong = suite.find("testcase[@classname='theme/wrong']")
    assert wrong is not None
    assert (wrong.get("file"), wrong.get("line")) == ("theme/wrong.yaml", line_of("admit:", mixed.out.parent))
    [failure] = wrong.findall("failure")
    assert "steps[0]: expected rejection (TopologyAffinityError), was admitted" in str(failure.get("message"))
    assert "the node: c: placed on " in str(failure.text)


def line_of(text: str, place: Path) -> str:
    lines = (place / "theme/wrong.yaml").read_text().splitlines()
    return str(1 + next(number for number, line in enumerate(lines) if text in line))


def test_failures_stand_beside_the_scenarios_in_ci(mixed: Mixed, place: Path) -> None:
    issues = json.loads((mixed.out.parent / "quality.json").read_text())
    where = {(one["location"]["path"], str(one["location"]["lines"]["begin"])) for one in issues}
    assert where == {("theme/refused.yaml", "1"), ("theme/wrong.yaml", line_of("admit:", mixed.out.parent))}
    assert "::error" not in mixed.printed
    # Told by GitHub's environment alone, from a folder below the repository's.
    wrong(place)
    environment = {**os.environ, "GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(place)}
    command = [*NUMAPROOF, "run", "wrong.yaml", "--runtime", "process", "-n", "2"]
    printed = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=place / "theme", env=environment
    ).stdout
    [line] = [line for line in printed.splitlines() if line.startswith("::")]
    told = f"::error file=theme/wrong.yaml,line={line_of('admit:', place)},title=theme/wrong::steps[0]: expected rej"
    assert line.startswith(told)
    assert printed.splitlines()[-1] == "out/index.html"


def test_annotations_that_cannot_be_are_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = story(place)
    for word in ("gitlab", "gitlab=", "bitbucket=x", "github=", "none=x"):
        told = f"numaproof: --annotations {word}: give auto, none, github, github=FILE or gitlab=FILE\n"
        assert refusal(capsys, file, "--annotations", word) == told
    options = ("--runtime", "process", "--out", place / "out", "--annotations", f"gitlab={place}/no/q.json")
    assert "no/q.json: its directory does not exist; make it first" in refusal(capsys, file, *options)


COUNTING = """
import sys
import numaproof.harness.scenario.parse as module
read = module.read

def counted(path, **options):
    with open(sys.argv[1], "a") as reads:
        print(path, file=reads)
    return read(path, **options)

module.read = counted
from numaproof.harness.cli import main
sys.exit(main(sys.argv[2:]))
"""


def test_a_file_is_parsed_once(place: Path) -> None:
    """Where one process does everything: what was listed is what runs."""
    file = story(place)
    command = [sys.executable, "-c", COUNTING, str(place / "reads")]
    command += ["run", f"{file}::theme/own[laptop-restricted-pod]", str(file)]
    command += ["--runtime", "process", "-n", "1", "--out", str(place / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=place)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (place / "reads").read_text().splitlines() == [str(file)]


CRASHING = """
import os, signal, sys
from numaproof.harness.rig.session import Session
run = Session.run

def dies(self, instance, recording):
    if "wrong" in instance.id:
        os.kill(os.getpid(), signal.SIGKILL)
    return run(self, instance, recording)

Session.run = dies
"""


def test_an_instance_whose_worker_died_is_a_failure_in_the_results(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "sitecustomize.py").write_text(CRASHING)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(place), str(REPOSITORY)]))
    done = run(place, story(place), wrong(place), "-n", "2")
    assert done.returncode == 1, done.stdout
    [suite] = check_shape((place / "out/junit.xml").read_text())
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert "the process that ran it died" in str(suite.findtext("testcase[@classname='theme/wrong']/failure"))
    outcomes = {one["id"]: one["outcome"] for one in summary(place)["results"]}
    assert outcomes == {"theme/own[laptop-restricted-pod]": "passed", "theme/wrong[laptop-restricted-pod]": "failed"}


LISTING = """
import sys
from numaproof.harness.cli import main
assert main(["run", "--list"]) == 0
slow = ("pytest", "xdist", "grpc", "google.protobuf", "docker", "requests", "rich", "testinfra", "http.client")
print("imported:", [name for name in slow if name in sys.modules])
"""


def test_a_list_waits_for_nothing_that_it_does_not_need() -> None:
    done = subprocess.run([sys.executable, "-c", LISTING], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "imported: []", done.stderr


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


def test_why_a_pod_is_rejected_is_told(place: Path) -> None:
    # A CPU prefers a single NUMA node, and two GPUs are always on two.
    pod = {"name": "p", "containers": [{"name": "c", "requests": {"cpu": 1, "memory": "1Mi", GPU: 2}}]}
    steps = [{"admit": pod, "expect": {"admitted": True}}]
    file = story(place, steps=steps, matrix={"policy": ["restricted"], "machine": ["xeon-2s"]})
    done = run(place, file)
    assert "the node: " in done.stdout
    assert "more (-v shows all)" in done.stdout
    done = run(place, file, "-v")
    assert f"  again: numaproof run --runtime process '{file}::theme/own[xeon-2s-restricted]'" in done.stdout
    assert done.returncode == 1
    assert "steps[0]: expected admission, was rejected (TopologyAffinityError: " in done.stdout
    assert f"the node: {GPU} needs more NUMA nodes than CPUs" in done.stdout
    assert f"the node: container c: {GPU} prefers NUMA nodes 0+1" in done.stdout
    assert ", not preferred; restricted admits only what every resource prefers" in done.stdout
    assert f"the node: would help: ask for 1 {GPU} instead of 2 in container c" in done.stdout


def test_nothing_is_taken_from_where_it_runs(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = story(place, matrix={"policy": ["none", "restricted"], "machine": ["laptop"]})
    # A repository of somebody's with tests of its own, and settings for its own pytest.
    (place / "conftest.py").write_text("raise SystemExit('not for numaproof')\n")
    (place / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    monkeypatch.setenv("PYTEST_PLUGINS", "no_such_plugin")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    done = run(place, file, "-n", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert summary(place)["totals"]["passed"] == 2


def test_what_our_interpreter_finds_its_programs_find(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dependencies may be found by PYTHONPATH alone, as in the image."""
    note = f"import sys\nopen({str(place / 'started')!r}, 'a').write(' '.join(sys.orig_argv) + chr(10))\n"
    (place / "sitecustomize.py").write_text(note)
    monkeypatch.setenv("PYTHONPATH", str(place))
    assert run(place, story(place)).returncode == 0
    assert "numaproof.harness.warm_commands" in (place / "started").read_text()


def test_there_are_no_more_workers_than_instances(place: Path) -> None:
    done = run(place, story(place), "-n", "1000")
    assert done.returncode == 0, done.stdout
    assert "bringing up nodes" not in done.stdout


def test_the_directory_of_a_killed_run_goes_with_the_next(place: Path) -> None:
    code = (
        "import os\nfrom numaproof.harness.runtimes.scratch import run_directory\n"
        "with run_directory('test') as place:\n    print(place, flush=True)\n    os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run(place, story(place)).returncode == 0
    assert not Path(killed.stdout.strip()).exists()


def test_results_that_find_no_room_are_told_in_a_line(place: Path) -> None:
    # Its folders can be made there, and nothing more.
    script = 'mount -t tmpfs -o size=8k none "$1" && head -c 4096 /dev/zero > "$1/filler" && shift && exec "$@"'
    command = [*NUMAPROOF, "run", str(story(place)), "--runtime", "process", "-n", "1", "--out", str(place / "full")]
    (place / "full").mkdir()
    namespace = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", str(place / "full")]
    done = subprocess.run([*namespace, *command], capture_output=True, text=True, check=False, cwd=place)
    assert done.returncode == 2, done.stdout
    why = "No space left on device; the results could not be written, give another folder"
    assert done.stderr == f"numaproof: --out {place}/full: {why}\n"
    assert "Traceback" not in done.stdout


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


@pytest.mark.skipif(not engine_answers(), reason="no Docker engine answers, and none could be started")
def test_the_containers_of_a_killed_run_go_with_the_next(place: Path) -> None:
    client = connect()
    try:
        gone = str(place / "run-that-was-killed")
        container = client.containers.create(ensure_image(), labels={LABEL: gone})
        done = run(place, story(place), runtime="docker")
        assert done.returncode == 0, done.stdout
        left = client.containers.list(all=True, filters={"label": f"{LABEL}={gone}"}, ignore_removed=True)
        assert [one.id for one in left if one.id == container.id] == []
    finally:
        client.close()


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


def test_ones_own_go_by_file_and_instance(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = story(place, matrix={"policy": ["none", "restricted"], "machine": ["laptop"]})
    done = run(place, f"{file}::theme/own[laptop-none]")
    assert done.returncode == 0, done.stdout
    assert [one["id"] for one in summary(place)["results"]] == ["theme/own[laptop-none]"]
    told = f"theme/own[m]: the scenario has no such instance; ids: numaproof run --list {file}"
    assert told in refusal(capsys, f"{file}::theme/own[m]")


def test_what_is_no_scenario_is_told_in_a_line(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    story(place)
    bad = place / "theme/bad.yaml"
    bad.write_text("name: n\nwhy: w\nsource: s\nstps: []\n")
    assert f"{bad}:4: stps: unknown key" in refusal(capsys, bad)
    assert f"{bad}:4: stps: unknown key" in refusal(capsys, place / "theme")
    bad.write_text("{")
    assert f"{bad}:1: is not YAML" in refusal(capsys, bad)
    (place / "empty").mkdir()
    assert f"{place}/empty: no scenario lies in this folder" in refusal(capsys, place / "empty")
    assert "no-such/thing: no file, folder or scenario of this name; themes: " in refusal(capsys, "no-such/thing")
    assert "[m-none]: the scenario has no such instance" in refusal(capsys, "views/everybody-sees-the-machine[m-none]")


def test_what_cannot_be_a_scenario_is_told_in_a_line(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = story(place)
    good = file.read_text()
    (place / "theme/dir.yaml").mkdir()
    assert "no scenario lies in this folder" in refusal(capsys, place / "theme/dir.yaml")
    for name, told in {
        "x.txt": "a scenario's name ends in .yaml or .yml",
        "a[b].yaml": "`[` and `::` are for instances",
    }.items():
        (place / "theme" / name).write_text(good)
        assert f"{place}/theme/{name}: {told}" in refusal(capsys, place / "theme" / name)
        (place / "theme" / name).unlink()
    os.mkfifo(place / "theme/pipe.yaml")
    assert f"{place}/theme/pipe.yaml: is not a file that can be read twice" in refusal(capsys, place / "theme")
    (place / "theme/pipe.yaml").unlink()
    (place / "theme/link.yaml").symlink_to("gone.yaml")
    assert f"{place}/theme/link.yaml: is a link to what is not there; mend" in refusal(capsys, place / "theme")
    assert f"{place}/theme/link.yaml: is a link to what is not there" in refusal(capsys, place / "theme/link.yaml")
    (place / "theme/link.yaml").unlink()
    assert "''" in refusal(capsys, "")
    assert "no file, folder or scenario" in refusal(capsys, "x" * 5000)
    assert "'name' is there twice in one mapping" in refusal(capsys, story_text(place, good + "name: again\n"))
    assert ":1: is nested too deeply" in refusal(capsys, story_text(place, "[" * 5000))


def test_scenarios_with_the_same_id_are_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = story(place)
    (place / "theme/own.yml").write_text(file.read_text())
    told = f"{file} and {file.with_suffix('.yml')} have the same id, theme/own"
    assert told in refusal(capsys, place / "theme")
    (place / "theme/own.yml").unlink()
    (place / "link").symlink_to("theme")
    assert main(["run", "--list", str(file), f"{file}::theme/own[laptop-restricted-pod]"]) == 0  # the same file


def test_machines_with_the_same_name_are_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder, preset in (("one", "laptop"), ("two", "xeon-2s")):
        (place / folder).mkdir()
        story(place / folder, folder, matrix={"machine": ["edge.yaml"]})
        (place / folder / "theme/edge.yaml").write_text(f"preset: {preset}\n")
    one, two = place / "one/theme/one.yaml", place / "two/theme/two.yaml"
    assert main(["run", "--list", str(one)]) == main(["run", "--list", str(two)]) == 0
    capsys.readouterr()
    told = f"{two}: matrix.machine: edge.yaml is another machine here than in {one}; call one of them otherwise"
    assert told in refusal(capsys, one, two)


def story_text(place: Path, text: str) -> Path:
    (place / "theme/text.yaml").write_text(text)
    return place / "theme/text.yaml"


def test_other_bad_input_is_told_in_a_line(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = story(place)
    assert "--workers 0: give at least 1" in refusal(capsys, file, "-n", "0")
    assert "--machine: machine 'nonsense'" in refusal(capsys, file, "--machine", "nonsense")
    assert "--machine: machine 'xxx" in refusal(capsys, file, "--machine", "x" * 300)
    elsewhere = story(place, "elsewhere", matrix={"machine": ["laptop", "nonsense"]})
    assert f"{elsewhere}: matrix.machine: machine 'nonsense'" in refusal(capsys, elsewhere)
    (place / "file").write_text("")
    for out, reason in {"file/out": "Not a directory", "file": "File exists"}.items():
        assert main(["run", str(file), "--runtime", "process", "--out", str(place / out)]) == 2
        assert f"--out {place / out}: {reason}; give a directory" in capsys.readouterr().err
    monkeypatch.setenv("DOCKER_HOST", f"unix://{place}/nobody.sock")
    assert "no Docker engine answers at unix://" in refusal(capsys, file, "--runtime", "docker")
