"""What the pytest plugin does once a scenario or a fixture of ours is used; all that takes long to import is here."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.fake_sysfs import Machine
from numaproof.harness.ending import end_as_told
from numaproof.harness.rig.rig import LiveRig
from numaproof.harness.rig.session import Session
from numaproof.harness.runtimes import CannotStartError
from numaproof.harness.runtimes.scratch import remove_shared, shared_directory
from numaproof.harness.runtimes.select import select_runtime
from numaproof.harness.runtimes.trees import machine_of
from numaproof.harness.scenario.instances import Instance, instances
from numaproof.harness.scenario.model import Needs, PluginSpec, Scenario
from numaproof.harness.scenario.parse import parse_scenario
from numaproof.harness.scenario.record_json import record_text
from numaproof.harness.scenario.recording import Recording
from numaproof.harness.scenario.rig import RigFailedError
from numaproof.harness.scenario.sizes import sizes_of
from numaproof.harness.waiting import WaitTimeoutError
from numaproof.pytest_plugin import ENDING, KEEPS_RECORDS, LISTED, RUN

_SESSION = pytest.StashKey[Session]()
# What is wrong with a scenario, with where it runs, or with what it runs: told in words, not with a traceback of ours.
_USERS_FAULTS = (UserError, RigFailedError, CannotStartError, WaitTimeoutError)


def instances_of(config: pytest.Config, path: Path) -> Sequence[Instance]:
    """Every instance of a scenario file, on the machines of the options if there are some."""
    if LISTED in config.stash and path in config.stash[LISTED]:
        return config.stash[LISTED][path]
    return tuple(instances(parse_scenario(path), tuple(config.option.numaproof_machine)))


def session_of(config: pytest.Config) -> Session:
    """The session of this process, made when it is needed first."""
    if _SESSION not in config.stash:
        ending, name = config.stash[ENDING], config.stash[RUN]
        runtime = select_runtime(config.option.numaproof_runtime)
        worker = getattr(config, "workerinput", {}).get("workerid")
        if worker is None:
            ending.callback(remove_shared, name)
        else:
            end_as_told()
        directory = ending.enter_context(shared_directory(name))
        config.stash[_SESSION] = ending.enter_context(Session(runtime, directory, worker or "main"))
    return config.stash[_SESSION]


def driven(config: pytest.Config, instance: Instance) -> tuple[list[str], str]:
    """How an instance differs from what it expects, or why it could not run; skipped where it does not apply.

    And its record as a text; empty where nobody wants one, or nothing happened.
    """
    recording = Recording()
    try:
        session = session_of(config)
        if reason := session.skip_reason(instance):
            if config.option.numaproof_require == "all":
                return [f"does not apply, and all are required: {reason}"], ""
            pytest.skip(reason)
        found = session.run(instance, recording)
    except _USERS_FAULTS as error:
        found = [str(error)]
    is_kept = config.stash[KEEPS_RECORDS] and recording.configuration
    return found, record_text(recording.record()) if is_kept else ""


@contextmanager
def fail_in_words() -> Iterator[None]:
    """What the user can mend fails the test in words."""
    try:
        yield
    except _USERS_FAULTS as error:
        pytest.fail(str(error), pytrace=False)


def run_file(config: pytest.Config, path: Path) -> None:
    """Run every instance of a scenario file, and fail with what differs; if none applies, the test is skipped."""
    reasons: list[str] = []
    with fail_in_words():
        session = session_of(config)
        listed = instances_of(config, path)
        for instance in listed:
            if reason := session.skip_reason(instance):
                reasons.append(reason)
            elif found := session.run(instance):
                pytest.fail("\n- ".join([instance.id, *found]), pytrace=False)
    if reasons and config.option.numaproof_require == "all":
        pytest.fail(f"does not apply, and all are required: {reasons[0]}", pytrace=False)
    if len(reasons) == len(listed):
        pytest.skip(reasons[0])


def machine_argument(request: pytest.FixtureRequest) -> str:
    """What the mark `machine` says, else --numaproof-machine, else a machine of two sockets."""
    mark = request.node.get_closest_marker("machine")
    if mark and len(mark.args) != 1:
        raise UserError(
            f"{request.node.nodeid}: the mark `machine` names one machine: @pytest.mark.machine('dgx-a100')"
        )
    given = request.config.option.numaproof_machine
    return str(mark.args[0]) if mark else str(given[0]) if given else "xeon-2s"


def machine_of_test(request: pytest.FixtureRequest) -> Machine:
    """The machine of a test."""
    with fail_in_words():
        return machine_of(machine_argument(request))


@contextmanager
def start_node(
    request: pytest.FixtureRequest, plugins: tuple[PluginSpec, ...], kubelet: dict[str, Any]
) -> Iterator[LiveRig]:
    """A node on the machine of a test; RigFailedError when it does not come up."""
    words = Scenario(request.path, "", "", "", "", Needs(), {}, kubelet, plugins, ())
    machine = machine_of_test(request)
    sizes = sizes_of(machine, kubelet.get("memoryManagerPolicy") == "Static")
    with fail_in_words():
        session = session_of(request.config)
    with session.rig(Instance(words, machine_argument(request), {}), machine, sizes) as rig:
        yield rig
