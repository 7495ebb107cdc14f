"""An explanation is a decision: its verdict and placement are the node's, and every change that it offers helps."""

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from numaproof.harness.explain.as_json import as_json
from numaproof.harness.explain.explanation import explain
from numaproof.harness.explain.replica import Replica, Setup
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.pod import Pod
from numaproof.harness.vectors import node
from numaproof.harness.vectors.device_alloc import RecordingPort
from tests.harness.explain.states import changed, random_state

RECORDED = Path(__file__).parents[2] / "vectors" / "node.jsonl.xz"
PARTS = 20
STATES = 2000


def recorded(part: int) -> Iterator[dict[str, Any]]:
    with lzma.open(RECORDED, "rt") as lines:
        for number, line in enumerate(lines):
            if number % PARTS == part:
                yield json.loads(line)


@pytest.mark.parametrize("part", range(PARTS))
def test_explanations_of_recorded_pods_say_what_the_kubelet_decided(part: int) -> None:
    explained = 0
    for case in recorded(part):
        port = RecordingPort({one["resource"]: one["preferred"] for one in case["plugins"] if one["preferred"]})
        managers = node.managers_of(case, port)
        setup = Setup(node.description_of(case), node.config_of(case), node.devices_of(case), None, port)
        numa = {device["id"]: device["numa"] for plugin in case["plugins"] for device in plugin["devices"]}
        pods: list[Pod] = []
        for number, event in enumerate(case["events"]):
            if "remove" in event:
                gone = [pod for pod in pods if pod.name == event["remove"]]
                for pod in gone:
                    managers.remove(pod.uid)
                    pods.remove(pod)
                continue
            pod = pod_from(event["admit"])
            explanation = explain(Replica(setup, managers, pods), pod)
            result = node.result_of(explanation.trace, (), numa)
            result["preferred_calls"] = event["result"]["preferred_calls"]  # explaining asks more often
            assert node.different(event["result"], result) == [], (event["admit"], number)
            assert (explanation.blame is None) <= explanation.trace.verdict.admitted
            for remedy in explanation.remedies:
                assert remedy.trace.verdict.admitted
            # What follows is decided as if nobody had asked.
            if managers.admit(pod).verdict.admitted:
                pods.append(pod)
            explained += 1
    assert explained > 0


@pytest.mark.parametrize("part", range(PARTS))
def test_explanations_of_random_states_are_decisions_and_what_they_offer_helps(part: int) -> None:
    offered = 0
    for seed in range(part, STATES, PARTS):
        state = random_state(seed)
        before = state.assembled()
        explanation = explain(before.replica, pod_from(state.pod), before.history)
        told = as_json(explanation)
        assert json.loads(json.dumps(told)) == told, seed
        # Another node, on which the same pods come, and then this one.
        other = state.assembled().replica
        trace = other.admit(pod_from(state.pod))
        assert explanation.trace.verdict == trace.verdict, seed
        assert explanation.trace.given == trace.given, seed
        for cell in told["matrix"]:
            config = {"topologyManagerPolicy": cell["policy"], "topologyManagerScope": cell["scope"]}
            as_is = before.replica.under(changed(state, {"config": config}).empty().setup)
            assert as_is is not None
            assert cell["verdict"]["admitted"] == as_is.decide(pod_from(state.pod)).verdict.admitted, (seed, config)
        present = {one.pod.name for one in before.replica.residents}
        for remedy in told["remedies"]:
            after = changed(state, remedy["apply"])
            afresh = after.assembled()
            stay = present - {name.removeprefix("default/") for name in remedy["apply"].get("remove", ())}
            assert stay <= {one.pod.name for one in afresh.replica.residents}, (seed, remedy["change"])
            assert afresh.replica.admit(pod_from(after.pod)).verdict.admitted, (seed, remedy["change"])
            offered += 1
    assert offered > 0
