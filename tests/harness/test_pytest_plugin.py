"""The pytest plugin in somebody else's repository: its fixtures, its scenarios, and nothing that was not asked for."""

import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import short_directory

EXAMPLE = Path(__file__).parents[2] / "docs/examples/pytest-plugin"
STORY = "scenarios/alignment/gpu-beside-its-cpus.yaml"


@pytest.fixture
def repository() -> Iterator[Path]:
    """The example, outside of our own repository."""
    with short_directory() as place:
        shutil.copytree(EXAMPLE, place / "repository", ignore=shutil.ignore_patterns("__pycache__"))
        yield place / "repository"


def run(repository: Path, *options: str) -> tuple[int, str, dict[str, str]]:
    """pytest there: its exit code, its output, and how each test ended. A warning is an error."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--junitxml=junit.xml", "-W", "error"]
    # What the garbage collector finds is told in whatever test runs at that moment: it says nothing of that test.
    command += ["-W", "default::ResourceWarning", "-W", "default::pytest.PytestUnraisableExceptionWarning"]
    command += ["--numaproof-runtime=process", *options]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
    ended = {}
    if (repository / "junit.xml").exists():
        for case in ET.parse(repository / "junit.xml").iter("testcase"):
            marks = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
            ended[str(case.get("name"))] = marks[0] if marks else "passed"
    return done.returncode, done.stdout + done.stderr, ended


@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_example_works_as_it_stands(repository: Path, workers: str) -> None:
    code, printed, ended = run(repository, "-n", workers)
    assert code == 0, printed
    assert ended == {
        "test_a_gpu_comes_from_the_node_of_its_cpus": "passed",
        "test_what_no_node_can_give_is_rejected_and_holds_nothing": "passed",
        "test_a_restarted_node_remembers": "passed",
        "test_a_scenario_from_a_test": "passed",
        "alignment/gpu-beside-its-cpus[xeon-2s-restricted]": "passed",
        "alignment/gpu-beside-its-cpus[xeon-2s-single-numa-node]": "passed",
    }
    assert "2 instances on 1 machine: 2 passed, 0 failed, 0 skipped" in printed


OWN_TESTS = """
import pytest

def test_differs(scenario):
    scenario("wrong.yaml")

def test_is_no_scenario(scenario):
    scenario("data/scenarios/other.yaml")

def test_does_not_apply(scenario):
    scenario("large.yaml")

def test_on_the_machine_of_the_option(scenario):
    with pytest.raises(pytest.fail.Exception, match=r"wrong\\[laptop-restricted\\]"):
        scenario("wrong.yaml")

def test_machine_of_the_option(machine):
    assert machine.name == "laptop"

@pytest.mark.machine("dgx-a100")
def test_machine_of_the_mark(machine):
    assert machine.name == "dgx-a100"

def test_node_that_cannot_start(node):
    from numaproof.harness.scenario.rig import RigFailedError
    with pytest.raises(RigFailedError, match="universe"):
        node(topologyManagerScope="universe")
