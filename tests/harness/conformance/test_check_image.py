"""`numaproof check --image`: a plugin in a container of a real engine, judged as one of the host is."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from numaproof.harness.cli import main
from numaproof.harness.runtimes.docker import LABEL, connect, engine_answers
from numaproof.harness.runtimes.image.build import ensure_image

# `make test` gives an engine of its own where none answers (root, Debian): only elsewhere is there nothing to test.
pytestmark = pytest.mark.skipif(not engine_answers(), reason="no Docker engine answers, and none could be started")

MOCK = ("python3", "-m", "numaproof", "plugin")


@pytest.fixture(scope="module")
def image() -> str:
    """Our own image: it holds the fake plugins."""
    return ensure_image()


@pytest.fixture(autouse=True)
def _nothing_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No numaproof.yaml lies where the command runs, and no container outlives it."""
    monkeypatch.chdir(tmp_path)
    yield
    client = connect()
    try:
        containers = client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True)
        labels = [str(one.labels[LABEL]) for one in containers]
    finally:
        client.close()
    # A label names the directory of a run: those of others, who run beside us, are still there.
    assert [label for label in labels if not Path(label).exists()] == []


def verdicts() -> dict[str, str]:
    return {entry["id"]: entry["verdict"] for entry in yaml.safe_load(Path("r.yaml").read_text())["checks"]}


def test_every_check_is_made_of_a_plugin_in_a_container(image: str) -> None:
    subject = ["--", *MOCK, "generic", "--count", "3", "--preferred", "lowest", "--pre-start"]
    assert main(["check", "--image", image, "--yaml", "r.yaml", *subject]) == 0, Path("r.yaml").read_text()
    found = verdicts()
    assert {id_ for id_, verdict in found.items() if verdict not in ("pass", "skip")} == set()
    # Sessions that start it, restart its kubelet and end it were all played.
    for id_ in ("dp/register/1", "dp/register/6", "dp/register/11", "dp/list/2", "dp/allocate/1", "dp/preferred/1"):
        assert found[id_] == "pass", id_


def test_a_violation_in_a_container_is_found(image: str, capsys: pytest.CaptureFixture[str]) -> None:
    subject = ["--", *MOCK, "generic", "--fault", "ListAndWatch=bad-health:Fine"]
    assert main(["check", "--image", image, "--only", "dp/list/3", *subject]) == 1
    assert "not conformant: dp/list/3" in capsys.readouterr().out


def test_the_machine_is_the_containers_sysfs(image: str) -> None:
    asked = ["--only", "dp/list/6", "--only", "dp/list/7", "--machine", "dgx1-v100", "--yaml", "r.yaml"]
    assert main(["check", "--image", image, *asked, "--", *MOCK, "gpu", "--sysfs-root", "/"]) == 0
    assert verdicts() == {"dp/list/6": "pass", "dp/list/7": "pass"}


def test_an_image_runs_its_own_command_unless_one_is_given(image: str, capsys: pytest.CaptureFixture[str]) -> None:
    # Ours is `numaproof`, which is not a plugin, and says how it wants to be called.
    assert main(["check", "--image", image, "--only", "dp/list/2", "--start-timeout", "60"]) == 3
    assert "COMMAND is missing" in capsys.readouterr().err


def test_a_command_that_is_not_in_the_image_is_told(image: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--image", image, "--only", "dp/list/2", "--", "/no/such/plugin"]) == 3
    assert "/no/such/plugin" in capsys.readouterr().err
