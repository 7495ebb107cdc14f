"""Files of pods as commands take them: manifests, lists, what makes pods; and what is none of these, in a line."""

import io
import json
from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.harness.commands.pod_files import documents, pods_of
from tests.places import short_directory


def spec(cpu: int = 1) -> dict[str, Any]:
    return {"containers": [{"name": "app", "resources": {"limits": {"cpu": cpu, "memory": "64Mi"}}}]}


def pod(name: str, **more: Any) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": name, "namespace": "team"}, "spec": spec(), **more}


def made(kind: str, *path: str) -> dict[str, Any]:
    """A workload whose template is found by a path of keys."""
    inner: dict[str, Any] = {"metadata": {"labels": {"app": "web"}}, "spec": spec(3)}
    for key in reversed(path):
        inner = {key: inner}
    return {"kind": kind, "metadata": {"name": "web", "namespace": "team"}, **inner}


def told(*objects: Any, templates: bool = False, running: bool = False) -> list[str]:
    """The pods of a file that holds these documents, each with the CPUs of its first container."""
    with short_directory() as place:
        file = place / "f.yaml"
        file.write_text("\n---\n".join(one if isinstance(one, str) else json.dumps(one) for one in objects))
        pods = list(pods_of(str(file), templates=templates, running=running))
    return [f"{one.namespace}/{one.name} {one.containers[0].limits['cpu']}" for one in pods]


def test_pods_come_in_the_order_of_their_file() -> None:
    assert told(pod("b"), pod("a"), "# nothing", pod("c")) == ["team/b 1", "team/a 1", "team/c 1"]


@pytest.mark.parametrize("kind", ["List", "PodList"])
def test_lists_are_unfolded(kind: str) -> None:
    assert told({"kind": kind, "items": [pod("a"), pod("b")]}, pod("c")) == ["team/a 1", "team/b 1", "team/c 1"]


def test_in_a_list_of_the_api_no_object_has_its_kind() -> None:
    bare = {key: value for key, value in pod("a").items() if key != "kind"}
    assert told({"kind": "PodList", "items": [bare]}) == ["team/a 1"]
    deployment = made("Deployment", "spec", "template")
    del deployment["kind"]
    assert told({"kind": "DeploymentList", "items": [deployment]}, templates=True) == ["team/web 3"]


WORKLOADS = [
    *(made(kind, "spec", "template") for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job")),
    made("ReplicationController", "spec", "template"),
    made("CronJob", "spec", "jobTemplate", "spec", "template"),
    made("PodTemplate", "template"),
    # Kinds that others have added.
    made("Rollout", "spec", "template"),
    made("DeploymentConfig", "spec", "template"),
    made("PyTorchJob", "spec", "pytorchReplicaSpecs", "Worker", "template"),
    made("LeaderWorkerSet", "spec", "leaderWorkerTemplate", "workerTemplate"),
]


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: str(workload["kind"]))
def test_of_a_workload_the_pod_has_its_name_if_templates_count(workload: dict[str, Any]) -> None:
    assert told(workload, templates=True) == ["team/web 3"]
    with pytest.raises(UserError, match=f'f.yaml:1: pod: kind: "{workload["kind"]}" is not admitted by a node'):
        told(workload)


