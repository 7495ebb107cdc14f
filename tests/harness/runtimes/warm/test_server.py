"""The warm process: programs that it forks live as long as their connection, and not longer."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from numaproof.harness.runtimes import Program
from numaproof.harness.runtimes.local import ProcessRuntime
from numaproof.harness.runtimes.warm.pool import WARM, Host
from tests.places import short_directory
from tests.waiting import wait_until

REPOSITORY = str(Path(__file__).parents[4])


@pytest.fixture(scope="module")
def host() -> Iterator[tuple[Host, Path]]:
    with short_directory() as place:
        program = Program((sys.executable, *WARM, str(place / "h")), environment={"PYTHONPATH": REPOSITORY})
        host = Host(ProcessRuntime(), program, place / "h", "/")
        yield host, place
        host.close()


def test_a_program_prints_and_ends(host: tuple[Host, Path]) -> None:
    warm, place = host
    child = warm.start(["plugin", "generic", "--count", "2", "--dry-run"], place / "dry")
    wait_until(child.ended, "the program's end")
    assert child.printed().split() == ["0", "1"]
    child.kill()


def test_a_program_is_killed_with_its_connection(host: tuple[Host, Path]) -> None:
    warm, place = host
    plugins = place / "plugins"
    plugins.mkdir()
    child = warm.start(["plugin", "generic", "--count", "1", "--dir", str(plugins)], place / "served")
    wait_until(lambda: "serving 1 devices" in child.printed(), "the plugin")
    assert not child.ended()
    child.kill()
    # Killed, not asked: its socket is still there, and a second one may take the place.
    assert list(plugins.glob("*.sock"))
    second = warm.start(["plugin", "generic", "--count", "3", "--dir", str(plugins)], place / "again")
    wait_until(lambda: "serving 3 devices" in second.printed(), "the second plugin")
    second.kill()


def test_bad_arguments_are_told_by_the_program(host: tuple[Host, Path]) -> None:
    warm, place = host
    child = warm.start(["node", "--root", str(place / "n"), "--config", str(place / "none.yaml")], place / "bad")
    wait_until(child.ended, "the program's end")
    assert "none.yaml" in child.printed()
    child.kill()


def test_several_programs_live_side_by_side(host: tuple[Host, Path]) -> None:
    warm, place = host
    (place / "many").mkdir()
    children = [
        warm.start(
            ["plugin", "generic", "--resource", f"example.com/r{i}", "--dir", str(place / "many")], place / f"out{i}"
        )
        for i in range(4)
    ]
    for child in children:
        wait_until(lambda child=child: "serving 4 devices" in child.printed(), "a plugin")  # type: ignore[misc]
    children[0].kill()
    assert [child.ended() for child in children[1:]] == [False] * 3
    for child in children[1:]:
        child.kill()
