"""What a node's explanation offers helps: applied to nodes that run, with plugins over sockets, the pod is admitted."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from numaproof.harness.decision.config import node_config
from numaproof.harness.node.node import Node
from numaproof.plugins_mock import MockDevice, MockPlugin
from tests.harness.explain.states import State, changed, random_state
from tests.harness.node.running import client, listed_plugins, running_node, wait_for_devices

# States in which a pod is refused, one for each policy, culprit and set of remedies among the first of the random ones.
SEEDS = (5, 21, 30, 76, 128, 131, 159, 209, 218, 263, 288, 308, 328, 402, 491, 533)
# With what a kubelet starts again while its pods run; for anything else its node has to be drained.
TAKEN_OVER = {"topologyManagerPolicy", "topologyManagerScope"}


@contextmanager
def node_of(state: State) -> Iterator[tuple[Node, list[MockPlugin]]]:
    """A node that runs, after the state's pods came, as far as it admits them; and its plugins."""
    with running_node(state.kubelet, state.machine) as node:
        plugins = [
            MockPlugin(
                resource, [MockDevice(one.id, one.numa, healthy=one.healthy) for one in found], node.device_plugins
            )
            for resource, found in state.devices.items()
        ]
        with listed_plugins(node, *plugins):
            for manifest in state.running:
                node.admit(manifest)
            yield node, plugins


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_offered_helps(seed: int) -> None:
    state = random_state(seed)
    with node_of(state) as (node, _), client(node.root) as control:
        told = control.explain(state.pod)
        here = {one.pod.name for one in node.assignments()}
        came = tuple(manifest for manifest in state.running if manifest["metadata"]["name"] in here)
        verdict = control.admit(state.pod).verdict
    assert told.verdict == verdict
    assert not verdict.admitted
    assert told.blame.what
    assert told.why
    assert told.remedies
    for remedy in told.remedies:
        check(replace(state, running=came), json.loads(remedy.apply), here, remedy.change)


def check(state: State, apply: Mapping[str, Any], here: set[str], change: str) -> None:
    after = changed(state, apply)
    config = set(apply.get("config", ()))
    if config <= TAKEN_OVER:
        with node_of(state) as (node, plugins):
            for name in apply.get("remove", ()):
                node.remove(name)
            if config:
                node.config = node_config(after.kubelet)
                node.restart()
                wait_for_devices(node, *plugins)
            assert node.admit(after.pod).admitted, change
        return
    with node_of(after) as (node, _):
        assert here <= {one.pod.name for one in node.assignments()}, change
        assert node.admit(after.pod).admitted, change