"""


def test_what_fails_and_what_does_not_apply_is_told(repository: Path) -> None:
    story = (repository / STORY).read_text().replace("per_numa: 2", "per_numa: 2, preferred: lowest")
    (repository / "wrong.yaml").write_text(story.replace("{reason: TopologyAffinityError}", "{admitted: true}"))
    (repository / "large.yaml").write_text(story + "needs: {numa: 4}\n")
    # Somebody else's YAML, in a folder that happens to have a name that we use too: none of our business.
    (repository / "data/scenarios").mkdir(parents=True)
    (repository / "data/scenarios/other.yaml").write_text("- not ours\n")
    (repository / "test_own.py").write_text(OWN_TESTS)
    code, printed, ended = run(repository, "test_own.py", "data", "--numaproof-machine=laptop")
    assert code == 1, printed
    assert ended == {
        "test_differs": "failure",
        "test_is_no_scenario": "failure",
        "test_does_not_apply": "skipped",
        "test_on_the_machine_of_the_option": "passed",
        "test_machine_of_the_option": "passed",
        "test_machine_of_the_mark": "passed",
        "test_node_that_cannot_start": "passed",
    }
    # The words of the plugin, not its tracebacks.
    assert "steps[1]: expected admission, was rejected" in printed
    assert "data/scenarios/other.yaml:1: ['not ours'] is not a mapping" in printed
    assert "pytest_plugin.py" not in printed


def test_what_does_not_apply_fails_when_all_is_required(repository: Path) -> None:
    (repository / "large.yaml").write_text((repository / STORY).read_text() + "needs: {numa: 4}\n")
    (repository / "test_large.py").write_text("def test_large(scenario):\n    scenario('large.yaml')\n")
    code, printed, ended = run(repository, "test_large.py", "--numaproof-require=all")
    assert code == 1, printed
    assert ended == {"test_large": "failure"}
    assert "does not apply, and all are required: needs 4 NUMA nodes" in printed


def test_a_file_that_is_given_is_a_scenario_wherever_it_lies(repository: Path) -> None:
    (repository / STORY).rename(repository / "moved.yaml")
    code, printed, ended = run(repository, "moved.yaml", "--numaproof-machine=laptop")
    assert code == 0, printed
    assert list(ended) == ["repository/moved[laptop-restricted]", "repository/moved[laptop-single-numa-node]"]
    (repository / "moved.yaml").write_text("name: n\n")
    code, printed, _ = run(repository, "moved.yaml")
    assert code == 2
    assert "moved.yaml:1: steps: is missing; write a list of at least 1" in printed
    assert "pytest_plugin.py" not in printed
    (repository / "moved.yaml").unlink()
    (repository / "scenarios").rename(repository / "others")
    code, printed, ended = run(repository, "others", "-c", "/dev/null")  # without the setting
    assert (code, ended) == (5, {}), printed


def test_a_summary_that_cannot_be_written_is_no_success(repository: Path) -> None:
    code, printed, _ = run(repository, STORY, "--numaproof-summary=scenarios")
    assert code == 4, printed
    assert "--numaproof-summary scenarios: Is a directory; give another file" in printed
    assert "Traceback" not in printed


def test_a_folder_of_scenarios_that_is_not_there_is_no_success(repository: Path) -> None:
    (repository / "scenarios").rename(repository / "renamed")
    code, printed, ended = run(repository, "test_alignment.py")
    assert (code, ended) == (4, {})
    assert f"pyproject.toml: numaproof_scenarios: {repository}/scenarios is not a folder" in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize("workers", ["0", "2"])
def test_nothing_is_left_behind(repository: Path, workers: str) -> None:
    (repository / "test_place.py").write_text(
        "from pathlib import Path\n"
        "def test_place(node, request):\n"
        "    from numaproof.pytest_plugin import RUN\n"
        "    from numaproof.harness.runtimes.scratch import parents\n"
        "    node()\n"
        "    (place,) = (place for parent in parents() for place in parent.glob(f'*{request.config.stash[RUN]}'))\n"
        "    Path('place').write_text(str(place))\n"
        "    assert False, 'a failing test too'\n"
    )
    code, printed, _ = run(repository, "test_place.py", "-n", workers)
    assert code == 1, printed
    assert not Path((repository / "place").read_text()).exists()


UNINTERESTED = """
import sys

from numaproof.pytest_plugin import RUN

def test_nothing_of_ours_is_loaded_or_made(request, node, machine):
    assert (node, machine) == ("their node", "their machine")
    heavy = {"grpc", "google.protobuf", "docker", "rich"}
    assert sorted(heavy & set(sys.modules)) == []
    assert [name for name in sys.modules if name.startswith("numaproof.")] == ["numaproof.pytest_plugin"]

    from numaproof.harness.runtimes.scratch import parents
    assert [place for parent in parents() for place in parent.glob(f"*{request.config.stash[RUN]}*")] == []
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_who_does_not_use_it_does_not_notice_it(repository: Path, workers: str) -> None:
    shutil.rmtree(repository)
    (repository / "data").mkdir(parents=True)
    (repository / "docker-compose.yaml").write_text("services: {web: {image: x}}\n")
    (repository / "data/pods.yml").write_text("kind: Pod\n---\nkind: Pod\n")
    (repository / "data/broken.yaml").write_text("\tbroken: {")
    fixtures = [f"@pytest.fixture\ndef {name}():\n    return 'their {name}'\n" for name in ("node", "machine")]
    (repository / "conftest.py").write_text("import pytest\n" + "".join(fixtures))
    (repository / "test_theirs.py").write_text(UNINTERESTED)
    code, printed, ended = run(repository, "-n", workers, "--strict-markers", "--strict-config")
    assert code == 0, printed
    assert ended == {"test_nothing_of_ours_is_loaded_or_made": "passed"}
    assert "numaproof" not in printed.replace("numaproof-", "")


@pytest.mark.parametrize(
    ("test", "options", "told"),
    [
        ("def test_it(machine): pass", ["--numaproof-machine=nonsense"], "machine 'nonsense'"),
        ("def test_it(node): node()", ["--numaproof-machine=nonsense"], "machine 'nonsense'"),
        ("@pytest.mark.machine\ndef test_it(machine): pass", [], "the mark `machine` names one machine"),
        ("def test_it(runtime): pass", ["--numaproof-runtime=docker"], "no Docker engine answers at unix://"),
        ("def test_it(node): node()", ["--numaproof-runtime=docker"], "no Docker engine answers at unix://"),
        ("def test_it(scenario): scenario('none.yaml')", [], "none.yaml: cannot be read"),
    ],
)
def test_what_the_user_can_mend_is_told_without_our_tracebacks(
    repository: Path, monkeypatch: pytest.MonkeyPatch, test: str, options: list[str], told: str
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{repository}/nobody.sock")
    (repository / "test_it.py").write_text(f"import pytest\n{test}\n")
    code, printed, _ = run(repository, "test_it.py", *options)
    assert code == 1, printed
    assert told in printed
    assert "Traceback" not in printed
    assert "pytest_session.py" not in printed
