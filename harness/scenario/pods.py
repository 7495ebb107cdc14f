"""A scenario's pod becomes a Kubernetes Pod manifest, sized to the machine."""

from collections.abc import Mapping
from typing import Any

from numaproof.harness.scenario.model import ContainerWords
from numaproof.harness.scenario.sizes import Sizes


def manifest(what: Mapping[str, Any], sizes: Sizes, place: str) -> dict[str, Any]:
    """The manifest of an `admit` step's pod; its uid is made of its name."""
    made: dict[str, list[ContainerWords]] = {"init": [], "app": []}
    for container in what["containers"]:
        made["app" if container.kind == "app" else "init"].append(container)
    spec: dict[str, Any] = {"containers": [_container(container, sizes, place) for container in made["app"]]}
    if made["init"]:
        spec["initContainers"] = [_container(container, sizes, place) for container in made["init"]]
    name = what["name"]
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _container(words: ContainerWords, sizes: Sizes, place: str) -> dict[str, Any]:
    requests = {name: sizes.resolve(size, place) for name, size in words.requests.items()}
    if words.limits is None:
        limits = requests
    else:
        limits = {name: sizes.resolve(size, place) for name, size in words.limits.items()}
        # Devices and hugepages cannot be overcommitted: what is asked of them is their limit, as the API demands.
        limits |= {name: size for name, size in requests.items() if "/" in name or name.startswith("hugepages-")}
    made: dict[str, Any] = {"name": words.name, "resources": {"requests": requests, "limits": limits}}
    if words.kind == "sidecar":
        made["restartPolicy"] = "Always"
    return made
