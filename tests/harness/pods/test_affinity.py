"""The NUMA proposal's fields of a pod: what they may say, when they are waited for, and who may have them."""

from collections.abc import Mapping
from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.harness.pods.affinity import (
    affinity_fields,
    cpus_from,
    is_bound,
    is_dedicated,
    memory_policy,
    missing_fields,
    names,
    numa_node_from,
    requested,
)
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.pod import Pod
from numaproof.harness.pods.taints import ALL_THREE, Taint

DEDICATED = {"key": "CPUAffinity", "operator": "Exists"}
NUMA = {"key": "NUMACPUAffinity", "operator": "Exists"}
ALIAS = {"key": "NUMAAffinity", "operator": "Equal", "value": "strict"}
EVERYTHING = {"operator": "Exists"}
OTHER = {"key": "gpu", "operator": "Exists"}


def manifest(*tolerations: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers, "tolerations": list(tolerations), **spec}}


def read(*tolerations: Mapping[str, Any], **spec: Any) -> Pod:
    return pod_from(manifest(*tolerations, **spec))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("", None),
        ("0", 0),
        ("7", 7),
        ("007", 7),
        (0, 0),
        (3, 3),
        ("1048576", 1 << 20),
    ],
)
def test_a_numa_node_is_a_number_as_a_text(value: Any, expected: int | None) -> None:
    assert numa_node_from(value, "w") == expected


HUGE = "9" * 5000  # more digits than Python's int reads


@pytest.mark.parametrize(
    "value",
    ["x", "-1", -1, "1.0", 1.0, "0x1", " 0", "0 ", "0-1", "0,1", "\u0661", True, False, [0], {}, "1048577", HUGE],
)
def test_what_is_no_numa_node_is_refused_in_one_short_line(value: Any) -> None:
    with pytest.raises(UserError) as caught:
        numa_node_from(value, "pod p: spec.numaNodeID")
    text = str(caught.value)
    assert text.startswith("pod p: spec.numaNodeID: ")
    assert "is not the id of a NUMA node" in text
    assert "\n" not in text
    assert len(text) < 300


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("", None),
        ("  ", None),
        ("0-3", {0, 1, 2, 3}),
        ("0,2,4,6", {0, 2, 4, 6}),
        ("3,1-2,2-3", {1, 2, 3}),
        ("5", {5}),
        (5, {5}),
        (" 1-2 \n", {1, 2}),
        ("1048575", {1048575}),
    ],
)
def test_cpus_are_in_the_kernels_list_format(value: Any, expected: set[int] | None) -> None:
    assert cpus_from(value, "w") == expected


@pytest.mark.parametrize(
    "value",
    [
        "x",
        "3-1",
        "1-",
        "-1",
        "1,,2",
        ",",
        "1;2",
        "0x3",
        "1.5",
        1.5,
        "0-3:1/2",
        "all",
        True,
        False,
        [1, 2],
        {"cpus": "1"},
        "0-1048576",
        "1048576",
        HUGE,
        f"0-{HUGE}",
        "1," * 5000,
    ],
)
def test_what_is_no_list_of_cpus_is_refused_in_one_short_line(value: Any) -> None:
    with pytest.raises(UserError) as caught:
        cpus_from(value, "pod p: spec.cpuAffinity")
    text = str(caught.value)
    assert text.startswith("pod p: spec.cpuAffinity: ")
    assert "\n" not in text
    assert len(text) < 300


def test_both_fields_are_read_where_they_stand() -> None:
    assert affinity_fields({"numaNodeID": "1", "cpuAffinity": "8-9"}, "w") == (1, frozenset({8, 9}))
    assert affinity_fields({}, "w") == (None, None)
    with pytest.raises(UserError, match=r"^w\.numaNodeID: "):
        affinity_fields({"numaNodeID": "one"}, "w")
    with pytest.raises(UserError, match=r"^w\.cpuAffinity: "):
        affinity_fields({"cpuAffinity": "one"}, "w")


