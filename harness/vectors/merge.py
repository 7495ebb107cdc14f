"""Replays the merge of hints: kinds merge (kubelet v1.36) and merge-kep (v1.18)."""

from typing import Any

from numaproof.harness.topology.bitmask import ids_of, mask_of
from numaproof.harness.topology.hints import Hints, TopologyHint
from numaproof.harness.topology.numa import NumaInfo
from numaproof.harness.topology.policies import PolicyOptions, find_policy
from numaproof.harness.vocabulary import Semantics


def replay(case: dict[str, Any], semantics: Semantics = "current") -> dict[str, Any]:
    """The merged hint and the decision for the case's providers."""
    nodes = case["numa_nodes"]
    distances = dict(zip(nodes, case["distances"], strict=True)) if case["distances"] else {}
    options = PolicyOptions(bool(case["options"].get("prefer-closest-numa-nodes")))
    providers = [None if provider is None else _hints(provider) for provider in case["providers"]]
    decision = find_policy(case["policy"], semantics)(providers, NumaInfo(tuple(nodes), distances), options)
    return {"hint": hint_to_json(decision.hint), "admit": decision.admit}


def replay_kep(case: dict[str, Any]) -> dict[str, Any]:
    """The same by the rules of the original proposal."""
    return replay(case, "kep")


def differences(case: dict[str, Any], answer: dict[str, Any]) -> list[str]:
    """What the answer says otherwise than the record."""
    return [
        f"{key}: recorded {case[key]}, answered {answer[key]}" for key in ("hint", "admit") if case[key] != answer[key]
    ]


def hint_from_json(record: dict[str, Any]) -> TopologyHint:
    """A recorded hint: `mask` is null for any node, or a list of node ids."""
    mask = record["mask"]
    return TopologyHint(None if mask is None else mask_of(mask), record["preferred"])


def hint_to_json(hint: TopologyHint) -> dict[str, Any]:
    """A hint as it is recorded."""
    return {"mask": None if hint.affinity is None else list(ids_of(hint.affinity)), "preferred": hint.preferred}


def _hints(provider: dict[str, Any]) -> Hints:
    return {
        resource: None if hints is None else [hint_from_json(hint) for hint in hints]
        for resource, hints in provider.items()
    }
