"""The pytest plugin: scenario files become tests, one id for each instance; and fixtures for tests of one's own.

pytest loads it wherever numaproof is installed: it imports and makes nothing until something of ours is used.
"""

import json
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from numaproof.fake_sysfs import Machine
    from numaproof.harness.report.matrix import InstanceResult
    from numaproof.harness.rig.rig import LiveRig
    from numaproof.harness.scenario.instances import Instance
    from numaproof.harness.scenario.model import PluginSpec

RUNTIMES = ("auto", "docker", "namespace", "process")
SUFFIXES = (".yaml", ".yml")
RUN = pytest.StashKey[str]()  # the name of the run's directory, which all workers share
ENDING = pytest.StashKey[ExitStack]()
LISTED = pytest.StashKey["dict[Path, tuple[Instance, ...]]"]()  # the instances of files that were parsed before
# Whether what happens in an instance is kept for a report: `numaproof run` wants that.
KEEPS_RECORDS = pytest.StashKey[bool]()
_PROPERTY = "numaproof"
_ATTRIBUTE = "numaproof"  # of a test's report, which a worker sends as it is: plain values of JSON
_OUTCOMES = ("passed", "failed", "skipped")


class ScenarioFailedError(Exception):
    """What was seen differs from what a scenario expects; the arguments are the differences."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of `numaproof run`, for whoever calls pytest directly."""
    group = parser.getgroup("numaproof")
    group.addoption("--numaproof-runtime", choices=RUNTIMES, default="auto", help="where nodes and plugins run")
    group.addoption(
        "--numaproof-machine", action="append", default=[], metavar="MACHINE", help="instead of the scenarios' machines"
    )
    group.addoption("--numaproof-require", choices=("all",), help="all: a scenario that does not apply is a failure")
    group.addoption("--numaproof-summary", metavar="FILE", help="write every result as JSON")
    parser.addini("numaproof_scenarios", "folders whose YAML files are scenarios", type="linelist", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """The mark, and the name of a directory for the run, which is made when it is needed first."""
    config.addinivalue_line("markers", "machine(argument): the machine of the fixtures `machine` and `node`")
    config.stash[ENDING] = ExitStack()
    config.stash[RUN] = getattr(config, "workerinput", {}).get("numaproof_run") or f"run-{uuid.uuid4().hex[:8]}"
    config.stash.setdefault(KEEPS_RECORDS, getattr(config, "workerinput", {}).get("numaproof_records", False))
    for folder in _folders(config):
        if not folder.is_dir():
            raise pytest.UsageError(
                f"{config.inipath}: numaproof_scenarios: {folder} is not a folder; no test would run"
            )


def _folders(config: pytest.Config) -> list[Path]:
    return [config.rootpath / folder for folder in config.getini("numaproof_scenarios")]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """A hook of xdist: tell a worker the run's directory, which goes when all workers have ended."""
    node.workerinput["numaproof_run"] = node.config.stash[RUN]
    node.workerinput["numaproof_records"] = node.config.stash[KEEPS_RECORDS]
    node.config.stash[ENDING].callback(_remove_run, node.config.stash[RUN])


def _remove_run(run: str) -> None:
    from numaproof.harness.runtimes.scratch import remove_shared  # noqa: PLC0415 (as all below: only where it is used)

    remove_shared(run)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the warm processes, then remove the run's directory."""
    if ending := config.stash.get(ENDING, None):
        ending.close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "ScenarioFile | None":
    """A YAML file that was given by its path, or that lies in a folder of the setting, is a scenario; no other is."""
    if file_path.suffix not in SUFFIXES:
        return None
    if parent.session.isinitpath(file_path) or any(map(file_path.is_relative_to, _folders(parent.config))):
        return ScenarioFile.from_parent(parent, path=file_path)
    return None


class ScenarioFile(pytest.File):
    """A scenario file: an item for each instance."""

    def collect(self) -> Iterable["ScenarioItem"]:
        """Parse it and expand its matrix."""
        from numaproof.errors import UserError  # noqa: PLC0415
        from numaproof.harness.pytest_session import instances_of  # noqa: PLC0415

        try:
            for instance in instances_of(self.config, self.path):
                yield ScenarioItem.from_parent(self, name=instance.id, instance=instance)
        except UserError as error:
            raise self.CollectError(str(error)) from error


class ScenarioItem(pytest.Item):
    """One instance of a scenario."""

    def __init__(self, *, instance: "Instance", **others: Any) -> None:
        super().__init__(**others)
        self.instance = instance
        self.differences: list[str] = []
        self.record = ""  # as a text; empty: nothing is kept
        self.user_properties.append((_PROPERTY, json.dumps(instance.words)))
        # With --dist=loadgroup a machine's warm process is started once: one worker gets all instances of the machine.
        self.add_marker(pytest.mark.xdist_group(instance.machine))

    def runtest(self) -> None:
        """Drive it; every difference is told."""
        from numaproof.harness.pytest_session import driven  # noqa: PLC0415

        self.differences, self.record = driven(self.config, self.instance)
        if self.differences:
            raise ScenarioFailedError(*self.differences)

    def told(self) -> dict[str, Any]:
        """What is known of it by now, as plain values."""
        scenario = self.instance.scenario
        return {
            "name": scenario.name,
            "why": " ".join(scenario.why.split()),
            "source": scenario.source,
            "path": str(scenario.path),
            "differences": self.differences,
            "record": self.record,
        }

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The scenario's reason and every difference; a fault of ours with its traceback."""
        if not isinstance(excinfo.value, ScenarioFailedError):
            excinfo.traceback = excinfo.traceback.cut(path=__file__)
            return super().repr_failure(excinfo, style)
        scenario = self.instance.scenario
        lines = [
            f"{scenario.path}: {scenario.name}",
            f"why: {' '.join(scenario.why.split())}",
            f"source: {scenario.source}",
        ]
        return "\n".join([*lines, *(f"- {text}" for text in excinfo.value.args)])

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where it stands."""
        return self.path, 0, self.instance.id


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell with a scenario's report what came of it, also to the process that writes what is kept."""
    report = yield
    if isinstance(item, ScenarioItem):
        setattr(report, _ATTRIBUTE, item.told())
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The matrix policy x scope x machine, and the summary file."""
    results = list(_results(terminalreporter))
    if not results:
        return
    from numaproof.harness.report.matrix import matrix_lines, summary  # noqa: PLC0415

    terminalreporter.section("numaproof")
    for line in matrix_lines(results):
        terminalreporter.write_line(line)
    if file := config.option.numaproof_summary:
        text = json.dumps(summary(results, config.option.numaproof_runtime, {}), indent=1) + "\n"
        try:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text(text)
        except OSError as error:
            raise pytest.UsageError(f"--numaproof-summary {file}: {error.strerror}; give another file") from error


def _results(terminalreporter: Any) -> "Iterator[InstanceResult]":
    for outcome in _OUTCOMES:
        for report in terminalreporter.stats.get(outcome, []):
            if (result := result_of(report)) is not None:
                yield result


def result_of(report: Any) -> "InstanceResult | None":
    """How an instance ended, by a report of its test; None: the report is not the one that says so."""
    told = getattr(report, _ATTRIBUTE, None)
    if told is None or (report.when != "call" and report.outcome == "passed"):
        return None
    from numaproof.harness.report.matrix import InstanceResult  # noqa: PLC0415
    from numaproof.harness.scenario.record_json import record_from  # noqa: PLC0415

    failed = report.outcome == "failed"
    return InstanceResult(
        words=json.loads(dict(report.user_properties)[_PROPERTY]),
        outcome=report.outcome,
        seconds=report.duration,
        reason=report.longrepr[2].removeprefix("Skipped: ") if report.outcome == "skipped" else "",
        name=told["name"],
        why=told["why"],
        source=told["source"],
        path=told["path"],
        # A fault of ours has a traceback instead.
        differences=tuple(told["differences"]) or ((report.longreprtext,) if failed else ()),
        record=record_from(told["record"]) if told["record"] else None,
    )


@pytest.fixture
def machine(request: pytest.FixtureRequest) -> "Machine":
    """The machine of the mark `machine`, else of --numaproof-machine, else a machine of two sockets."""
    from numaproof.harness.pytest_session import machine_of_test  # noqa: PLC0415

    return machine_of_test(request)


@pytest.fixture
def runtime(request: pytest.FixtureRequest) -> str:
    """Where nodes and plugins run: docker, namespace or process."""
    from numaproof.harness.pytest_session import fail_in_words, session_of  # noqa: PLC0415

    with fail_in_words():
        return session_of(request.config).runtime_name


@pytest.fixture
def plugin() -> "Callable[..., PluginSpec]":
    """Declares a fake plugin for `node`: plugin("example.com/gpu", per_numa="2")."""
    from numaproof.harness.scenario.model import PluginSpec  # noqa: PLC0415

    return PluginSpec


@pytest.fixture
def node(request: pytest.FixtureRequest) -> "Iterator[Callable[..., LiveRig]]":
    """Starts a node: node(plugin(...), topologyManagerPolicy="restricted"); the machine is that of `machine`."""
    from numaproof.harness.pytest_session import start_node  # noqa: PLC0415

    with ExitStack() as ending:

        def start(*plugins: "PluginSpec", **kubelet: Any) -> "LiveRig":
            return ending.enter_context(start_node(request, plugins, kubelet))

        yield start


@pytest.fixture
def scenario(request: pytest.FixtureRequest) -> Callable[[Path | str], None]:
    """Runs every instance of a scenario file, and fails with what differs; if none applies, the test is skipped."""
    from numaproof.harness.pytest_session import run_file  # noqa: PLC0415

    return lambda path: run_file(request.config, Path(path))
