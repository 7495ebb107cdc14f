"""Runs a selection of scenarios with pytest: sealed from where it runs, a machine's instances in one worker's hands."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from numaproof.harness.scenario.selection import Selection, shipped_scenarios
from numaproof.harness.scenario.sharing import share_out
from numaproof.pytest_plugin import LISTED

# What people tell the pytest of their own tests: no business of ours, and able to break a run.
_FOR_OTHERS = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")


def run_selection(selection: Selection, options: Sequence[str], workers: int) -> int:
    """Run what was selected, side by side; 0: all passed, 1: some failed, 2: bad input, 130: a Ctrl-C ended it."""
    workers = min(workers, len(selection.instances))
    plugin = _RunPlugin(selection, share_out(selection.instances, workers))
    arguments = [*_sealed(selection), "-q", "--tb=short", *options]
    arguments += ["-n", str(workers)] if workers > 1 else []
    ended = pytest.main([*arguments, *selection.names], plugins=[plugin])
    if ended in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return int(ended)
    return 130 if ended == pytest.ExitCode.INTERRUPTED else 2  # 130: as any program that a Ctrl-C ended


def _sealed(selection: Selection) -> list[str]:
    """Options of a pytest that takes nothing from where it runs: no settings, conftest.py, cache or other plugins."""
    for name in _FOR_OTHERS:
        os.environ.pop(name, None)
    shipped = shipped_scenarios()
    ours = all(file.is_relative_to(shipped) for file in selection.files)
    # Tests are named by their path below this folder.
    root = str(shipped) if ours else os.path.commonpath([Path.cwd(), *selection.files])
    options = ["--disable-plugin-autoload", "-p", "xdist", "-p", "numaproof.pytest_plugin", "-p", "no:cacheprovider"]
    options += ["--noconftest", "-c", os.devnull, f"--rootdir={root}", f"--confcutdir={root}"]
    # We are imported already, which pytest would warn of: nothing of ours needs its rewritten assertions.
    return [*options, "--import-mode=importlib", "-W", "ignore::pytest.PytestAssertRewriteWarning"]


class _RunPlugin:
    """What the pytest of a run knows beforehand: the instances of its files, and how workers share them."""

    def __init__(self, selection: Selection, share_of: Mapping[str, str]) -> None:
        self._selection = selection
        self._share_of = share_of
        self._workers: list[Any] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """A hook of xdist: a worker will be started, with a gateway to it."""
        self._workers.append(node.gateway)

    def pytest_keyboard_interrupt(self) -> None:
        """Workers clean at once; xdist lets them go on for 5 seconds, and kills them after 10."""
        for gateway in self._workers:
            # The process is not of execnet's public interface; without it a worker has less time, and that is all.
            if process := getattr(getattr(gateway, "_io", None), "popen", None):
                process.terminate()

    def pytest_configure(self, config: pytest.Config) -> None:
        """Where there are no workers, files are not parsed again."""
        config.stash[LISTED] = dict(self._selection.files)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> LoadScopeScheduling:
        """A hook of xdist. Its own `loadgroup` does not group with pytest 9.2 (pytest-dev/pytest-xdist#1386)."""
        return _Shares(config, log, self._share_of)


class _Shares(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """xdist's scheduler by scope, where a scope is a share."""

    def __init__(self, config: pytest.Config, log: Any, share_of: Mapping[str, str]) -> None:
        super().__init__(config, log)
        self._share_of = share_of

    def _split_scope(self, nodeid: str) -> str:
        instance = nodeid.partition("::")[2]
        return self._share_of.get(instance, instance)  # a file may have changed since it was listed
