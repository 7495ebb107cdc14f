"""Manifests become pods; pods have a QoS class and a total request."""

import copy
from fractions import Fraction
from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.pods.qos import qos_class
from numaproof.harness.pods.requests import effective_requests


def container(
    name: str, limits: dict[str, str] | None = None, requests: dict[str, str] | None = None
) -> dict[str, Any]:
    resources = {key: value for key, value in (("limits", limits), ("requests", requests)) if value is not None}
    return {"name": name, "resources": resources}


def manifest(*containers: dict[str, Any], init: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": list(containers)}
    if init is not None:
        spec["initContainers"] = init
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "uid": "u"}, "spec": spec}


def test_requests_default_to_limits() -> None:
    pod = pod_from(manifest(container("c", {"cpu": "2", "memory": "1Gi"}, {"cpu": "1"})))
    assert pod.containers[0].requests == {"cpu": Fraction(1), "memory": Fraction(2**30)}
    assert (pod.name, pod.uid, pod.namespace) == ("p", "u", "default")


def test_init_containers_come_first_and_sidecars_are_known() -> None:
    sidecar = {**container("s"), "restartPolicy": "Always"}
    pod = pod_from(manifest(container("c"), init=[container("i"), sidecar]))
    assert [(each.name, each.restartable) for each in pod.all_containers()] == [("i", False), ("s", True), ("c", False)]
    assert [pod.is_init(each) for each in pod.all_containers()] == [True, True, False]


def test_a_pod_without_uid_gets_one_of_its_own() -> None:
    def uid(name: str) -> str:
        document = manifest(container("c"))
        document["metadata"] = {"name": name}
        return pod_from(document).uid

    assert uid("a") == uid("a") != uid("b")


@pytest.mark.parametrize(
    ("path", "wrong", "place"),
    [
        ((), [], r"pod: \[\] is not a mapping"),
        (("kind",), "Deployment", 'kind: "Deployment"'),
        (("metadata",), None, "metadata: is missing"),
        (("metadata", "name"), "Bad_Name", "metadata.name: 'Bad_Name'"),
        (("metadata", "uid"), "../x", r"metadata.uid: '../x'"),
        (("spec",), "x", "pod p: spec: 'x' is not a mapping"),
        (("spec", "containers"), [], "spec.containers: is empty"),
        (("spec", "containers"), "abc", "spec.containers: 'abc' is not a list"),
        (("spec", "containers"), [container("c"), container("c")], 'container "c" is there twice'),
        (("spec", "containers", 0, "name"), 7, r"containers\[0\].name: 7"),
        (("spec", "containers", 0, "restartPolicy"), "Always", r"containers\[0\].restartPolicy: 'Always'"),
        (("spec", "containers", 0, "resources"), [], r"containers\[0\].resources: \[\] is not a mapping"),
        (("spec", "containers", 0, "resources", "limits", "cpu"), "two", r'limits.cpu: "two" is not a quantity'),
        (("spec", "containers", 0, "resources", "limits", "cpu"), "-1", "limits.cpu: -1 is negative"),
        (("spec", "containers", 0, "resources", "requests"), {"cpu": "3"}, "requests more cpu"),
        (
            ("spec", "containers", 0, "resources", "limits"),
            {"x.io/gpu": "1500m"},
            "x.io/gpu: 3/2 is not a whole number",
        ),
        (("spec", "containers", 0, "resources", "requests"), {"x.io/gpu": "1"}, "x.io/gpu cannot be overcommitted"),
        (
            ("spec", "containers", 0, "resources", "requests"),
            {"hugepages-2Mi": "2Mi"},
            "hugepages-2Mi cannot be overco",
        ),
        (("spec", "resources"), 4, "spec.resources: 4 is not a mapping"),
        (("spec", "resources"), {"limits": {"x.io/gpu": "1"}}, "spec.resources: x.io/gpu is not for a pod as a whole"),
        (("spec", "resources"), {"requests": {"cpu": "4"}, "limits": {"cpu": "3"}}, "requests more cpu"),
        (("spec", "resources"), {"requests": {"cpu": "1"}}, "requests.cpu: 1 is less than the containers ask for"),
        (("spec", "resources"), {"requests": {"hugepages-2Mi": "2Mi"}}, "hugepages-2Mi cannot be overcommitted"),
    ],
)
def test_bad_manifests_are_named(path: tuple[Any, ...], wrong: Any, place: str) -> None:
    document: Any = copy.deepcopy(manifest(container("c", {"cpu": "2"})))
    if path:
        parent = document
        for key in path[:-1]:
            parent = parent[key]
        parent[path[-1]] = wrong
    else:
        document = wrong
    with pytest.raises(UserError, match=place) as error:
        pod_from(document)
    assert "\n" not in str(error.value)