def test_what_makes_no_pods_is_passed_over_beside_what_does() -> None:
    service = {"kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}
    assert told(service, made("Deployment", "spec", "template"), service, templates=True) == ["team/web 3"]
    with pytest.raises(UserError, match=r'f\.yaml:1: pod: kind: "Service" is not admitted by a node'):
        told(service, templates=True)
    with pytest.raises(UserError, match=r'f\.yaml:1: pod: kind: "Service" is not admitted by a node'):
        told(service, pod("a"))


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ([""], "f.yaml: is empty; give Pod manifests"),
        (["# only this"], "f.yaml: is empty; give Pod manifests"),
        (["text"], "f.yaml:1: pod: "),
        (["[1]"], "f.yaml:1: pod: "),
        ([{"kind": "List"}], "f.yaml:1: items: is not a list of pods; give Pod manifests"),
        ([{"kind": "PodList", "items": {}}], "f.yaml:1: items: is not a list of pods; give Pod manifests"),
        ([{"kind": "List", "items": []}], "f.yaml:1: items: has nothing in it; give Pod manifests"),
        ([{"kind": "List", "items": [pod("a"), 3]}], "f.yaml:1: items[1]: pod: "),
        ([pod("a"), {"kind": "Pod", "spec": spec()}], "f.yaml:3: pod: metadata: is missing"),
        ([{"kind": "Deployment", "spec": {}}], "f.yaml:1: Deployment: has no pod template; give one, or a Pod man"),
        ([{"kind": "CronJob", "spec": {"jobTemplate": 1}}], "f.yaml:1: CronJob: has no pod template; give one, or"),
        ([{"kind": ["Pod"]}], "f.yaml:1: pod: kind: "),
        (["a: [", pod("a")], "f.yaml:2: is not YAML: "),
    ],
)
@pytest.mark.parametrize("templates", [False, True])
def test_what_holds_no_pods_is_refused_in_a_line(objects: list[Any], message: str, templates: bool) -> None:
    if "template" in message and not templates:
        message = "is not admitted by a node"
    with pytest.raises(UserError) as caught:
        told(*objects, templates=templates)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_template_below_too_many_levels_is_not_looked_for() -> None:
    with pytest.raises(UserError, match="is not admitted by a node"):
        told(made("Matryoshka", *("spec",) * 50), templates=True)


def test_of_those_that_run_none_has_ended_or_waits_for_a_node() -> None:
    phases = ("Running", "Succeeded", "Pending", "Failed")
    pods = [pod(phase.lower(), status={"phase": phase}) for phase in phases]
    pods.append(pod("starts", status={"phase": "Pending"}, spec=spec() | {"nodeName": "n1"}))
    # What is pending without a node waits for the scheduler.
    assert told({"kind": "List", "items": pods}, running=True) == ["team/running 1", "team/starts 1"]
    assert len(told(*pods)) == 5


def test_those_that_run_are_of_one_node() -> None:
    pods = [pod(name, spec=spec() | {"nodeName": node}) for name, node in (("a", "n1"), ("b", "n2"), ("c", "n1"))]
    with pytest.raises(UserError, match=r"f\.yaml: has pods of 2 nodes \(n1, n2\); give those of one spec\.nodeName"):
        told(*pods, running=True)
    pods[1]["status"] = {"phase": "Succeeded"}  # it holds nothing any more, wherever that was
    assert told(*pods, running=True) == ["team/a 1", "team/c 1"]
    assert told(pods[0], pods[2], pod("d"), running=True) == ["team/a 1", "team/c 1", "team/d 1"]


def test_stdin_is_read_once_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(pod("a"))))
    assert [one.name for one in pods_of("-")] == ["a"]
    with pytest.raises(UserError, match=r"^-: is empty; give Pod manifests$"):
        list(pods_of("-"))
    monkeypatch.setattr("sys.stdin", io.StringIO("a: ["))
    with pytest.raises(UserError, match=r"^stdin:1: is not YAML: "):
        documents("-")


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_stdin_that_is_no_text(errors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a: \xff"), "utf-8", errors))
    with pytest.raises(UserError, match=r"^stdin: is not UTF-8 text.*; write YAML$"):
        documents("-")


def test_stdin_and_files_that_are_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numaproof.harness.commands.pod_files.LARGEST", 10)
    monkeypatch.setattr("sys.stdin", io.StringIO("a: 345678901"))
    with pytest.raises(UserError, match=r"^stdin: is longer than 10 characters; give it in parts, as files$"):
        documents("-")
    with pytest.raises(UserError, match=r"f\.yaml: is larger than 10 bytes; give"):
        told("a: 345678901")


def test_directories_and_files_that_are_not_there() -> None:
    with short_directory() as place:
        for name in (place, place / "none.yaml"):
            with pytest.raises(UserError, match="cannot be read"):
                list(pods_of(str(name)))
