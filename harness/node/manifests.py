"""Pod manifests as text: one YAML or JSON document, read safely."""

import json
from collections.abc import Mapping
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs.strict_yaml import load
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.pod import Pod
from numaproof.near import did_you_mean

LONGEST = 1 << 20  # characters; the API server takes no larger pod

_NATIVE = frozenset({"cpu", "memory", "ephemeral-storage", "storage"})


def read_manifest(text: str) -> tuple[Pod, dict[str, Any]]:
    """The pod that the text describes, and the manifest itself; a UserError in one line if it is not a pod's."""
    if len(text) > LONGEST:
        raise UserError(f"pod: a manifest of {len(text)} characters is too long; the most is {LONGEST}")
    # JSON is YAML too, but read many times faster as what it is.
    return check_manifest(_json(text) if text.lstrip().startswith("{") else load(text, "pod").value)


def _json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_once_each)
    except (ValueError, RecursionError) as error:
        raise UserError(f"pod: is not JSON ({' '.join(str(error).split())[:200]}); give a Pod manifest") from None


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice[:60]!r} is there twice in one object: keep one")
    return table


def check_manifest(manifest: Any) -> tuple[Pod, dict[str, Any]]:
    """The same, for a manifest that has been parsed already."""
    pod = pod_from(manifest)
    for container in pod.all_containers():
        for name in container.requests:
            if "/" not in name and name not in _NATIVE and not name.startswith("hugepages-"):
                raise UserError(
                    f"pod {pod.name}: container {container.name}: unknown resource {name!r}; write cpu, memory, "
                    f"ephemeral-storage, hugepages-SIZE, or a plugin's domain/name{did_you_mean(name, _NATIVE)}"
                )
    return pod, dict(manifest)


def bound_manifest(
    manifest: Mapping[str, Any], uid: str, numa_node_id: str | None, cpu_affinity: str | None
) -> tuple[Pod, dict[str, Any]]:
    """A pod and its manifest with another place in its spec (None: as it is); a UserError as from `check_manifest`."""
    fields = {"numaNodeID": numa_node_id, "cpuAffinity": cpu_affinity}
    spec = {**manifest["spec"], **{key: text for key, text in fields.items() if text is not None}}
    content = {**manifest, "spec": spec}
    metadata = {**manifest["metadata"], "uid": uid}
    pod, _ = check_manifest({**content, "metadata": metadata})
    return pod, content


def is_same_request(present: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Whether two manifests ask for the same; the places that a pod was bound to since do not count."""
    places = ("numaNodeID", "cpuAffinity")
    spec = {key: value for key, value in present["spec"].items() if key not in places or key in asked["spec"]}
    return {**present, "spec": spec} == asked
