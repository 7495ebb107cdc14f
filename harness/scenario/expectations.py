"""What a step shall lead to, read from its `expect`; what it names must be there to be seen."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.scenario.fields import Fields
from numaproof.harness.scenario.model import Expected, ExpectedConfined, ExpectedCost
from numaproof.harness.scenario.pci_ways import is_bridges
from numaproof.harness.scenario.samples import sample_name
from numaproof.harness.scenario.size_words import check_count, check_filled, check_number, check_size
from numaproof.harness.scenario.steps.action import Action, Known
from numaproof.harness.scenario.steps.admit import Admit

KEYS = (
    *("admitted", "reason", "message", "refuses", "aligned", "numa", "nodes", "containers", "cost", "calls"),
    *("metrics", "listed", "allocatable", "confined", "pending", "evicted", "when"),
)
_OF_ADMITTED = ("aligned", "numa", "nodes", "containers", "cost", "confined", "evicted")
ALIGNMENTS = ("container", "pod", "no")
CALLS = ("Allocate", "GetPreferredAllocation", "GetPreferredAllocations", "ListAndWatch", "PreStartContainer")


def parse_expected(
    value: Any, where: Where, action: Action, known: Known, matrix: Mapping[str, tuple[str, ...]]
) -> Expected:
    """One expectation of a step."""
    fields = Fields(value, where, KEYS)
    nodes = fields.raw("nodes")
    if nodes is not None and not _is_nodes(nodes):
        raise UserError(f"{fields.at('nodes')}: {nodes!r} is not a list of NUMA nodes; write [0] or [0, 1]")
    if fields.raw("admitted") is True and "reason" in fields:
        raise UserError(f"{fields.at('reason')}: an admitted pod has no reason; drop one of admitted, reason")
    if "refuses" in fields and not action.restarts_node:
        raise UserError(f"{fields.at('refuses')}: {action.name} does not start the node again; drop it")
    if "evicted" in fields and not action.evicts:
        raise UserError(f"{fields.at('evicted')}: {action.name} evicts nobody; expect it of a taint")
    names = _container_names(action, known)
    return Expected(
        admitted=fields.flag("admitted", True) if "admitted" in fields else _implied(fields),
        reason=fields.text("reason") if "reason" in fields else None,
        message=check_filled(fields.text("message"), fields.at("message")) if "message" in fields else None,
        refuses=fields.text("refuses") if "refuses" in fields else None,
        aligned=fields.choice("aligned", ALIGNMENTS) if "aligned" in fields else None,
        numa=check_count(fields.raw("numa"), fields.at("numa")) if "numa" in fields else None,
        nodes=tuple(nodes) if nodes is not None else None,
        containers={
            _checked_name(name, names, fields.at("containers").at(name)): _container(
                item, fields.at("containers").at(name), known, names
            )
            for name, item in fields.mapping("containers").items()
        },
        cost=_cost(fields, action),
        calls={
            known.check_resource(resource, fields.at("calls").at(resource)): _calls(
                item, fields.at("calls").at(resource)
            )
            for resource, item in fields.mapping("calls").items()
        },
        metrics=_metrics(fields),
        listed=_listed(fields, known),
        allocatable=_container(fields.raw("allocatable", {}), fields.at("allocatable"), known, ()),
        confined=_confined(fields, action),
        pending=_pods(fields, "pending", known),
        evicted=_pods(fields, "evicted", known),
        when=_when(fields, matrix),
    )


def _implied(fields: Fields) -> bool | None:
    """Whether an expectation that does not speak of admission means one: a rejected pod is on no NUMA node at all."""
    if "reason" in fields:
        return False
    return True if any(key in fields for key in _OF_ADMITTED) else None


def _cost(fields: Fields, action: Action) -> ExpectedCost:
    if "cost" not in fields:
        return ExpectedCost()
    if not isinstance(action, Admit):
        raise UserError(f"{fields.at('cost')}: {action.name} chooses nothing; expect it of an admit")
    given = Fields(fields.raw("cost"), fields.at("cost"), ("at_most", "optimal"))
    most = given.raw("at_most", 0)
    if isinstance(most, bool) or not isinstance(most, int | float) or not 0 <= most < math.inf:
        raise UserError(f"{given.at('at_most')}: {most!r} is not a cost; write a number of 0 or more")
    return ExpectedCost(
        float(most) if "at_most" in given else None, given.flag("optimal", True) if "optimal" in given else None
    )


def _confined(fields: Fields, action: Action) -> ExpectedConfined:
    if "confined" not in fields:
        return ExpectedConfined()
    if action.about is None:
        raise UserError(f"{fields.at('confined')}: {action.name} is not about a pod; expect it of an admit or a bind")
    given = Fields(fields.raw("confined"), fields.at("confined"), ("cpus", "memory_nodes"))
    nodes = given.raw("memory_nodes")
    if "memory_nodes" in given and not _is_nodes(nodes):
        raise UserError(f"{given.at('memory_nodes')}: {nodes!r} is not a list of NUMA nodes; write [1], or []: any")
    cpus = _container(
        {"cpus": given.raw("cpus")} if "cpus" in given else {}, fields.at("confined"), Known(devices={}), ()
    )
    return ExpectedConfined(cpus.get("cpus"), tuple(nodes) if "memory_nodes" in given else None)


def _pods(fields: Fields, key: str, known: Known) -> frozenset[str] | None:
    if key not in fields:
        return None
    return frozenset(known.check_pod(one, fields.at(key).at(i)) for i, one in enumerate(fields.items(key)))


def _container_names(action: Action, known: Known) -> tuple[str, ...]:
    """The containers that an expectation may name: of the pod that is decided about, or of all as `pod/container`."""
    if action.about is not None:
        return action.about.containers
    return tuple(f"{pod.name}/{name}" for pod in known.pods.values() for name in pod.containers)


def _checked_name(name: str, names: tuple[str, ...], where: Where) -> str:
    if name not in names:
        raise UserError(f"{where}: there is no container {name!r} to look at (there are: {', '.join(names) or 'none'})")
    return name


def _calls(value: Any, where: Where) -> dict[str, int]:
    fields = Fields(value, where, CALLS)
    return {call: fields.number(call, 0) for call in CALLS if call in fields}


def _metrics(fields: Fields) -> dict[str, str]:
    """Samples by the names that a scraper reads, in one spelling, with their values after the step."""
    found = {}
    for text, value in fields.mapping("metrics").items():
        name = sample_name(text)
        if name is None:
            raise UserError(f'{fields.at("metrics")}: {text!r} is not a sample; write name or name{{label="value"}}')
        found[name] = check_number(value, fields.at("metrics").at(text))
    return found


def _listed(fields: Fields, known: Known) -> dict[str, tuple[str, ...] | None]:
    """Pods with the containers that PodResources shows of them; null: it shows no such pod."""
    found: dict[str, tuple[str, ...] | None] = {}
    for pod, names in fields.mapping("listed").items():
        where = fields.at("listed").at(pod)
        if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise UserError(f"{where}: {names!r} is not a list of containers; null: no such pod")
        known.check_pod(pod, where)
        for name in names or ():
            _checked_name(name, known.pods[pod].containers, where)
        found[pod] = None if names is None else tuple(names)
    return found


def _is_nodes(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(node, int) for node in value)


def _is_counts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(count, int | str) for count in value.values())


def _is_devices(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(wanted, int | list) or _is_counts(wanted) for wanted in value.values()
    )


def _is_sizes(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(size, int | str) for size in value.values())


def _is_cpus(value: Any) -> bool:
    if isinstance(value, str) and "core" in value:
        return True  # which cores there are the machine says
    try:
        return _is_counts(value) or (isinstance(value, str | int) and parse_cpulist(str(value)) is not None)
    except ValueError:
        return False


# What an expectation of a container may say -> whether a value is of its kind, and the kind in words.
_CONTAINER_KEYS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "cpus": (_is_cpus, "a CPU list (1-3,8), cores (core1-3) or counts by NUMA node"),
    "cpu_count": (lambda value: isinstance(value, int | str), "a size"),
    "nodes": (_is_nodes, "a list of NUMA nodes"),
    "devices": (_is_devices, "by resource: a count, a list of ids, or counts by NUMA node"),
    "bridges": (is_bridges, "{between: [RESOURCE, RESOURCE], at_most: N}"),
    "memory_nodes": (_is_nodes, "a list of NUMA nodes"),
    "memory": (_is_sizes, "by resource: a size"),
    "same_cpus_as": (lambda value: isinstance(value, str), "a container's name"),
}


def _container(value: Any, where: Where, known: Known, names: tuple[str, ...]) -> dict[str, Any]:
    fields = Fields(value, where, tuple(_CONTAINER_KEYS))
    found = {key: fields.raw(key) for key in _CONTAINER_KEYS if key in fields}
    for key, given in found.items():
        fits, kind = _CONTAINER_KEYS[key]
        if not fits(given):
            raise UserError(f"{fields.at(key)}: {given!r} is not {kind}")
    if "cpu_count" in found:
        check_count(found["cpu_count"], fields.at("cpu_count"))
    for resource, size in found.get("memory", {}).items():
        check_size(size, fields.at("memory").at(resource))
    for node, count in found["cpus"].items() if isinstance(found.get("cpus"), Mapping) else ():
        check_count(count, fields.at("cpus").at(node))
    for resource, wanted in found.get("devices", {}).items():
        known.check_resource(resource, fields.at("devices").at(resource))
        for node, count in wanted.items() if isinstance(wanted, Mapping) else ():
            check_count(count, fields.at("devices").at(resource).at(node))
    if "bridges" in found and not names:
        raise UserError(f"{fields.at('bridges')}: is about the devices of a container; drop it")
    for resource in found.get("bridges", {}).get("between", ()):
        known.check_resource(resource, fields.at("bridges").at("between"))
    if "same_cpus_as" in found:
        _checked_name(found["same_cpus_as"], names, fields.at("same_cpus_as"))
    return found


def _when(fields: Fields, matrix: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Which instances an expectation is for: every value must be one that the matrix has."""
    when = {}
    for key, given in fields.mapping("when").items():
        values = tuple(str(value) for value in (given if isinstance(given, list) else [given]))
        for value in values:
            if value not in matrix.get(key, ()):
                known = ", ".join(matrix.get(key, ())) or "none: the matrix has no such key"
                raise UserError(f"{fields.at('when').at(key)}: {value!r} is not in the matrix ({known})")
        when[key] = values
    return when
