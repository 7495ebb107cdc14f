"""The proposed strict policy on a node, and the questions that its document leaves open."""

import pytest

from numaproof.plugins_mock import MockPlugin
from tests.harness.node.running import GPU, STATIC, client, devices, listed_plugins, pod, running_node

STRICT = STATIC | {"topologyManagerPolicy": "strict"}


@pytest.mark.parametrize("cpus", [1, 2])
def test_the_documents_own_example_is_refused(cpus: int) -> None:
    """Three GPUs of four need both nodes, and the CPU manager prefers one node for a few CPUs: no mask is preferred by
    both, as literal equality wants it. In the document's table the CPU manager prefers both nodes for them, too.
    """
    with running_node(STRICT) as node, client(node.root) as control:
        gpus = MockPlugin(GPU, devices("gpu", 4), node.device_plugins)
        with listed_plugins(node, gpus):
            answer = control.admit(pod("example", {"cpu": cpus, "memory": "1Gi", GPU: 3}))
            assert answer.verdict.reason == "TopologyAffinityError"
            assert control.admit(pod("gpus-alone", {GPU: 3})).verdict.admitted


def test_cpus_of_a_wide_mask_are_packed() -> None:
    """ "In what distribution?": as the CPU manager packs them, whole sockets first, then cores; CPU 0 is reserved."""
    with running_node(STRICT) as node, client(node.root) as control:
        gpus = MockPlugin(GPU, devices("gpu", 4), node.device_plugins)
        with listed_plugins(node, gpus):
            [container] = control.admit(pod("wide", {"cpu": 10, "memory": "100Gi", GPU: 3})).pod.containers
            assert list(container.affinity.affinity.nodes) == [0, 1]
            assert list(container.cpus) == [2, 3, *range(8, 16)]
