"""Kubernetes Pod manifests (already parsed from YAML or JSON) become pods."""

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from numaproof.errors import UserError
from numaproof.harness.pods.affinity import affinity_fields, check_tolerated
from numaproof.harness.pods.pod import Container, Pod, PodResources
from numaproof.harness.pods.pod_defaults import is_hugepages, with_defaults
from numaproof.harness.pods.quantity import parse_quantity
from numaproof.harness.pods.requests import container_requests
from numaproof.harness.pods.taints import tolerations_from

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_CONTAINER_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LONGEST_TOLD = 60  # characters of a text that a message repeats
_NATIVE = ("cpu", "memory", "ephemeral-storage")


def pod_from(manifest: Any) -> Pod:
    """The pod that a manifest describes, with the API server's defaults; a UserError names what is wrong, and where."""
    document = _mapping(manifest, "pod")
    kind = document.get("kind", "Pod")
    if kind != "Pod":
        raise UserError(
            f'pod: kind: "{str(kind)[:_LONGEST_TOLD]}" is not admitted by a node (give a manifest of kind Pod)'
        )
    metadata = _mapping(document.get("metadata"), "pod: metadata")
    name = _name(metadata.get("name"), _NAME, "pod: metadata.name")
    namespace = _name(metadata.get("namespace", "default"), _NAME, f"pod {name}: metadata.namespace")
    uid = metadata.get("uid")
    if uid is None:
        uid = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{namespace}/{name}"))
    elif not isinstance(uid, str) or not uid or not uid.isprintable() or "/" in uid:
        raise UserError(f"pod {name}: metadata.uid: {_short(uid)} is not a uid (give a printable text without a slash)")
    where = f"pod {name}"
    spec = _mapping(document.get("spec"), f"{where}: spec")
    init_containers = _containers(spec, "initContainers", where)
    containers = _containers(spec, "containers", where)
    if not containers:
        raise UserError(f"{where}: spec.containers: is empty (a pod has at least one container)")
    names = [container.name for container in init_containers + containers]
    for container_name in names:
        if names.count(container_name) > 1:
            raise UserError(f'{where}: container "{container_name}" is there twice (give each a name of its own)')
    numa_node_id, cpu_affinity = affinity_fields(spec, f"{where}: spec")
    pod = Pod(
        name,
        uid,
        init_containers,
        containers,
        namespace,
        tolerations=tolerations_from(spec.get("tolerations"), f"{where}: spec.tolerations"),
        node_name=_node_name(spec.get("nodeName"), f"{where}: spec.nodeName"),
        numa_node_id=numa_node_id,
        cpu_affinity=cpu_affinity,
        has_claims=bool(spec.get("resourceClaims")),
    )
    check_tolerated(pod, where)
    return replace(pod, resources=_pod_resources(spec.get("resources"), pod, f"{where}: spec.resources"))


def _node_name(value: Any, where: str) -> str:
    return "" if value in (None, "") else _name(value, _NAME, where)


def _containers(spec: Mapping[str, Any], key: str, where: str) -> tuple[Container, ...]:
    listed = spec.get(key)
    if listed is None:
        return ()
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise UserError(f"{where}: spec.{key}: {_short(listed)} is not a list of containers")
    is_init = key == "initContainers"
    return tuple(_container(item, f"{where}: {key}[{index}]", is_init=is_init) for index, item in enumerate(listed))


def _container(item: Any, where: str, *, is_init: bool) -> Container:
    entry = _mapping(item, where)
    name = _name(entry.get("name"), _CONTAINER_NAME, f"{where}.name")
    restart = entry.get("restartPolicy")
    if restart is not None and not (is_init and restart == "Always"):
        raise UserError(
            f"{where}.restartPolicy: {_short(restart)} is not possible here (only Always, on an init container)"
        )
    resources = entry.get("resources")
    resources = {} if resources is None else _mapping(resources, f"{where}.resources")
    limits = _quantities(resources.get("limits"), f"{where}.resources.limits")
    requests = {**limits, **_quantities(resources.get("requests"), f"{where}.resources.requests")}
    for resource, request in requests.items():
        _check(resource, request, limits.get(resource), f"{where}.resources")
    return Container(name, requests, limits, restartable=restart == "Always")


def _pod_resources(document: Any, pod: Pod, where: str) -> PodResources | None:
    if document is None:
        return None
    asked = _mapping(document, where)
    requests = _quantities(asked.get("requests"), f"{where}.requests")
    limits = _quantities(asked.get("limits"), f"{where}.limits")
    for resource in (*requests, *limits):
        if resource not in ("cpu", "memory") and not is_hugepages(resource):
            raise UserError(f"{where}: {resource} is not for a pod as a whole (give cpu, memory or hugepages there)")
    resources = with_defaults(pod, PodResources(requests, limits))
    totals = container_requests(pod)
    for resource, request in resources.requests.items():
        _check(resource, request, resources.limits.get(resource), where)
        if totals.get(resource, request) > request:
            fault = f"{request} is less than the containers ask for ({totals[resource]})"
            raise UserError(f"{where}.requests.{resource}: {fault}: raise it")
    return resources


def _check(resource: str, request: Fraction, limit: Fraction | None, where: str) -> None:
    if limit is not None and request > limit:
        raise UserError(f"{where}: requests more {resource} ({request}) than its limit ({limit}): raise the limit")
    if resource in _NATIVE:
        return
    if limit != request:
        raise UserError(f"{where}: {resource} cannot be overcommitted: give the same limit and request")
    if not is_hugepages(resource) and request.denominator != 1:
        raise UserError(f"{where}.limits.{resource}: {request} is not a whole number (devices are counted)")


def _quantities(mapping: Any, where: str) -> dict[str, Fraction]:
    if mapping is None:
        return {}
    quantities = {}
    for resource, text in _mapping(mapping, where).items():
        if not isinstance(resource, str) or not resource:
            raise UserError(f"{where}: {_short(resource)} is not a resource name")
        try:
            quantity = parse_quantity(text)
        except UserError as error:
            raise UserError(f"{where}.{resource}: {error}") from None
        if quantity < 0:
            raise UserError(f"{where}.{resource}: {text} is negative (give 0 or more)")
        quantities[resource] = quantity
    return quantities


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        fault = "is missing" if value is None else f"{_short(value)} is not a mapping"
        raise UserError(f"{where}: {fault} (give a Pod manifest)")
    return value


def _name(value: Any, shape: re.Pattern[str], where: str) -> str:
    if not isinstance(value, str) or not shape.fullmatch(value):
        raise UserError(f"{where}: {_short(value)} is not a name (lower-case letters, digits and dashes)")
    return value


def _short(value: Any) -> str:
    """What a message repeats of a value."""
    told = repr(value)
    return told if len(told) <= _LONGEST_TOLD else f"{told[:_LONGEST_TOLD]}..."
