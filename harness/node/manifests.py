"""Pod manifests as text: one YAML or JSON document, read safely."""

import json
from typing import Any

import yaml

from numaproof.harness.errors import UserError
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.pod import Pod

LONGEST = 1 << 20  # characters; the API server takes no larger pod

_NATIVE = frozenset({"cpu", "memory", "ephemeral-storage", "storage"})


class _Loader(yaml.SafeLoader):
    """Reads no aliases: a few hundred bytes of them unfold to gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


def read_manifest(text: str) -> tuple[Pod, dict[str, Any]]:
    """The pod that the text describes, and the manifest itself; a UserError in one line if it is not a pod's."""
    if len(text) > LONGEST:
        raise UserError(f"pod: a manifest of {len(text)} characters is too long; the most is {LONGEST}")
    try:
        # JSON is YAML too, but read many times faster as what it is.
        manifest = json.loads(text) if text.lstrip().startswith("{") else yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"pod: is neither YAML nor JSON ({' '.join(str(error).split())[:200]})") from None
    return check_manifest(manifest)


def check_manifest(manifest: Any) -> tuple[Pod, dict[str, Any]]:
    """The same, for a manifest that has been parsed already."""
    pod = pod_from(manifest)
    for container in pod.all_containers():
        for name in container.requests:
            if "/" not in name and name not in _NATIVE and not name.startswith("hugepages-"):
                raise UserError(
                    f"pod {pod.name}: container {container.name}: unknown resource {name!r}; "
                    "write cpu, memory, ephemeral-storage, hugepages-SIZE, or a plugin's domain/name"
                )
    return pod, dict(manifest)
