"""A scenario file as a function: run, and told what came of it."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from numaproof.harness.rig.session import Session
from numaproof.harness.runtimes.scratch import run_directory
from numaproof.harness.runtimes.select import select_runtime
from numaproof.harness.scenario.instances import instances
from numaproof.harness.scenario.parse import parse_scenario
from numaproof.harness.scenario.record import InstanceRecord
from numaproof.harness.scenario.recording import Recording


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """What came of one instance of a scenario."""

    id: str
    skipped: str | None  # why it means nothing on its machine; None: it ran
    differences: tuple[str, ...]  # from what it expects; empty: it passed, or was skipped
    record: InstanceRecord | None  # what happened, step by step; None: it was skipped


def run_scenario(path: Path | str, machines: Collection[str] = (), runtime: str = "auto") -> tuple[ScenarioResult, ...]:
    """Run every instance of a scenario file, on these machines instead of its own if there are some.

    A UserError says what is wrong with the file, a machine or the runtime; RigFailedError what did not come up.
    """
    listed = instances(parse_scenario(Path(path)), tuple(machines))
    results = []
    with run_directory("run") as directory, Session(select_runtime(runtime), directory, "main") as session:
        for instance in listed:
            reason = session.skip_reason(instance)
            recording = Recording()
            found = () if reason else tuple(session.run(instance, recording))
            results.append(ScenarioResult(instance.id, reason, found, None if reason else recording.record()))
    return tuple(results)
