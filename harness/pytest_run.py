"""Runs a selection of scenarios with pytest: sealed from where it runs, a machine's instances in one worker's hands.

pytest says nothing itself: whoever runs it is told how each instance ended.
"""

import os
import signal
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
from xdist.scheduler import LoadScopeScheduling

from numaproof.harness.report.matrix import InstanceResult
from numaproof.harness.scenario.instances import Instance
from numaproof.harness.scenario.selection import Selection, shipped_scenarios
from numaproof.harness.scenario.sharing import share_out
from numaproof.pytest_plugin import KEEPS_RECORDS, LISTED, result_of

_CRASHED = "???"  # when a test failed whose worker died, as xdist has it
_DIED = "the process that ran it died: somebody killed it, or there was no memory for it"
# What people tell the pytest of their own tests: no business of ours, and able to break a run.
_FOR_OTHERS = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")


class Watcher(Protocol):
    """Who is told of a run while it goes on."""

    def started(self, name: str) -> None:
        """The instance of an id runs."""

    def ended(self, result: InstanceResult) -> None:
        """An instance has ended."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended."""

    code: int  # 0: all passed; 1: some failed; 2: it could not be done; 130: a Ctrl-C ended it
    results: tuple[InstanceResult, ...]  # of all instances that ended, by id
    troubles: tuple[str, ...]  # what went wrong with the run itself


def run_selection(
    selection: Selection, options: Sequence[str], workers: int, watcher: Watcher, *, stop_at_failure: bool = False
) -> Ended:
    """Run what was selected, side by side."""
    workers = min(workers, len(selection.instances))
    plugin = _RunPlugin(selection, share_out(selection.instances, workers), watcher)
    arguments = [*_sealed(selection), *options]
    arguments += ["--maxfail=1"] if stop_at_failure else []
    arguments += ["-n", str(workers)] if workers > 1 else []
    code = pytest.main([*arguments, *selection.names], plugins=[plugin])
    if plugin.reader_gone is not None:
        raise plugin.reader_gone
    results = tuple(sorted(plugin.results.values(), key=lambda result: result.words["id"]))
    return Ended(_code(code, results, plugin.troubles, stop_at_failure), results, tuple(plugin.troubles))


def _code(code: int, results: Sequence[InstanceResult], troubles: Sequence[str], stop_at_failure: bool) -> int:
    if troubles or code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED):
        return 2
    failed = any(result.outcome == "failed" for result in results)
    if code == pytest.ExitCode.INTERRUPTED and not (failed and stop_at_failure):  # workers are interrupted to stop
        return 130  # as any program that a Ctrl-C ended
    return 0 if code == pytest.ExitCode.OK else 1


def _sealed(selection: Selection) -> list[str]:
    """Options of a pytest that takes nothing from where it runs: no settings, conftest.py, cache or other plugins."""
    for name in _FOR_OTHERS:
        os.environ.pop(name, None)
    shipped = shipped_scenarios()
    ours = all(file.is_relative_to(shipped) for file in selection.files)
    # Tests are named by their path below this folder.
    root = str(shipped) if ours else os.path.commonpath([Path.cwd(), *selection.files])
    options = ["--disable-plugin-autoload", "-p", "xdist", "-p", "numaproof.pytest_plugin", "-p", "no:cacheprovider"]
    options += ["-p", "no:terminal", "--noconftest", "-c", os.devnull, f"--rootdir={root}", f"--confcutdir={root}"]
    # We are imported already, which pytest would warn of: nothing of ours needs its rewritten assertions.
    return [*options, "--import-mode=importlib", "-W", "ignore::pytest.PytestAssertRewriteWarning"]


class _RunPlugin:
    """What the pytest of a run knows beforehand, the instances and how workers share them; and who watches."""

    def __init__(self, selection: Selection, share_of: Mapping[str, str], watcher: Watcher) -> None:
        self._selection = selection
        self._share_of = share_of
        self._watcher = watcher
        self.results: dict[str, InstanceResult] = {}
        self.troubles: list[str] = []
        self.reader_gone: BrokenPipeError | None = None
        self._workers: list[Any] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """A hook of xdist: a worker will be started, with a gateway to it."""
        self._workers.append(node.gateway)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self) -> Generator[None, None, None]:
        """xdist starts the workers: a Ctrl-C waits until they are there, and only we hear it.

        A terminal sends it to all of us, and a worker that still imports answers with a traceback. It ends by our word.
        """
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which workers inherit
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def pytest_keyboard_interrupt(self) -> None:
        """Workers clean at once; xdist lets them go on for 5 seconds, and kills them after 10."""
        for gateway in self._workers:
            # The process is not of execnet's public interface; without it a worker has less time, and that is all.
            if process := getattr(getattr(gateway, "_io", None), "popen", None):
                process.terminate()

    def pytest_configure(self, config: pytest.Config) -> None:
        """Where there are no workers, files are not parsed again."""
        config.stash[LISTED] = dict(self._selection.files)
        config.stash[KEEPS_RECORDS] = True
        config.option.tbstyle = "short"  # an option of pytest's own reporter

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """An instance starts."""
        self._watcher.started(_id(nodeid))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A part of an instance has ended."""
        result = result_of(report) or self._of_crash(report)
        if result is not None:
            self.results[result.words["id"]] = result
            self._watcher.ended(result)

    def _of_crash(self, report: pytest.TestReport) -> InstanceResult | None:
        """What is told of an instance whose worker died."""
        instance = next((one for one in self._selection.instances if one.id == _id(report.nodeid)), None)
        if not report.failed or instance is None:
            return None
        return _broken(instance, _DIED if report.when == _CRASHED else report.longreprtext)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file could not be read any more: it was, a moment ago."""
        if report.failed:
            self.troubles.append(report.longreprtext)

    def pytest_internalerror(self, excrepr: object, excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
        """A fault of pytest's or ours: told by whoever runs us, not by pytest. Or nobody reads what we print."""
        if isinstance(excinfo.value, BrokenPipeError):
            self.reader_gone = excinfo.value
        else:
            self.troubles.append(str(excrepr))
        return True

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> LoadScopeScheduling:
        """A hook of xdist. Its own `loadgroup` does not group with pytest 9.2 (pytest-dev/pytest-xdist#1386)."""
        return _Shares(config, log, self._share_of)


def _broken(instance: Instance, why: str) -> InstanceResult:
    scenario = instance.scenario
    return InstanceResult(
        instance.words,
        "failed",
        0,
        "",
        scenario.name,
        " ".join(scenario.why.split()),
        scenario.source,
        str(scenario.path),
        (why,),
    )


def _id(nodeid: str) -> str:
    """The instance's id: tests are named FILE::ID."""
    return nodeid.partition("::")[2]


class _Shares(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """xdist's scheduler by scope, where a scope is a share."""

    def __init__(self, config: pytest.Config, log: Any, share_of: Mapping[str, str]) -> None:
        super().__init__(config, log)
        self._share_of = share_of

    def _split_scope(self, nodeid: str) -> str:
        instance = _id(nodeid)
        return self._share_of.get(instance, instance)  # a file may have changed since it was listed
