"""A scenario takes files that a user has, a KubeletConfiguration and Pod manifests; a mistake in them has a line."""

from pathlib import Path
from typing import Any

import pytest

from numaproof import fake_sysfs
from numaproof.errors import UserError
from numaproof.harness.scenario.parse import parse_scenario
from numaproof.harness.scenario.sizes import sizes_of
from tests.harness.scenario.fake_rig import GPU, FakeRig, driven

KUBELET = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
clusterDNS: [10.0.0.10]
maxPods: 20
topologyManagerPolicyOptions: {prefer-closest-numa-nodes: "true"}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, uid: 1-2, labels: {app: web, cost: "$5"}, creationTimestamp: 2026-01-02}
spec:
  initContainers:
    - {name: setup, image: busybox}
    - {name: helper, restartPolicy: Always, resources: {limits: {cpu: 1}}}
  containers:
    - name: app
      image: "shop/web:1.0"
      args: ["--workers=${half numa.cpus}"]
      resources:
        limits: {cpu: "${half numa.cpus}", memory: "${quarter numa.memory}", example.com/gpu: 1}
"""
SCENARIO = """\
name: n
why: w
source: s
matrix: {policy: [restricted]}
kubelet:
  file: config/kubelet.yaml
  maxPods: 5
plugins: [{resource: example.com/gpu, per_numa: 1}]
steps:
  - admit: {file: pod.yaml}
    expect: {admitted: true, containers: {app: {cpu_count: half numa.cpus}}, listed: {web: [helper, app]}}
  - admit: {file: pod.yaml, name: again}
    expect: {admitted: true}
  - remove: again
"""
# Two NUMA nodes of 4 GiB, 4 cores and 8 CPUs each, of which a core is reserved.
MACHINE = fake_sysfs.parse_machine("pack:2 [numa(memory=4294967296)] core:4 pu:2")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "theme/story.yaml"
    (made.parent / "config").mkdir(parents=True)
    made.write_text(SCENARIO)
    (made.parent / "config/kubelet.yaml").write_text(KUBELET)
    (made.parent / "pod.yaml").write_text(POD)
    return made


def test_the_scenario_s_own_keys_override_the_file_s(file: Path) -> None:
    assert parse_scenario(file).kubelet == {
        "clusterDNS": ["10.0.0.10"],
        "maxPods": 5,
        "topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"},
    }


def test_a_manifest_is_taken_as_it_is_with_its_sizes_worked_out(file: Path) -> None:
    first, again, _ = parse_scenario(file).steps
    made: Any = first.action
    manifest = made.pod.manifest(sizes_of(MACHINE, memory_static=False), "here")
    metadata = {"name": "web", "namespace": "default", "uid": "1-2", "labels": {"app": "web", "cost": "$5"}}
    assert manifest["metadata"] == metadata | {"creationTimestamp": "2026-01-02"}
    (app,) = manifest["spec"]["containers"]
    assert app["image"] == "shop/web:1.0"
    assert app["args"] == ["--workers=3"]
    assert app["resources"] == {"limits": {"cpu": "3", "memory": str(1 << 30), GPU: 1}}
    assert (made.pod.containers, made.pod.lasting) == (("setup", "helper", "app"), {"helper", "app"})
    other: Any = again.action
    renamed = other.pod.manifest(sizes_of(MACHINE, memory_static=False), "here")
    assert renamed["metadata"]["name"] == "again"
    assert "uid" not in renamed["metadata"]  # two pods do not share one


def test_the_node_is_given_the_manifest(tmp_path: Path, file: Path) -> None:
    rig = FakeRig()
    story = {"admit": {"file": "pod.yaml"}, "expect": {"containers": {"app": {"cpus": "1"}}}}
    assert driven(tmp_path, rig, story) == []
    assert rig.done == [("admit", "web")]


MISTAKES = [
    (
        "story.yaml",
        "pod.yaml}",
        "pods.yaml}",
        r"story\.yaml:10: steps\[0\]\.admit\.file: .*/pods\.yaml: cannot be read",
    ),
    (
        "story.yaml",
        "pod.yaml}",
        "pod.yaml, containers: []}",
        r"story\.yaml:10: steps\[0\]\.admit\.file: .* drop one of",
    ),
    ("story.yaml", "config/kubelet", "kubelet", r"story\.yaml:6: kubelet\.file: .*/kubelet\.yaml: cannot be read"),
    ("story.yaml", "maxPods: 5", "maxPods: x", r"story\.yaml:7: kubelet\.maxPods: 'x' is"),
    (
        "pod.yaml",
        "quarter numa.memory",
        "quarter numa.mem",
        r"pod\.yaml:13: spec\.containers\[0\].*\.memory: 'quarter numa",
    ),
    ("pod.yaml", "example.com/gpu", "x/y", r"story\.yaml:10: steps\[0\]\.admit: asks for x/y, which no plugin here"),
    ("pod.yaml", "kind: Pod", "kind: Deployment", r"pod\.yaml: .*Deployment"),
    ("pod.yaml", "name: app", "name: helper", r"pod\.yaml: .*helper.* is there twice"),
    ("pod.yaml", "kind: Pod", "kind: Pod\nkind: Pod", r"admit\.file: .*pod\.yaml:3: 'kind' is there twice"),
    ("config/kubelet.yaml", "maxPods: 20", "maxPod: 20", r"kubelet\.yaml:4: maxPod: unknown key; did you mean maxPods"),
    (
        "config/kubelet.yaml",
        '"true"',
        "7",
        r"kubelet\.yaml:5: topologyManagerPolicyOptions: prefer-closest-numa-nodes: ",
    ),
    (
        "config/kubelet.yaml",
        "v1beta1",
        "v1",
        r"kubelet\.yaml:1: is a KubeletConfiguration of kubelet\.config\.k8s\.io/v1;",
    ),
]


@pytest.mark.parametrize(("name", "right", "wrong", "said"), MISTAKES, ids=[row[2] for row in MISTAKES])
def test_a_mistake_in_any_file_has_a_line(file: Path, name: str, right: str, wrong: str, said: str) -> None:
    changed = file.parent / name
    assert right in changed.read_text()
    changed.write_text(changed.read_text().replace(right, wrong, 1))
    with pytest.raises(UserError, match=said) as told:
        parse_scenario(file)
    assert "\n" not in str(told.value)


def test_a_manifest_is_not_a_scenario(file: Path) -> None:
    with pytest.raises(UserError, match=r"pod\.yaml: is a Pod, not a scenario; keep such files outside of the folders"):
        parse_scenario(file.parent / "pod.yaml")


def test_what_is_not_a_configuration_at_all(file: Path) -> None:
    (file.parent / "config/kubelet.yaml").write_text("- 1")
    with pytest.raises(UserError, match=r"kubelet\.yaml:1: is not a KubeletConfiguration; write keys"):
        parse_scenario(file)
    (file.parent / "pod.yaml").write_text("- 1")
    (file.parent / "config/kubelet.yaml").write_text("{}")
    with pytest.raises(UserError, match=r"pod\.yaml: pod: \[1\] is"):
        parse_scenario(file)
