"""Machines of many nodes: hints by rule decide as listed hints do, on every recorded sequence of admissions."""

import json
import lzma
from pathlib import Path

import pytest

from numaproof.errors import UserError
from numaproof.harness.topology.hints import HintFamily
from numaproof.harness.vectors import node
from tests.harness.decision.test_managers import machine, managers_of, pod

RECORDED = Path(__file__).parents[2] / "vectors" / "node.jsonl.xz"
LISTING = (
    "numaproof.harness.providers.memory.manager",
    "numaproof.harness.providers.cpu.hints",
    "numaproof.harness.providers.devices.manager",
)


def test_the_kubelets_decisions_come_out_of_rules_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in LISTING:
        monkeypatch.setattr(f"{module}.ENUMERATED_NODES", 0)
    refused = {}
    with lzma.open(RECORDED, "rt") as lines:
        for number, line in enumerate(lines, start=1):
            case = json.loads(line)
            try:
                answer = node.replay(case)
            except UserError as error:
                refused[number] = str(error)
                continue
            assert node.differences(case, answer) == [], number
    # Sums that wrap around 64 bits follow no rule; the memory manager says so.
    assert list(refused) == [449]
    assert "more is reserved than a NUMA node has" in refused[449]


@pytest.mark.parametrize("nodes", [9, 34, 64])
def test_all_providers_answer_by_rule(nodes: int) -> None:
    managers = managers_of(machine(nodes), topology_options={"max-allowable-numa-nodes": "64"})
    asked = pod("p", cpu="2", gpu="1")
    for provider in (managers.devices, managers.cpu, managers.memory):
        hints = provider.get_topology_hints(asked, asked.containers[0])
        assert [type(hint) for hint in hints.values()] == [HintFamily]
    assert managers.admit(asked).verdict.admitted
