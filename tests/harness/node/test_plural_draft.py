"""The draft GetPreferredAllocations on a running node: how often a plugin is asked, and what about."""

from typing import Any

import pytest

from numaproof.plugins_mock import MockPlugin
from tests.harness.node.running import GPU, STATIC, client, devices, listed_plugins, pod, running_node


def pairs(available: Any, must_include: Any, size: int) -> list[list[str]]:
    """Any two of the devices, those of one node first."""
    ids = sorted(available)
    sets = [[one, other] for one in ids for other in ids if one < other and set(must_include) <= {one, other}]
    return sorted(sets, key=lambda ids: (int(ids[0][-1]) + int(ids[1][-1])) % 2) if size == 2 else []


def asked(plugin: MockPlugin) -> list[list[str]]:
    return [list(call.request.available_deviceIDs) for call in plugin.calls if call.name == "GetPreferredAllocations"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("scope", ["container", "pod"])
def test_a_plugin_is_asked_once_for_a_container_in_an_admission_and_in_an_explanation(scope: str) -> None:
    """The node breaks a decision off to ask, and makes it again: the answer of the hints is the allocation's still."""
    config = STATIC | {"topologyManagerPolicy": "restricted", "topologyManagerScope": scope}
    with running_node(config) as node, client(node.root) as control:
        gpu = MockPlugin(GPU, devices("gpu", 6), node.device_plugins, preferred=pairs, plural=True)
        with listed_plugins(node, gpu):
            everything = [f"gpu0{number}" for number in range(6)]
            wide = pod("p", {"cpu": 10, "memory": "100Gi", GPU: 2})
            told = control.explain(wide)
            assert told.verdict.admitted, told
            assert asked(gpu) == [everything]
            answer = control.admit(wide)
            assert asked(gpu) == [everything, everything]
            given = [device.id for device in answer.pod.containers[0].devices[0].devices]
            assert given == ["gpu00", "gpu01"], "the first pair across both nodes, though (0, 2) is the plugin's first"
            assert [device.id for device in told.pod.containers[0].devices[0].devices] == given


def test_containers_of_one_pod_are_asked_for_one_by_one() -> None:
    with running_node(STATIC | {"topologyManagerPolicy": "restricted"}) as node, client(node.root) as control:
        gpu = MockPlugin(GPU, devices("gpu", 8), node.device_plugins, preferred=pairs, plural=True)
        with listed_plugins(node, gpu):
            assert control.admit(pod("p", {GPU: 2}, {GPU: 2})).verdict.admitted
            assert asked(gpu) == [
                [f"gpu0{number}" for number in range(8)],
                [f"gpu0{number}" for number in (1, 3, 4, 5, 6, 7)],
            ]


def test_a_plugin_with_the_proposals_path_alone_decides_as_well() -> None:
    with running_node(STATIC | {"topologyManagerPolicy": "restricted"}) as node, client(node.root) as control:
        gpu = MockPlugin(
            GPU, devices("gpu", 4), node.device_plugins, preferred=pairs, plural=True, plural_paths=["proposal"]
        )
        with listed_plugins(node, gpu):
            everything = ["gpu00", "gpu01", "gpu02", "gpu03"]
            assert asked(gpu) == [[], everything], "the node's look whether the call is served, and then for costs"
            assert [plugin.preferred_sets for plugin in control.state().plugins] == [True]
            assert control.admit(pod("p", {"cpu": 10, "memory": "100Gi", GPU: 2})).verdict.admitted
            assert asked(gpu) == [[], everything, everything]


def test_a_second_question_does_not_repeat_the_first() -> None:
    """No set is liked, so the allocation turns to the singular call, and the decision is broken off once more."""
    with running_node(STATIC | {"topologyManagerPolicy": "best-effort"}) as node, client(node.root) as control:
        gpu = MockPlugin(GPU, devices("gpu", 4), node.device_plugins, preferred=lambda *_asked: [], plural=True)
        with listed_plugins(node, gpu):
            assert control.admit(pod("p", {GPU: 1})).verdict.admitted
            names = [call.name for call in gpu.calls if call.name.startswith("GetPreferred")]
            assert names == ["GetPreferredAllocations", "GetPreferredAllocation"]
