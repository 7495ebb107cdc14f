"""For every check a plugin with exactly that defect: the suite reports its id, and only ids that follow from it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from numaproof.harness.conformance.catalogue import CATALOGUE
from numaproof.harness.conformance.finding import Facts
from numaproof.harness.conformance.result import Report
from numaproof.harness.conformance.run import Settings, check_command
from numaproof.harness.conformance.stage import Flips, Pace
from numaproof.harness.conformance.subject import SessionDirectories
from numaproof.harness.runtimes import Running
from tests.harness.conformance.mocks import MockSubject
from tests.places import short_directory

# A start may take long on a busy machine; what a running plugin does takes milliseconds, so ten seconds are plenty.
PACE = Pace(start=60, timeout=10, watch=0.5, early=0.5, death=0.2)
# The machine of the subjects: two NUMA nodes and two PCI functions on the second one.
FACTS = Facts(frozenset({0, 1}), {"0000:3b:00.0": 1, "0000:3b:00.1": 1})

# Check -> plugins with that defect alone, each with the other checks whose requirement it breaks by that.
DEFECTS: dict[str, list[tuple[list[str], set[str]]]] = {
    "dp/register/1": [(["Register=version:v1alpha"], set())],
    "dp/register/2": [
        (["Register=resource:gpu"], set()),
        (["Register=resource:example.com/a/b"], set()),
        (["Register=resource:Example.com/gpu"], set()),
    ],
    "dp/register/3": [(["Register=early"], set())],
    "dp/register/4": [(["Register=endpoint"], set())],
    "dp/register/5": [(["Register=options"], set())],
    "dp/register/6": [(["Register=once"], set())],
    "dp/register/7": [(["Register=overlap"], set())],
    "dp/register/8": [(["Start=exit:0"], set())],
    "dp/register/9": [(["Register=give-up"], set())],
    "dp/register/10": [(["Start=stale"], set())],
    "dp/register/11": [(["Stop=leave-socket"], set()), (["Stop=exit:3"], set()), (["Stop=ignore"], set())],
    # The kubelet asks for the options inside Register: who hangs there does not get registered in time.
    "dp/options/1": [
        (["GetDevicePluginOptions=error:INTERNAL"], set()),
        (["GetDevicePluginOptions=hang"], {"dp/register/6", "dp/register/9"}),
    ],
    "dp/list/1": [(["ListAndWatch=partial"], set()), (["ListAndWatch=silent"], set())],
    "dp/list/2": [(["ListAndWatch=duplicate-ids"], set())],
    "dp/list/3": [(["ListAndWatch=bad-health:OK"], set())],
    "dp/list/4": [(["--device", "x" * 64], set()), (["--device", "=0"], set())],
    # A list as long as this may come late where the machine is busy.
    "dp/list/5": [(["ListAndWatch=oversized"], {"dp/list/1", "dp/list/9", "dp/list/10", "dp/list/11"})],
    "dp/list/6": [(["ListAndWatch=bad-numa:-1"], set()), (["ListAndWatch=bad-numa:7"], set())],
    "dp/list/7": [(["--device", "0000:3b:00.1=0"], set())],
    # A stream that has ended tells of no change.
    "dp/list/8": [(["ListAndWatch=drop"], {"dp/list/10"})],
    "dp/list/9": [(["ListAndWatch=single"], set())],
    "dp/list/10": [(["ListAndWatch=stale"], set())],
    "dp/list/11": [(["ListAndWatch=no-recovery"], set())],
    "dp/allocate/1": [
        (["Allocate=no-responses"], set()),
        (["Allocate=error:INTERNAL"], set()),
        (["Allocate=hang"], {"dp/allocate/3", "dp/allocate/8"}),
    ],
    "dp/allocate/2": [(["Allocate=wrong-count"], set()), (["Allocate=leak"], set())],
    # The end of the process is the end of its stream too.
    "dp/allocate/3": [
        (["Allocate=accept-unknown"], set()),
        (["Allocate=accept-empty"], set()),
        (["Allocate=die-unknown"], {"dp/list/8"}),
    ],
    "dp/allocate/4": [(["Allocate=unsteady"], set()), (["Allocate=ordered"], set())],
    "dp/allocate/5": [(["Allocate=duplicate-path"], set())],
    "dp/allocate/6": [
        (["Allocate=relative-path"], set()),
        (["Allocate=bad-permissions"], set()),
        (["Allocate=bad-cdi"], set()),
    ],
    "dp/allocate/7": [(["Allocate=common-env:LD_LIBRARY_PATH"], set())],
    "dp/allocate/8": [(["GetPreferredAllocation=delay:1.5"], set())],
    "dp/preferred/1": [
        (["GetPreferredAllocation=wrong-size"], set()),
        (["GetPreferredAllocation=outside"], set()),
        (["GetPreferredAllocation=ignore-must"], set()),
        (["GetPreferredAllocation=repeat"], set()),
        (["GetPreferredAllocation=error:INTERNAL"], set()),
    ],
    "dp/preferred/2": [(["GetPreferredAllocation=unsteady"], set()), (["GetPreferredAllocation=edge-empty"], set())],
    "dp/prestart/1": [(["PreStartContainer=error:INTERNAL"], set())],
    "dp/watcher/1": [
        (["GetInfo=delay:1.5"], set()),
        (["GetInfo=bad-type"], set()),
        (["Register=dot"], set()),
    ],
    "dp/watcher/2": [(["NotifyRegistrationStatus=give-up"], set())],
    # Sets and costs are asked for by one call: who fails it fails both.
    "dp/draft/1": [
        (["GetPreferredAllocations=wrong-size"], set()),
        (["GetPreferredAllocations=outside"], set()),
        (["GetPreferredAllocations=ignore-must"], set()),
        (["GetPreferredAllocations=error:INTERNAL"], {"dp/draft/2"}),
    ],
    "dp/draft/2": [(["GetPreferredAllocations=sized"], set())],
    "dp/draft/3": [
        (["GetPreferredAllocations=negative-cost"], set()),
        (["GetPreferredAllocations=unknown-id"], set()),
        (["GetPreferredAllocations=bad-domain"], set()),
        (["GetPreferredAllocations=bad-instance"], set()),
        (["GetPreferredAllocations=twice"], set()),
    ],
    "dp/draft/4": [(["GetPreferredAllocations=unsteady"], set())],
}
# The devices' costs: to system devices, to another plugin's, to one another.
COSTS = """
example.com/device/a:
  - 1: [cpu/cpu0-3, memory/node0, example.com/nic/n0]
  - 5: [example.com/device/b]
