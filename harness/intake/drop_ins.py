"""Configurations laid over one another, as the kubelet merges the files of --config-dir."""

from collections.abc import Mapping
from typing import Any

from numaproof.harness.decision.config import DEFAULT_EVICTION, Setting

Settings = Mapping[str, Setting]


def with_drop_in(settings: Settings, over: Settings) -> dict[str, Setting]:
    """The settings after a drop-in (a JSON merge patch): tables are merged, null takes away, all else is replaced."""
    merged = dict(settings)
    for key, (where, value) in over.items():
        if value is None:
            merged.pop(key, None)
            continue
        # The kubelet fills in its own thresholds before it looks at drop-ins.
        before = merged[key].value if key in merged else DEFAULT_EVICTION if key == "evictionHard" else None
        merged[key] = Setting(where, _patched(before, value))
    return merged


def _patched(value: Any, patch: Any) -> Any:
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(value) if isinstance(value, Mapping) else {}
    for key, one in patch.items():
        if one is None:
            merged.pop(key, None)
        else:
            merged[key] = _patched(merged.get(key), one)
    return merged
