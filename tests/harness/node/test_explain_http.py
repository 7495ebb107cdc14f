"""POST /explain: the explanation of a posted pod as JSON, over HTTP; nothing is changed by it."""

from typing import Any

import pytest

from tests.harness.node.binding import post, written
from tests.harness.node.running import STATIC, pod, running_node

SINGLE = STATIC | {"topologyManagerPolicy": "single-numa-node"}


@pytest.mark.parametrize("tcp", [False, True])
def test_a_posted_pod_is_explained(tcp: bool) -> None:
    # NUMA node 0 has 7 CPUs for pods, as CPU 0 is reserved; 6 are taken there, 8 are asked for, 8 are on NUMA node 1.
    with running_node(SINGLE, http_port=0) as node:
        node.admit(pod("before", {"cpu": 6, "memory": "1Gi"}))
        before = written(node.root)
        status, told = post(node, "/explain", pod("asked", {"cpu": 9, "memory": "1Gi"}), tcp=tcp)
        assert (status, told["pod"]) == (200, "default/asked")
        assert told["verdict"]["reason"] == "TopologyAffinityError"
        blame = told["blame"]
        assert (blame["what"], blame["wanted"], blame["free"]) == ("cpu", 9, {"0": 1, "1": 8})
        cells = {(one["policy"], one["scope"]): one for one in told["matrix"]}
        # 1 + 8 CPUs are free over both; no single NUMA node has 9 at any time.
        assert cells["best-effort", "container"]["verdict"]["admitted"]
        assert cells["best-effort", "container"]["placement"]["c0"]["cpus_by_numa"] == {"0": 1, "1": 8}
        assert cells["single-numa-node", "pod"]["blame"]["cause"] == "too much"
        status, told = post(node, "/explain", pod("small", {"cpu": 8, "memory": "1Gi"}), tcp=tcp)
        assert (status, told["verdict"]["admitted"], told["placement"]["c0"]["cpus"]) == (200, True, "8-15")
        assert written(node.root) == before
        assert [one.pod.name for one in node.assignments()] == ["before"]


BODIES: tuple[tuple[Any, str], ...] = (
    (b"\xff\xfe", "the body is not UTF-8 text; post a Pod manifest"),
    ("{", "manifest"),
    ("[]", "manifest"),
    ({"kind": "Service", "metadata": {"name": "x"}}, 'kind: "Service" is not admitted by a node'),
    ({"metadata": {"name": "x"}}, "spec"),
)


@pytest.mark.parametrize("case", range(len(BODIES)))
def test_what_is_not_a_pod_is_a_bad_request(case: int) -> None:
    body, words = BODIES[case]
    with running_node(SINGLE) as node:
        status, told = post(node, "/explain", body)
        assert status == 400
        assert words in told["message"]
        assert "\n" not in told["message"]
