"""The pytest plugin: scenario files become tests, one id for each instance; and fixtures for tests of one's own."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fake_sysfs import Machine, MachineError
from harness.errors import UserError
from harness.report.matrix import OUTCOMES, Result, matrix_lines, summary
from harness.runtimes import CannotStartError
from harness.runtimes.places import run_directory
from harness.scenario.bench import RUNTIMES, Bench, chosen_runtime
from harness.scenario.instances import Instance, instances
from harness.scenario.model import Needs, PluginWords, Scenario
from harness.scenario.parse import parse_scenario
from harness.scenario.rig import RigFailedError
from harness.scenario.served import ServedRig
from harness.scenario.sizes import sizes_of
from harness.scenario.trees import machine_of
from harness.waiting import WaitTimeoutError

_BENCH = pytest.StashKey[Bench]()
_ENDING = pytest.StashKey[ExitStack]()
_PLACE = pytest.StashKey[str]()
_PROPERTY = "numaproof"
SUFFIXES = (".yaml", ".yml")
# What is wrong with a scenario, with where it runs, or with what it runs: told in words, not with a traceback of ours.
_TOLD = (UserError, MachineError, RigFailedError, CannotStartError, WaitTimeoutError)


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
    """The run's directory, shared by all workers; marks; the place for results."""
    config.addinivalue_line("markers", "machine(argument): the machine of the fixtures `machine` and `node`")
    ending = config.stash[_ENDING] = ExitStack()
    given = getattr(config, "workerinput", {}).get("numaproof_place")
    if given is not None:
        config.stash[_PLACE] = given
    elif not config.option.help and not config.option.collectonly:
        config.stash[_PLACE] = str(ending.enter_context(run_directory("run")))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """A hook of xdist: tell a worker the run's directory."""
    node.workerinput["numaproof_place"] = node.config.stash[_PLACE]


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the hosts, then remove the run's directory."""
    if ending := config.stash.get(_ENDING, None):
        ending.close()


def bench_of(config: pytest.Config) -> Bench:
    """The bench of this process, made when the first scenario needs it."""
    if _BENCH not in config.stash:
        worker = getattr(config, "workerinput", {}).get("workerid", "main")
        bench = Bench(chosen_runtime(config.option.numaproof_runtime), Path(config.stash[_PLACE]), worker)
        config.stash[_BENCH] = config.stash[_ENDING].enter_context(bench)
    return config.stash[_BENCH]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "ScenarioFile | None":
    """A YAML file that was given by its path, or that lies in a folder of the setting, is a scenario; no other is."""
    if file_path.suffix not in SUFFIXES:
        return None
    folders = [parent.config.rootpath / folder for folder in parent.config.getini("numaproof_scenarios")]
    if parent.session.isinitpath(file_path) or any(file_path.is_relative_to(folder) for folder in folders):
        return ScenarioFile.from_parent(parent, path=file_path)
    return None


class ScenarioFile(pytest.File):
    """A scenario file: an item for each instance."""

    def collect(self) -> Iterable["ScenarioItem"]:
        """Parse it and expand its matrix."""
        try:
            scenario = parse_scenario(self.path)
            for instance in instances(scenario, tuple(self.config.option.numaproof_machine)):
                yield ScenarioItem.from_parent(self, name=instance.id, instance=instance)
        except UserError as error:
            raise self.CollectError(str(error)) from error


class ScenarioItem(pytest.Item):
    """One instance of a scenario."""

    def __init__(self, *, instance: Instance, **others: Any) -> None:
        super().__init__(**others)
        self.instance = instance
        words = {"id": instance.id, "machine": instance.machine, "theme": instance.scenario.theme, **instance.values}
        self.user_properties.append((_PROPERTY, json.dumps(words)))
        # A machine's warm host is started once if one worker gets all instances of the machine.
        self.add_marker(pytest.mark.xdist_group(instance.machine))

    def runtest(self) -> None:
        """Drive it; every difference is told."""
        try:
            bench = bench_of(self.config)
            if reason := bench.skip_reason(self.instance):
                if self.config.option.numaproof_require == "all":
                    raise ScenarioFailedError(f"does not apply, and all are required: {reason}")
                pytest.skip(reason)
            if found := bench.run(self.instance):
                raise ScenarioFailedError(*found)
        except _TOLD as error:
            raise ScenarioFailedError(str(error)) from error

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


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The matrix policy x scope x machine, and the summary file."""
    results = list(_results(terminalreporter))
    if not results:
        return
    terminalreporter.section("numaproof")
    for line in matrix_lines(results):
        terminalreporter.write_line(line)
    if file := config.option.numaproof_summary:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(json.dumps(summary(results, config.option.numaproof_runtime), indent=1) + "\n")


def _results(terminalreporter: Any) -> Iterator[Result]:
    for outcome in OUTCOMES:
        for report in terminalreporter.stats.get(outcome, []):
            for name, value in getattr(report, "user_properties", ()):
                if name == _PROPERTY and (report.when == "call" or outcome != "passed"):
                    reason = report.longrepr[2] if outcome == "skipped" else ""
                    yield Result(json.loads(value), outcome, report.duration, reason)


@pytest.fixture
def machine(request: pytest.FixtureRequest) -> Machine:
    """The machine of the mark `machine`, else of --numaproof-machine, else a machine of two sockets."""
    return machine_of(_machine_argument(request))


def _machine_argument(request: pytest.FixtureRequest) -> str:
    mark = request.node.get_closest_marker("machine")
    given = request.config.option.numaproof_machine
    return str(mark.args[0]) if mark else str(given[0]) if given else "xeon-2s"


@pytest.fixture
def runtime(request: pytest.FixtureRequest) -> str:
    """Where nodes and plugins run: docker, namespace or process."""
    return bench_of(request.config).runtime


@pytest.fixture
def plugin() -> Callable[..., PluginWords]:
    """Declares a fake plugin for `node`: plugin("example.com/gpu", per_numa="2")."""
    return PluginWords


@pytest.fixture
def node(request: pytest.FixtureRequest) -> Iterator[Callable[..., ServedRig]]:
    """Starts a node: node(plugin(...), topologyManagerPolicy="restricted"); the machine is that of `machine`."""
    with ExitStack() as ending:

        def start(*plugins: PluginWords, **kubelet: Any) -> ServedRig:
            argument = _machine_argument(request)
            words = Scenario(request.path, "", "", "", "", Needs(), {}, kubelet, plugins, ())
            found = machine_of(argument)
            sizes = sizes_of(found, kubelet.get("memoryManagerPolicy") == "Static")
            return ending.enter_context(bench_of(request.config).rig(Instance(words, argument, {}), found, sizes))

        yield start


@pytest.fixture
def scenario(request: pytest.FixtureRequest) -> Callable[[Path | str], None]:
    """Runs every instance of a scenario file, and fails with what differs; if none applies, the test is skipped."""

    def run(path: Path | str) -> None:
        reasons: list[str] = []
        try:
            bench = bench_of(request.config)
            listed = list(instances(parse_scenario(Path(path)), tuple(request.config.option.numaproof_machine)))
            for instance in listed:
                if reason := bench.skip_reason(instance):
                    reasons.append(reason)
                elif found := bench.run(instance):
                    pytest.fail("\n- ".join([instance.id, *found]), pytrace=False)
        except _TOLD as error:
            pytest.fail(str(error), pytrace=False)
        if reasons and request.config.option.numaproof_require == "all":
            pytest.fail(f"does not apply, and all are required: {reasons[0]}", pytrace=False)
        if len(reasons) == len(listed):
            pytest.skip(reasons[0])

    return run
