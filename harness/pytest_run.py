"""Runs a selection of scenarios with pytest: sealed from where it runs, a machine's instances in one worker's hands."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from numaproof.harness.report.matrix import InstanceResult
from numaproof.harness.scenario.selection import Selection, shipped_scenarios
from numaproof.harness.scenario.sharing import share_out
from numaproof.pytest_plugin import LISTED, results_of

# What people tell the pytest of their own tests: no business of ours, and able to break a run.
_FOR_OTHERS = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended."""

    code: int  # 0: all passed, 1: some failed, 2: bad input, 130: a Ctrl-C ended it
    results: tuple[InstanceResult, ...]
    seconds: float


def run_selection(selection: Selection, options: Sequence[str], workers: int) -> Ended:
    """Run what was selected, side by side."""
    workers = min(workers, len(selection.instances))
    plugin = _RunPlugin(selection, share_out(selection.instances, workers))
    arguments = [*_sealed(selection), "-q", "--tb=short", *options]
    arguments += ["-n", str(workers)] if workers > 1 else []
    started = time.monotonic()
    code = pytest.main([*arguments, *selection.names], plugins=[plugin])
    seconds = time.monotonic() - started
    if code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return Ended(int(code), plugin.results, seconds)
    # 130: as any program that a Ctrl-C ended
    return Ended(130 if code == pytest.ExitCode.INTERRUPTED else 2, plugin.results, seconds)


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
    """What the pytest of a run knows beforehand (its instances, and how workers share them), and what came of it."""

    def __init__(self, selection: Selection, share_of: Mapping[str, str]) -> None:
        self._selection = selection
        self._share_of = share_of
        self.results: tuple[InstanceResult, ...] = ()

    def pytest_configure(self, config: pytest.Config) -> None:
        """Where there are no workers, files are not parsed again."""
        config.stash[LISTED] = dict(self._selection.files)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Keep how the instances ended, also where a Ctrl-C ended the run."""
        ended = {result.words["id"]: result for result in results_of(terminalreporter)}
        self.results = tuple({**self._crashed(terminalreporter), **ended}.values())

    def _crashed(self, terminalreporter: Any) -> dict[str, InstanceResult]:
        """The instances whose worker died, by id: of them xdist knows no more than the name, but of each try."""
        instances = {one.id: one for one in self._selection.instances}
        crashed = {}
        for report in terminalreporter.stats.get("failed", []):
            if one := instances.get(report.nodeid.partition("::")[2]):
                crashed[one.id] = InstanceResult(
                    one.words,
                    "failed",
                    report.duration,
                    reason="",
                    path=str(one.scenario.path),
                    differences=(report.longreprtext,),
                )
        return crashed

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