def test_a_manifest_has_them() -> None:
    pod = read(DEDICATED, NUMA, numaNodeID="1", cpuAffinity="8-9", nodeName="n1")
    assert (pod.numa_node_id, pod.cpu_affinity, pod.node_name) == (1, frozenset({8, 9}), "n1")
    assert is_bound(pod)
    empty = read(DEDICATED, numaNodeID="", cpuAffinity="", nodeName="")
    assert (empty.numa_node_id, empty.cpu_affinity, empty.node_name) == (None, None, "")
    assert not is_bound(empty)
    assert is_bound(read(NUMA, numaNodeID="0"))
    assert is_bound(read(NUMA, cpuAffinity="0"))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"numaNodeID": "a"}, "pod p: spec.numaNodeID: 'a' is not the id"),
        ({"cpuAffinity": "a"}, "pod p: spec.cpuAffinity: 'a': 'a' is not an id"),
        ({"tolerations": [{"key": "a", "operator": "x"}]}, "pod p: spec.tolerations[0].operator: 'x' is unknown"),
        ({"nodeName": "Not A Name"}, "pod p: spec.nodeName: 'Not A Name' is not a name"),
        ({"nodeName": 5}, "pod p: spec.nodeName: 5 is not a name"),
    ],
)
def test_a_wrong_field_is_refused_with_its_path(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        pod_from(manifest(NUMA, **({"tolerations": [NUMA]} | spec)))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("tolerations", [(), (OTHER,), (EVERYTHING,), ({**DEDICATED, "effect": "NoExecute"},)])
@pytest.mark.parametrize(("field", "text"), [("numaNodeID", "0"), ("cpuAffinity", "1-2")])
def test_a_place_takes_a_toleration_by_name(tolerations: Any, field: str, text: str) -> None:
    with pytest.raises(UserError) as caught:
        read(*tolerations, **{field: text})
    expected = f"pod p: spec.{field}: is for pods that tolerate CPUAffinity or NUMACPUAffinity; add it to spec.tolerat"
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize("toleration", [DEDICATED, NUMA, ALIAS])
def test_either_toleration_allows_either_field(toleration: Mapping[str, Any]) -> None:
    assert read(toleration, numaNodeID="0").numa_node_id == 0
    assert read(toleration, cpuAffinity="1-2").cpu_affinity == frozenset({1, 2})


# What the proposal says under "Kubelet changes": each toleration waits for its own field.
@pytest.mark.parametrize(
    ("tolerations", "spec", "expected"),
    [
        ((), {}, ()),
        ((OTHER,), {}, ()),
        ((EVERYTHING,), {}, ()),
        (({"operator": "Exists", "effect": ALL_THREE},), {}, ()),
        ((DEDICATED,), {}, ("spec.cpuAffinity",)),
        (({**DEDICATED, "effect": ALL_THREE},), {}, ("spec.cpuAffinity",)),
        (({**DEDICATED, "effect": "NoExecute"},), {}, ()),
        (({"key": "CPUAffinity", "value": "dedicated"},), {}, ("spec.cpuAffinity",)),
        ((NUMA,), {}, ("spec.numaNodeID",)),
        ((ALIAS,), {}, ("spec.numaNodeID",)),
        ((NUMA, DEDICATED), {}, ("spec.numaNodeID", "spec.cpuAffinity")),
        ((EVERYTHING, DEDICATED), {}, ("spec.cpuAffinity",)),
        ((DEDICATED,), {"numaNodeID": "0"}, ("spec.cpuAffinity",)),
        ((DEDICATED,), {"cpuAffinity": "1-2"}, ()),
        ((NUMA,), {"cpuAffinity": "1-2"}, ("spec.numaNodeID",)),
        ((NUMA,), {"numaNodeID": "0"}, ()),
        ((NUMA, DEDICATED), {"numaNodeID": "0"}, ("spec.cpuAffinity",)),
        ((NUMA, DEDICATED), {"cpuAffinity": "1-2"}, ("spec.numaNodeID",)),
        ((NUMA, DEDICATED), {"cpuAffinity": "1-2", "numaNodeID": "0"}, ()),
        (({"key": "NUMAMemoryPolicy", "operator": "Exists"},), {}, ()),
    ],
)
def test_what_a_pod_waits_for(tolerations: Any, spec: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert missing_fields(read(*tolerations, **spec)) == expected


def test_who_is_dedicated() -> None:
    assert is_dedicated(read(DEDICATED))
    assert not is_dedicated(read(EVERYTHING))
    assert not is_dedicated(read(NUMA))
    assert names(read(ALIAS), "NUMACPUAffinity")
    assert not names(read(EVERYTHING), "NUMACPUAffinity")


@pytest.mark.parametrize(
    ("taint", "toleration", "expected"),
    [
        (None, None, None),
        ("strict", None, "strict"),
        ("preferred", None, "preferred"),
        (None, "strict", "strict"),
        (None, "preferred", "preferred"),
        ("strict", "preferred", "strict"),
        ("preferred", "strict", "preferred"),
        (None, "", None),
    ],
)
def test_the_nodes_taint_says_where_memory_is_before_the_pod_does(
    taint: str | None, toleration: str | None, expected: str | None
) -> None:
    told = {"operator": "Exists"} if toleration == "" else {"value": toleration}
    pod = read(NUMA, *([] if toleration is None else [{"key": "NUMAMemoryPolicy", **told}]))
    taints = [] if taint is None else [Taint("NUMAMemoryPolicy", taint, ALL_THREE)]
    assert memory_policy(pod, [Taint("CPUAffinity", "dedicated", ALL_THREE), *taints]) == expected


def test_a_toleration_of_another_effect_does_not_say_where_memory_is() -> None:
    told = {"key": "NUMAMemoryPolicy", "value": "strict"}
    assert memory_policy(read(NUMA, told | {"effect": "NoSchedule"}), []) is None
    assert memory_policy(read(NUMA, told | {"effect": ALL_THREE}), []) == "strict"


def test_a_pods_request_is_that_of_all_its_containers() -> None:
    content = manifest(DEDICATED)
    content["spec"]["containers"].append({"name": "d", "resources": {"limits": {"cpu": "500m"}}})
    content["spec"]["initContainers"] = [{"name": "i", "resources": {"limits": {"cpu": "3"}}}]
    assert requested(pod_from(content), "cpu") == 3
    del content["spec"]["initContainers"]
    assert requested(pod_from(content), "cpu") == 2.5
    assert requested(pod_from(content), "hugepages-1Gi") == 0
