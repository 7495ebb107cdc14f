"""Bad input about a pod's place is refused with the field's path, as a pod or as a bind, and changes nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from numaproof.errors import UserError
from tests.harness.node.binding import (
    DEDICATED,
    EVERYTHING,
    NUMA,
    NUMA_TAINT,
    Binder,
    binder,
    page,
    refused_call,
    tolerating,
    written,
)
from tests.harness.node.running import STATIC, pod, running_node

BOTH = [DEDICATED, NUMA]
UIDS = ("\ud800", "a\nb", "a\0b")

# What a pod's spec says beside its containers, and what is said of it.
PODS: tuple[tuple[str, list[dict[str, Any]], dict[str, Any], str], ...] = (
    ("unknown NUMA node", [NUMA], {"numaNodeID": "2"}, "spec.numaNodeID: there is no NUMA node 2 here; choose of 0-1"),
    ("far NUMA node", [NUMA], {"numaNodeID": "1048576"}, "spec.numaNodeID: there is no NUMA node 1048576 here"),
    ("no number", [NUMA], {"numaNodeID": "one"}, "spec.numaNodeID: 'one' is not the id of a NUMA node"),
    ("negative", [NUMA], {"numaNodeID": "-1"}, "spec.numaNodeID: '-1' is not the id of a NUMA node"),
    ("two nodes", [NUMA], {"numaNodeID": "0,1"}, "spec.numaNodeID: '0,1' is not the id of a NUMA node"),
    ("a list", [NUMA], {"numaNodeID": ["0"]}, "spec.numaNodeID: ['0'] is not the id of a NUMA node"),
    ("endless", [NUMA], {"numaNodeID": "1" * 9000}, "spec.numaNodeID: '111"),
    ("CPUs outside the node", BOTH, {"numaNodeID": "0", "cpuAffinity": "7-8"}, "spec.cpuAffinity: CPUs 8 are not of"),
    ("CPUs of two nodes", [NUMA], {"cpuAffinity": "7-8"}, "spec.cpuAffinity: CPUs 7-8 are of several NUMA nodes"),
    ("CPUs not here", [DEDICATED], {"cpuAffinity": "15-16"}, "spec.cpuAffinity: CPUs 16 are not online here"),
    ("CPUs of the host", [DEDICATED], {"cpuAffinity": "0-1"}, "spec.cpuAffinity: CPUs 0 are reserved for the host"),
    ("too few CPUs", [DEDICATED], {"cpuAffinity": "2"}, "spec.cpuAffinity: 1 CPUs, the pod asks for 2; give as many"),
    (
        "too many CPUs",
        [DEDICATED],
        {"cpuAffinity": "2-4"},
        "spec.cpuAffinity: 3 CPUs, the pod asks for 2; give as many",
    ),
    (
        "too few to share",
        [NUMA],
        {"numaNodeID": "0", "cpuAffinity": "2"},
        "spec.cpuAffinity: 1 CPUs, the pod asks for 2",
    ),
    ("malformed list", [DEDICATED], {"cpuAffinity": "2-"}, "spec.cpuAffinity: '2-': '' is not an id"),
    ("backwards", [DEDICATED], {"cpuAffinity": "3-2"}, "spec.cpuAffinity: '3-2': the range 3-2 runs backwards"),
    ("a mask", [DEDICATED], {"cpuAffinity": "0x6"}, "spec.cpuAffinity: '0x6': '0x6' is not an id"),
    ("a word", [DEDICATED], {"cpuAffinity": "all"}, "spec.cpuAffinity: 'all': 'all' is not an id"),
    ("a sequence", [DEDICATED], {"cpuAffinity": [2, 3]}, "spec.cpuAffinity: '[2, 3]' is not a list of CPUs"),
    ("too far", [DEDICATED], {"cpuAffinity": "2-99999999"}, "spec.cpuAffinity: '2-99999999': the range"),
    ("long list", [DEDICATED], {"cpuAffinity": "2," * 9000}, "spec.cpuAffinity: '2,2,"),
    ("no toleration", [], {"numaNodeID": "0"}, "spec.numaNodeID: is for pods that tolerate CPUAffinity or NUMACPUA"),
    ("nor for CPUs", [], {"cpuAffinity": "2-3"}, "spec.cpuAffinity: is for pods that tolerate CPUAffinity or NUMACPUA"),
    ("a wildcard", [EVERYTHING], {"cpuAffinity": "2-3"}, "spec.cpuAffinity: is for pods that tolerate CPUAffinity"),
    (
        "another effect",
        [DEDICATED | {"effect": "NoSchedule"}],
        {"cpuAffinity": "2-3"},
        "spec.cpuAffinity: is for pods that tolerate CPUAffinity",
    ),
    (
        "foreign value",
        [{"key": "CPUAffinity", "value": "shared"}],
        {},
        "spec.tolerations[0].value: CPUAffinity has no value 'shared'; write dedicated",
    ),
    ("foreign operator", [{"key": "a", "operator": "In"}], {}, "spec.tolerations[0].operator: 'In' is unknown"),
    ("foreign effect", [DEDICATED, NUMA | {"effect": "x"}], {}, "spec.tolerations[1].effect: 'x' is unknown"),
    ("endless effect", [NUMA | {"effect": "x" * 20_000}], {}, "spec.tolerations[0].effect: 'xxx"),
    ("no list", [], {"tolerations": "all"}, "spec.tolerations: 'all' is not a list of tolerations"),
    ("no name", [NUMA], {"nodeName": "A B"}, "spec.nodeName: 'A B' is not a name"),
)


@contextmanager
def unchanged(control: Binder) -> Iterator[None]:
    """What happens in here leaves no trace."""
    before = control.state(), control.status(), written(control.root)
    yield
    assert (control.state(), control.status(), written(control.root)) == before


def test_bad_pods_are_refused_with_the_fields_path() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        control.admit(tolerating("first", [DEDICATED], cpuAffinity="14-15"))
        control.admit(tolerating("waits", [DEDICATED]))
        for _title, tolerations, spec, message in PODS:
            manifest = tolerating("x", tolerations, **spec)
            for ask in (control.admit, control.explain):
                with (
                    unchanged(control),
                    refused_call(grpc.StatusCode.INVALID_ARGUMENT, f"pod x: {message}"),
                ):
                    ask(manifest)
        assert control.admit(tolerating("x", [DEDICATED], cpuAffinity="2-3")).verdict.admitted


# The fields of a bind, for a pod that waits with two CPUs.
BINDS: tuple[tuple[list[dict[str, Any]], dict[str, str], str], ...] = tuple(
    (
        tolerations,
        {{"numaNodeID": "numa_node_id", "cpuAffinity": "cpu_affinity"}[key]: text for key, text in spec.items()},
        message,
    )
    for _title, tolerations, spec, message in PODS
    if any(one in tolerations for one in (DEDICATED, NUMA))
    and spec
    and all(key in ("numaNodeID", "cpuAffinity") and isinstance(text, str) for key, text in spec.items())
)


def test_bad_binds_are_refused_with_the_fields_path() -> None:
    assert len(BINDS) >= 15
    with running_node(STATIC) as node, binder(node) as control:
        for tolerations, fields, message in BINDS:
            assert not control.admit(tolerating("x", tolerations)).verdict.admitted
            assert control.pending() == ["x"]
            with unchanged(control), refused_call(grpc.StatusCode.INVALID_ARGUMENT, f"pod x: {message}"):
                control.bind("x", **fields)
            control.remove("uid-x")


def test_a_taint_for_one_node_is_for_all_cpus_that_are_named() -> None:
    with running_node(STATIC | {"registerWithTaints": [NUMA_TAINT]}) as node, binder(node) as control:
        spread = tolerating("x", [DEDICATED, EVERYTHING], cpuAffinity="7-8")
        with (
            unchanged(control),
            refused_call(grpc.StatusCode.INVALID_ARGUMENT, "spec.cpuAffinity: CPUs 7-8 are of sever"),
        ):
            control.admit(spread)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("x", "kubelet: registerWithTaints: 'x' is not a list of taints"),
        ([{"key": "CPUAffinity", "value": "x", "effect": NUMA_TAINT["effect"]}], "registerWithTaints[0].value: CPUAff"),
        ([NUMA_TAINT, {"key": "a", "effect": "x"}], "registerWithTaints[1].effect: 'x' is unknown"),
    ],
)
def test_bad_taints_of_the_configuration_are_refused(entry: Any, message: str) -> None:
    with pytest.raises(UserError) as caught, running_node(STATIC | {"registerWithTaints": entry}):
        pass
    assert message in str(caught.value)


def test_names_and_uids_of_pods_that_wait_are_taken() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        control.admit(tolerating("a", [DEDICATED]))
        other = pod("a", {"cpu": 1, "memory": "1Gi"})
        with unchanged(control), refused_call(grpc.StatusCode.INVALID_ARGUMENT, "is admitted with another manifest"):
            control.admit(other)
        other["metadata"]["uid"] = "uid-of-its-own"
        with unchanged(control), refused_call(grpc.StatusCode.INVALID_ARGUMENT, "there is one of this name already"):
            control.admit(other)


@pytest.mark.parametrize("uid", UIDS)
def test_a_uid_can_be_printed(uid: str) -> None:
    with running_node({"registerWithTaints": [NUMA_TAINT]}) as node, binder(node) as control, unchanged(control):
        one = pod("a", {"cpu": 1})
        one["metadata"]["uid"] = uid
        with refused_call(grpc.StatusCode.INVALID_ARGUMENT, f"pod a: metadata.uid: {uid!r} is not a uid"):
            control.admit(one)
        assert page(node, "/pods")["items"] == []
