"""`affinity_state`: the node's taints and quotas, which change while it runs and outlive it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from numaproof.errors import UserError
from numaproof.harness.affinity.quota import quota_amount
from numaproof.harness.node.state import files
from numaproof.harness.pods.taints import Taint, taints_from


@dataclass(frozen=True, slots=True)
class AffinityState:
    """What the file says."""

    taints: tuple[Taint, ...] = ()
    quotas: Mapping[str, Fraction] = field(default_factory=dict)  # CPUs, by namespace


def dump(state: AffinityState) -> str:
    """The file's text."""
    content = {
        "taints": [{"key": one.key, "value": one.value, "effect": one.effect} for one in state.taints],
        "quotas": {namespace: f"{amount * 1000}m" for namespace, amount in sorted(state.quotas.items())},
    }
    return files.compact(content | {"checksum": files.sha256(content)})


def load(path: Path) -> AffinityState | None:
    """The file's state; None when there is none yet."""
    content = files.read(path)
    if content is None:
        return None
    try:
        stored = content.pop("checksum")
        taints = taints_from(content["taints"], "taints")
        quotas = {str(namespace): quota_amount(text, "quotas") for namespace, text in content["quotas"].items()}
    except (UserError, KeyError, TypeError, AttributeError):
        raise files.corrupt(path, "is not a node's taints and quotas") from None
    files.check_sum(path, stored, files.sha256(content))
    return AffinityState(taints, quotas)
