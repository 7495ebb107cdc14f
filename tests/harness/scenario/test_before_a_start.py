"""What can be known before a start is told before a start: the user's file and line, the key, the value, the remedy."""

from pathlib import Path

import pytest

from numaproof.errors import UserError
from numaproof.harness.cli import main
from numaproof.harness.scenario.parse import parse_scenario

STORY = """\
name: n
why: w
source: s
matrix:
  policy: [none, restricted]
  memoryManagerPolicy: [None, Static]
  maxPods: [0, 7]
kubelet:
  cpuManagerPolicyOptions: {full-pcpus-only: "true"}
  maxPods: 5
plugins:
  - resource: example.com/gpu
    per_numa: half numa.count
    faults: ["Allocate=error:UNAVAILABLE*1"]
  - resource: example.com/nic
    devices: [{id: a, numa: [0]}, {id: b}]
steps:
  - admit:
      name: first
      containers:
        - {name: app, requests: {cpu: half numa.cpus + 1, memory: 1Gi, example.com/gpu: 1}, limits: {cpu: numa.cpus}}
        - {name: side, kind: sidecar, requests: {cpu: 500m}}
    expect:
      numa: numa.count
      containers: {app: {cpu_count: 0, memory: {memory: quarter numa.memory}, devices: {example.com/gpu: 1}}}
      calls: {example.com/gpu: {Allocate: 1}}
      listed: {first: [app, side]}
      metrics: {a_total: numa.count}
      allocatable: {devices: {example.com/nic: 2}}
  - health: {resource: example.com/nic, ids: [a], healthy: false}
    expect: {containers: {first/side: {same_cpus_as: first/app}}}
  - restart: node
    expect: {refuses: something}
  - remove: first
"""