FULL = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("containers", "init", "expected"),
    [
        ([container("c", FULL)], [], "Guaranteed"),
        ([container("c", {"cpu": "100m", "memory": "1Gi"})], [], "Guaranteed"),
        ([container("c", FULL), container("d", FULL)], [container("i", FULL)], "Guaranteed"),
        ([container("c", FULL)], [container("i")], "Burstable"),
        ([container("c", FULL), container("d", {"cpu": "1"})], [], "Burstable"),
        ([container("c", FULL, {"cpu": "500m"})], [], "Burstable"),
        ([container("c", None, {"memory": "1Mi"})], [], "Burstable"),
        ([container("c", {"cpu": "0", "memory": "0"})], [], "BestEffort"),
        ([container("c", {"x.io/gpu": "1"})], [], "BestEffort"),
    ],
)
def test_qos_classes(containers: list[dict[str, Any]], init: list[dict[str, Any]], expected: str) -> None:
    assert qos_class(pod_from(manifest(*containers, init=init))) == expected


def cpu(name: str, amount: int, *, restartable: bool = False) -> Container:
    return Container(name, {"cpu": Fraction(amount)}, {}, restartable)


@pytest.mark.parametrize(
    ("init", "apps", "total"),
    [
        ([], [2, 3], 5),
        ([(4, False), (7, False)], [2, 3], 7),
        ([(1, True)], [2, 3], 6),
        ([(2, True), (6, False)], [2, 3], 8),  # the sidecar before the init container runs beside it
        ([(6, False), (2, True)], [2, 3], 7),  # the one after does not
    ],
)
def test_totals_count_what_runs_together(init: list[tuple[int, bool]], apps: list[int], total: int) -> None:
    pod = Pod(
        "p",
        "u",
        tuple(cpu(f"i{i}", amount, restartable=restartable) for i, (amount, restartable) in enumerate(init)),
        tuple(cpu(f"c{i}", amount) for i, amount in enumerate(apps)),
    )
    assert effective_requests(pod) == {"cpu": Fraction(total)}


def as_a_whole(resources: dict[str, Any], *containers: dict[str, Any]) -> Pod:
    document = manifest(*(containers or (container("c", FULL),)))
    document["spec"]["resources"] = resources
    return pod_from(document)


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({"requests": FULL, "limits": FULL}, "Guaranteed"),
        ({"requests": FULL, "limits": {"cpu": "2", "memory": "1Gi"}}, "Burstable"),
        ({"requests": FULL, "limits": {"cpu": "1"}}, "Burstable"),
        ({"requests": FULL}, "Burstable"),
        ({"limits": {"hugepages-2Mi": "2Mi"}, "requests": {"cpu": "0", "memory": "0"}}, "BestEffort"),
        ({}, "BestEffort"),  # whatever its containers ask for
    ],
)
def test_resources_of_a_pod_as_a_whole_decide_its_qos_class(resources: dict[str, Any], expected: str) -> None:
    idle = (container("c"),) if expected == "BestEffort" and resources else ()
    assert qos_class(as_a_whole(resources, *idle)) == expected


def test_a_request_of_a_pod_as_a_whole_counts_instead_of_its_containers() -> None:
    asking = container("c", {"cpu": "1", "memory": "2", "x.io/gpu": "1"})
    pod = as_a_whole({"requests": {"cpu": "4"}}, asking)
    assert effective_requests(pod) == {"cpu": 4, "memory": 2, "x.io/gpu": 1}


@pytest.mark.parametrize(
    ("asked", "limits", "requests"),
    [
        ({"requests": {"memory": "9"}}, {"hugepages-2Mi": 4}, {"cpu": 2, "memory": 9, "hugepages-2Mi": 4}),
        ({"limits": {"cpu": "8"}}, {"cpu": 8, "hugepages-2Mi": 4}, {"cpu": 2, "memory": 7, "hugepages-2Mi": 4}),
        ({}, {}, {}),
    ],
)
def test_what_a_pod_as_a_whole_leaves_open_is_filled_in(
    asked: dict[str, Any], limits: dict[str, Fraction], requests: dict[str, Fraction]
) -> None:
    pages = {"hugepages-2Mi": "2", "x.io/gpu": "1"}
    resources = as_a_whole(
        asked, container("c", pages, {"cpu": "1", "memory": "7", **pages}), container("d", pages, {"cpu": "1", **pages})
    ).resources
    assert resources is not None
    assert (resources.limits, resources.requests) == (limits, requests)


@pytest.mark.parametrize(
    "manifest",
    [
        {"kind": "x" * 10_000},
        {"metadata": {"name": "x" * 10_000}},
        {"metadata": {"name": "p", "uid": "\n" * 10_000}},
        {"metadata": {"name": "p"}, "spec": ["x"] * 10_000},
        {"metadata": {"name": "p"}, "spec": {"containers": "x" * 10_000}},
        {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "restartPolicy": "x" * 10_000}]}},
        {
            "metadata": {"name": "p"},
            "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": ["x"] * 10_000}}}]},
        },
    ],
    ids=["kind", "name", "uid", "spec", "containers", "restartPolicy", "quantity"],
)
def test_no_message_repeats_more_than_a_line_of_what_is_wrong(manifest: dict[str, Any]) -> None:
    with pytest.raises(UserError) as caught:
        pod_from(manifest)
    assert len(str(caught.value)) < 250
    assert "\n" not in str(caught.value)
