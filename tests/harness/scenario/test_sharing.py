"""Workers get whole shares: a machine's instances stay together, and no share is too large for an even end."""

import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

from numaproof.harness.scenario.instances import Instance
from numaproof.harness.scenario.model import Needs, Scenario
from numaproof.harness.scenario.sharing import share_out


def listed(**counts: int) -> list[Instance]:
    """So many instances of each machine."""
    scenario = Scenario(Path("/x/theme/file.yaml"), "theme", "n", "w", "s", Needs(), {}, {}, (), ())
    return [
        Instance(scenario, machine, {"policy": str(number)})
        for machine, count in counts.items()
        for number in range(count)
    ]


def test_a_share_is_of_one_machine_and_about_a_quarter_of_a_worker_s_part() -> None:
    given = listed(a=46, b=13, c=14, d=7)  # 80 among 2 workers: 40 each, shares of about 10
    found = share_out(given, 2)
    assert set(found) == {one.id for one in given}
    machines = defaultdict(set)
    for one in given:
        machines[found[one.id]].add(one.machine)
    assert all(len(of) == 1 for of in machines.values())
    # a: 5 even parts; b is nearer to one share than to two; c: one as well
    assert sorted(Counter(found.values()).values()) == [6, 7, 10, 10, 10, 10, 13, 14]


def test_few_instances_make_shares_of_one() -> None:
    assert len(set(share_out(listed(a=3), 2).values())) == 3


RUN = """
import sys
import numaproof.harness.pytest_run as module
from numaproof.harness.scenario.selection import select

class Watcher:
    def started(self, name): pass
    def ended(self, result): pass

result_of = module.result_of

def shown(report):
    if report.when == "call":
        print(f"[{report.node.gateway.id}] {report.nodeid}", flush=True)
    return result_of(report)

module.result_of = shown
ended = module.run_selection(select([sys.argv[1]], ()), ["--numaproof-runtime=process"], 2, Watcher())
print(*ended.troubles)
sys.exit(ended.code)
"""
STORY = """
name: n
why: w
source: s
matrix:
  machine: [laptop, "core:2 pu:1"]
  policy: [none, best-effort]
  scope: [container, pod]
  cpuManagerPolicy: [none, static]
steps:
  - admit: {name: p, containers: [{name: c, requests: {cpu: 1}}]}
    expect: {admitted: true}
"""


def test_the_workers_really_get_whole_share_out(tmp_path: Path) -> None:
    file = tmp_path / "theme" / "own.yaml"
    file.parent.mkdir()
    file.write_text(STORY)
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(file)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # 16 instances, 2 workers, shares of 2: those that differ in the last value of the matrix alone.
    workers = defaultdict(set)
    for worker, share in re.findall(r"\[(gw\d)\].*?own\.yaml::theme/own\[(.*)-\w+\]", done.stdout):
        workers[share].add(worker)
    assert len(workers) == 8, done.stdout
    assert all(len(by) == 1 for by in workers.values()), workers