# What stands in the story, what a user writes instead, and what is said then: `N: ` is the line.
MISTAKES = [
    ("[0, 7]", "[0, -7]", "7: matrix.maxPods[1]: '-7' is"),
    ("maxPods: 5", "maxPod: 5", "10: kubelet.maxPod: unknown key; did you mean maxPods?"),
    ("maxPods: 5", "maxPods: many", "10: kubelet.maxPods: 'many' is"),
    ("full-pcpus-only", "full-pcpu-only", "9: kubelet.cpuManagerPolicyOptions: full-pcpu-only: unknown option"),
    ("[None, Static]", "[None, Dynamic]", "6: matrix.memoryManagerPolicy[1]: unknown value 'Dynamic'; choose one of"),
    ("memoryManagerPolicy", "memoryManagerPolice", "6: memoryManagerPolice: unknown key; did you mean"),
    ("[none, restricted]", "[none, strictly]", "5: matrix.policy: 'strictly' is not known; take some of: none"),
    ("half numa.count", "half numa.counts", "13: plugins[0].per_numa: 'half numa.counts' is"),
    ("half numa.count", "some", "13: plugins[0].per_numa: 'some' is"),
    ("Allocate=error:", "Alocate=error:", "14: plugins[0].faults[0]: fault Alocate=error: no call 'Alocate'; known:"),
    ("UNAVAILABLE", "UNAVAILING", "14: plugins[0].faults[0]: fault Allocate=error:UNAVAILING: not a gRPC status code"),
    ("half numa.cpus + 1", "half numa.cpu", "21: steps[0].admit.containers[0].requests.cpu: 'half numa.cpu' is"),
    ("half numa.cpus + 1", "half a dozen", '21: steps[0].admit.containers[0].requests.cpu: "half a dozen" is'),
    ("limits: {cpu: numa.cpus}", "limits: {cpu: [1]}", "21: steps[0].admit.containers[0].limits.cpu: [1] is not a"),
    ("cpu: 500m", "cpu: 500x", '22: steps[0].admit.containers[1].requests.cpu: "500x" is'),
    ("example.com/gpu: 1}, l", "example.com/gpu: 1, x/y: 1}, l", "18: steps[0].admit: asks for x/y, which no plugin"),
    ("limits: {cpu", "limits: {x/y: 1, cpu", "18: steps[0].admit: asks for x/y, which no plugin here offers"),
    ("numa: numa.count\n", "numa: numa.nodes\n", "24: steps[0].expect.numa: 'numa.nodes' is"),
    ("cpu_count: 0", "cpu_count: lots", "25: steps[0].expect.containers.app.cpu_count: 'lots' is"),
    ("quarter numa.memory", "quarter of it", '25: steps[0].expect.containers.app.memory.memory: "quarter of it" is'),
    ("devices: {example.com/gpu: 1}}}", "devices: {x/y: 0}}}", "devices.x/y: no plugin here offers x/y (offered: e"),
    ("{app: {cpu_count", "{ap: {cpu_count", "25: steps[0].expect.containers.ap: there is no container 'ap' to look at"),
    ("calls: {example.com/gpu", "calls: {example.com/typo", "26: steps[0].expect.calls.example.com/typo: no plugin"),
    ("listed: {first: [app, side]}", "listed: {second: null}", "27: steps[0].expect.listed.second: no step before adm"),
    (
        "listed: {first: [app, side]}",
        "listed: {first: [ap]}",
        "27: steps[0].expect.listed.first: there is no container",
    ),
    ("metrics: {a_total: numa.count}", "metrics: {a_total: few}", "28: steps[0].expect.metrics.a_total: 'few' is"),
    (
        "{example.com/nic: 2}}",
        "{example.com/nik: 0}}",
        "29: steps[0].expect.allocatable.devices.example.com/nik: no pl",
    ),
    ("{resource: example.com/nic", "{resource: x/y", "30: steps[1].health.resource: no plugin here offers x/y (off"),
    ("ids: [a]", "ids: [a, c]", "30: steps[1].health.ids[1]: example.com/nic has no device 'c' (it has: a, b)"),
    ("same_cpus_as: first/app", "same_cpus_as: app", "31: steps[1].expect.containers.first/side.same_cpus_as: there"),
    ("restart: node", "restart: nodes", "32: steps[2].restart: no plugin here offers nodes (offered: example.com/gpu"),
    ("restart: node", "stop: x/y", "32: steps[2].stop: no plugin here offers x/y"),
    ("restart: node", "look: machine", "33: steps[2].expect.refuses: look does not start the node again; drop it"),
    ("remove: first", "remove: never-admitted", "34: steps[3].remove: no step before admits a pod 'never-admitted' (a"),
    ("remove: first", "start: never-admitted", "34: steps[3].start: no step before admits a pod 'never-admitted'"),
    ("remove: first", "remove: [first]", "34: steps[3].remove: no step before admits a pod ['first']"),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "theme/story.yaml"
    made.parent.mkdir()
    made.write_text(STORY)
    return made


def test_the_story_is_right(file: Path) -> None:
    assert parse_scenario(file).id == "theme/story"


@pytest.mark.parametrize(("right", "wrong", "said"), MISTAKES, ids=[f"{row[1]}" for row in MISTAKES])
def test_a_mistake_has_a_line(file: Path, right: str, wrong: str, said: str) -> None:
    assert STORY.count(right) >= 1
    file.write_text(STORY.replace(right, wrong, 1))
    with pytest.raises(UserError) as told:
        parse_scenario(file)
    assert said in str(told.value)
    assert str(told.value).startswith(f"{file}:")
    assert "\n" not in str(told.value)


def test_a_pod_is_known_only_after_its_step(file: Path) -> None:
    text = STORY.replace("steps:\n", "steps:\n  - remove: first\n")
    file.write_text(text)
    with pytest.raises(UserError, match=r":18: steps\[0\]\.remove: no step before admits a pod 'first' \(admitted: no"):
        parse_scenario(file)


def test_it_ends_with_2_and_one_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--list", str(file)]) == 0
    capsys.readouterr()
    file.write_text(STORY.replace("remove: first", "remove: never-admitted"))
    for arguments in (["--list"], ["--runtime", "process"]):
        assert main(["run", *arguments, str(file)]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith(f"numaproof: {file}:34: steps[3].remove: ")
        assert printed.err.count("\n") == 1


def test_a_node_that_shall_not_start_may_be_told_nonsense(file: Path) -> None:
    head = "name: n\nwhy: w\nsource: s\n"
    file.write_text(f"{head}kubelet: {{maxPods: -1}}\nrefuses: no count of pods\n")
    assert parse_scenario(file).kubelet == {"maxPods": -1}
    file.write_text(f"{head}kubelet: {{maxPods: -1}}\nsteps: [look: machine]\n")
    with pytest.raises(UserError, match=r"story\.yaml:4: kubelet\.maxPods: -1 is"):
        parse_scenario(file)
