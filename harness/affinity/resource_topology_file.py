"""NodeResourceTopology objects as `kubectl get noderesourcetopologies -o yaml` prints them become nodes' topologies.

They are somebody else's objects: keys that mean nothing here are passed over, values of wrong types are refused.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from numaproof.errors import UserError
from numaproof.fake_sysfs.strict_yaml import Document, Where
from numaproof.harness.affinity.node_topology import NodeTopology, ZoneStatus
from numaproof.harness.affinity.resource_topology import KIND, POLICY, SCOPE, ZONE_TYPE
from numaproof.harness.affinity.zones import CPU
from numaproof.harness.pods.quantity import milli_value, parse_amount, value
from numaproof.harness.topology.bitmask import MAX_NODE
from numaproof.harness.vocabulary import POLICIES, SCOPES
from numaproof.near import did_you_mean

LISTS: Final = ("List", f"{KIND}List")
_GROUP: Final = "topology.node.k8s.io/"
_ZONE: Final = re.compile(r"(?:.*[^0-9])?([0-9]{1,4})")  # node-0, as exporters name them, or any name with a number
# The words of topologyPolicies: what v1alpha1 has in the place of attributes.
_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "SingleNUMANode": ("single-numa-node", "container"),
    "SingleNUMANodeContainerLevel": ("single-numa-node", "container"),
    "SingleNUMANodePodLevel": ("single-numa-node", "pod"),
    "Restricted": ("restricted", "container"),
    "RestrictedContainerLevel": ("restricted", "container"),
    "RestrictedPodLevel": ("restricted", "pod"),
    "BestEffort": ("best-effort", "container"),
    "BestEffortContainerLevel": ("best-effort", "container"),
    "BestEffortPodLevel": ("best-effort", "pod"),
    "None": ("none", "container"),
}


def is_resource_topology(value: Any) -> bool:
    """Whether a document is one of these objects, or a list that may hold some."""
    return isinstance(value, Mapping) and value.get("kind") in (KIND, *LISTS)


def resource_topologies(documents: Iterable[Document]) -> list[NodeTopology]:
    """The nodes of all objects of a file, in their order; a UserError names what is wrong, and where."""
    found = []
    for document in documents:
        where, value = document.where, _mapping(document.value, document.where)
        if value.get("kind") in LISTS:
            items = _list(value.get("items"), where.at("items"))
            found += [_node(item, where.at("items").at(index)) for index, item in enumerate(items)]
        else:
            found.append(_node(value, where))
    return found


def _node(item: Any, where: Where) -> NodeTopology:
    content = _mapping(item, where)
    kind = content.get("kind")
    if kind != KIND:
        raise UserError(f"{where.at('kind')}: {kind!r} is not a {KIND}; give those alone")
    version = content.get("apiVersion")
    if not isinstance(version, str) or not version.startswith(_GROUP):
        raise UserError(f"{where.at('apiVersion')}: {version!r} is not {_GROUP}v1alpha1 or {_GROUP}v1alpha2")
    metadata = _mapping(content.get("metadata"), where.at("metadata"))
    name = _text(metadata.get("name"), where.at("metadata").at("name"))
    policy, scope = _policy(content, where)
    zones: dict[int, ZoneStatus] = {}
    for index, entry in enumerate(_list(content.get("zones"), where.at("zones"))):
        at = where.at("zones").at(index)
        zone = _mapping(entry, at)
        if _text(zone.get("type"), at.at("type")) != ZONE_TYPE:
            continue
        status = _zone(zone, at)
        if status.id in zones:
            raise UserError(f"{at.at('name')}: a zone {status.id} is there already; keep one")
        zones[status.id] = status
    if not zones:
        raise UserError(f"{where.at('zones')}: has no zone of type {ZONE_TYPE}; export the NUMA nodes of {name}")
    return NodeTopology(name, policy, scope, tuple(zone for _, zone in sorted(zones.items())))


def _policy(content: Mapping[str, Any], where: Where) -> tuple[str, str]:
    """Policy and scope: as attributes say, else as the word of topologyPolicies does, else none."""
    policy, scope = "none", "container"
    at = where.at("topologyPolicies")
    for index, word in enumerate(_optional_list(content.get("topologyPolicies"), at)):
        text = _text(word, at.at(index))
        if text not in _WORDS:
            raise UserError(
                f"{at.at(index)}: {text!r} is unknown; choose one of {', '.join(_WORDS)}{did_you_mean(text, _WORDS)}"
            )
        policy, scope = _WORDS[text]
    at = where.at("attributes")
    for index, entry in enumerate(_optional_list(content.get("attributes"), at)):
        attribute = _mapping(entry, at.at(index))
        if attribute.get("name") == POLICY:
            policy = _one_of(attribute.get("value"), POLICIES, at.at(index).at("value"))
        elif attribute.get("name") == SCOPE:
            scope = _one_of(attribute.get("value"), SCOPES, at.at(index).at("value"))
    return policy, scope


def _zone(zone: Mapping[str, Any], where: Where) -> ZoneStatus:
    number = _number(zone.get("name"), where.at("name"))
    capacity, allocatable, available = {}, {}, {}
    at = where.at("resources")
    for index, entry in enumerate(_optional_list(zone.get("resources"), at)):
        here = at.at(index)
        resource = _mapping(entry, here)
        name = _text(resource.get("name"), here.at("name"))
        if name in capacity:
            raise UserError(f"{here.at('name')}: {name} is there already; keep one")
        capacity[name] = _amount(name, resource.get("capacity"), here.at("capacity"))
        # What nobody tells is as much as it can be: older exporters leave it out.
        allocatable[name] = _amount(name, resource.get("allocatable", resource["capacity"]), here.at("allocatable"))
        told = resource["available"] if "available" in resource else resource.get("allocatable", resource["capacity"])
        available[name] = _amount(name, told, here.at("available"))
    costs = {}
    at = where.at("costs")
    for index, entry in enumerate(_optional_list(zone.get("costs"), at)):
        cost = _mapping(entry, at.at(index))
        distance = cost.get("value")
        if isinstance(distance, bool) or not isinstance(distance, int) or distance < 0:
            raise UserError(f"{at.at(index).at('value')}: {distance!r} is not a cost; give a whole number")
        costs[_number(cost.get("name"), at.at(index).at("name"))] = distance
    return ZoneStatus(number, frozenset(), capacity, allocatable, available, costs)


def _number(name: Any, where: Where) -> int:
    match = _ZONE.fullmatch(_text(name, where))
    if match is None or int(match[1]) > MAX_NODE:
        raise UserError(f"{where}: {name!r} names no NUMA node from 0 to {MAX_NODE}; name zones as in node-0")
    return int(match[1])


def _amount(resource: str, text: Any, where: Where) -> int:
    quantity = parse_amount(text, str(where))
    return milli_value(quantity) if resource == CPU else value(quantity)


def _one_of(given: Any, known: tuple[str, ...], where: Where) -> str:
    if given not in known:
        raise UserError(f"{where}: {given!r} is unknown; choose one of {', '.join(known)}{did_you_mean(given, known)}")
    return str(given)


def _mapping(value: Any, where: Where) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UserError(f"{where}: {_shown(value)} is not a mapping; give a {KIND}")
    return value


def _list(value: Any, where: Where) -> list[Any]:
    if not isinstance(value, list):
        raise UserError(f"{where}: {_shown(value)} is not a list; give a {KIND}")
    return value


def _optional_list(value: Any, where: Where) -> list[Any]:
    return [] if value is None else _list(value, where)


def _text(value: Any, where: Where) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise UserError(f"{where}: {_shown(value)} is not a name; write a text")
    return value


def _shown(value: Any) -> str:
    return repr(value) if len(repr(value)) <= 60 else repr(value)[:57] + "..."