example.com/device/b:
  - 2.5: [cpu/cpu0-3]
"""
# Defects that show after a time in which nothing happens: these runs take place side by side.
WAITED_FOR = {
    "GetDevicePluginOptions=hang", "Register=early", "Register=once", "Register=give-up", "Stop=ignore",
    "ListAndWatch=silent", "ListAndWatch=single", "ListAndWatch=stale", "ListAndWatch=no-recovery", "Allocate=hang",
    "GetPreferredAllocation=delay:1.5", "GetInfo=delay:1.5", "NotifyRegistrationStatus=give-up",
}  # fmt: skip
ROWS = [(check, defect, follow) for check, plugins in DEFECTS.items() for defect, follow in plugins]
QUICK = [row for row in ROWS if row[1][0] not in WAITED_FOR]
SLOW = [row for row in ROWS if row[1][0] in WAITED_FOR]


def run(check: str, defect: list[str], *, supervise: bool = False) -> Report:
    """A full run against a plugin of five devices that offers everything, with a defect."""
    devices = [word for device in ("a=0", "b=1", "c", "d=0,1", "0000:3b:00.0=1") for word in ("--device", device)]
    way = ["--registry", "{registry}"] if check.startswith("dp/watcher") else []
    with short_directory() as directory:
        sick = directory / "sick"
        costs = directory / "costs.yaml"
        costs.write_text(COSTS)
        arguments = ["generic", "--dir", "{dir}", *devices, *way]
        arguments += [
            "--preferred",
            "lowest",
            "--plural",
            "--costs",
            str(costs),
            "--pre-start",
            "--health-file",
            str(sick),
        ]
        arguments += defect if "--device" in defect else [word for fault in defect for word in ("--fault", fault)]
        flips = Flips(f"echo b > {sick}", f"rm {sick}")
        # Who gives up without a kubelet must have come so far, however slowly: its end is awaited.
        pace = replace(PACE, early=60) if check == "dp/register/8" else PACE
        pace = replace(PACE, timeout=Pace().timeout) if "Register=slow:10" in defect else pace
        # Who dies of a cancelled stream does so in the end, however slowly: that is awaited too.
        pace = replace(pace, death=60) if "ListAndWatch=fragile" in defect else pace
        settings = Settings(pace=pace, flips=flips, facts=FACTS, supervise=supervise)
        return check_command(MockSubject(tuple(arguments)), settings)


def wrong(check: str, defect: list[str], follow: set[str]) -> str:
    """How a report on a plugin with a defect differs from what it must be; empty: not at all."""
    report = run(check, defect)
    errors = {result.check.id: result.seen for result in report.results if result.verdict == "error"}
    seen = {result.check.id: result.seen for result in report.results if result.violated}
    return "" if not errors and set(seen) - follow == {check} else f"{check} {defect}: {seen} {errors}"


@pytest.mark.parametrize(("check", "defect", "follow"), QUICK, ids=[f"{row[0]} {' '.join(row[1])}" for row in QUICK])
def test_a_defect_is_reported_and_nothing_else(check: str, defect: list[str], follow: set[str]) -> None:
    assert wrong(check, defect, follow) == ""


def test_a_defect_that_is_waited_for_is_reported_and_nothing_else() -> None:
    with ThreadPoolExecutor(7) as side_by_side:
        patient = side_by_side.submit(run, "", ["Register=slow:10"])
        differences = list(side_by_side.map(lambda row: wrong(*row), SLOW))
    assert [difference for difference in differences if difference] == []
    # Ten seconds until it registers again are not a defect.
    assert patient.result().violated() == ()


def test_there_is_a_defect_for_every_check() -> None:
    assert list(DEFECTS) == [check.id for check in CATALOGUE]
    assert all(plugins for plugins in DEFECTS.values())


@pytest.mark.parametrize("way", ["by itself", "by plugins_registry"])
def test_a_correct_plugin_passes_everything(way: str) -> None:
    report = run("dp/watcher/0" if way == "by plugins_registry" else "", [])
    skipped = {result.check.id for result in report.results if result.verdict == "skip"}
    others = {result.check.id: (result.verdict, result.seen) for result in report.results if result.verdict != "pass"}
    watcher = {"dp/watcher/1", "dp/watcher/2"}
    assert skipped == ({"dp/register/5", "dp/register/9"} if way == "by plugins_registry" else watcher)
    assert set(others) == skipped, others


def test_a_plugin_that_exits_whenever_the_kubelet_is_gone_needs_a_supervisor() -> None:
    exits = ["ListAndWatch=fragile", "Start=exit:1"]
    # Restarted at once it finds no kubelet, and exits again; it is restarted until there is one.
    assert set(run("dp/register/8", exits, supervise=True).violated()) == {"dp/list/9"}
    assert set(run("dp/register/8", exits).violated()) == {"dp/list/9", "dp/register/6"}


def test_a_supervised_plugin_that_dies_of_a_call_is_judged_by_its_successor_in_the_rest() -> None:
    seen = set(run("", ["Allocate=die-unknown"], supervise=True).violated())
    assert seen == {"dp/allocate/3", "dp/list/8"}


class Remembering:
    """A subject that remembers where it was started, and what became of it."""

    def __init__(self, *arguments: str) -> None:
        self._mock = MockSubject(arguments)
        self.directories: list[SessionDirectories] = []
        self.started: list[Running] = []

    def start(self, directories: SessionDirectories) -> Running:
        self.directories.append(directories)
        self.started.append(self._mock.start(directories))
        return self.started[-1]

    def shell(self, command: str) -> list[str]:
        return self._mock.shell(command)

    @property
    def meeting_place(self) -> str:
        return self._mock.meeting_place


def test_nothing_is_left_behind() -> None:
    subject = Remembering("generic", "--dir", "{dir}", "--fault", "Stop=ignore", "--fault", "Stop=leave-socket")
    assert check_command(subject, Settings(pace=PACE)).violated() == ("dp/register/11",)
    assert len(subject.started) == 5  # one in each session, and another over the stale socket
    assert [mock.poll() is None for mock in subject.started] == [False] * 5
    assert not any(path.exists() for used in subject.directories for path in (used.plugins, used.registry))
