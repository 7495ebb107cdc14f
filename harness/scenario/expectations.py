"""What a step shall lead to, read from its `expect`; what it names must be there to be seen."""

import math
from collections.abc import Mapping
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs.forms import ANYTHING, TRUTH, Form, Key, any_of, list_of, mapping_of, one_of, shape
from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.scenario.fields import TEXT, WHOLE, Fields
from numaproof.harness.scenario.model import Expected, ExpectedConfined, ExpectedCost
from numaproof.harness.scenario.pci_ways import BRIDGES
from numaproof.harness.scenario.samples import SAMPLE, sample_name
from numaproof.harness.scenario.size_words import (
    COUNT,
    NUMBER,
    SIZE,
    check_count,
    check_filled,
    check_number,
    check_size,
)
from numaproof.harness.scenario.steps.action import NAME, Action, Known
from numaproof.harness.scenario.steps.admit import Admit

_OF_ADMITTED = ("aligned", "numa", "nodes", "containers", "cost", "confined", "evicted")
_CALLS = ("Allocate", "GetPreferredAllocation", "GetPreferredAllocations", "ListAndWatch", "PreStartContainer")
_NODES = list_of(Form({"type": "integer"}))
_COUNTS = mapping_of(Form({**COUNT.words, "type": ["integer", "string"]}))
_CPUS = any_of(Form({"type": ["string", "integer"], "minimum": 0, "pattern": r"core|^[0-9,\s-]*$"}), _COUNTS)
_DEVICES = mapping_of(any_of(Form({"type": "integer"}), Form({"type": "array"}), _COUNTS))
_SIZES = mapping_of(Form({**SIZE.words, "type": ["integer", "string"]}))

GIVEN = shape(
    "given",
    "What a container shall have.",
    {
        "cpus": Key(
            _CPUS, "a CPU list (1-3,8), cores of the first NUMA node (core1-3, core4.0), or counts by NUMA node"
        ),
        "cpu_count": Key(
            Form({**COUNT.words, "type": ["integer", "string"]}), "how many CPUs of its own; 0: it shares"
        ),
        "nodes": Key(_NODES, "the NUMA nodes that what it has comes from, by their positions"),
        "devices": Key(_DEVICES, "by resource: a count, a list of ids, or counts by NUMA node"),
        "bridges": Key(BRIDGES, "how many PCI bridges are between the devices of two resources, at most"),
        "memory_nodes": Key(_NODES, "the NUMA nodes of its memory, by their positions"),
        "memory": Key(_SIZES, "by resource: how much in all, a size"),
        "same_cpus_as": Key(Form({"type": "string"}), "a container's name: it has the same CPUs"),
    },
)
# What its values are not, where they are wrong.
_KINDS = {
    "cpus": "a CPU list (1-3,8), cores (core1-3) or counts by NUMA node",
    "cpu_count": "a size",
    "nodes": "a list of NUMA nodes",
    "devices": "by resource: a count, a list of ids, or counts by NUMA node",
    "bridges": "{between: [RESOURCE, RESOURCE], at_most: N}",
    "memory_nodes": "a list of NUMA nodes",
    "memory": "by resource: a size",
    "same_cpus_as": "a container's name",
}
COST = shape(
    "cost",
    "What the node tells of the cost of what it chose.",
    {
        "at_most": Key(Form({"type": "number", "minimum": 0}), "a cost, of remapped costs"),
        "optimal": Key(TRUTH, "whether it is proven to be the least"),
    },
)
CONFINED = shape(
    "confined",
    "What a bound pod's cgroup keeps its containers to.",
    {
        "cpus": Key(_CPUS, "the CPUs, as of a container"),
        "memory_nodes": Key(_NODES, "the NUMA nodes of its memory; []: any"),
    },
)
COUNTED_CALLS = shape(
    "calls", "How often a plugin is called in this step.", {call: Key(WHOLE, f"calls of {call}") for call in _CALLS}
)
EXPECTED = shape(
    "expected",
    "What shall be seen after a step.",
    {
        "admitted": Key(TRUTH, "whether the pod is admitted"),
        "reason": Key(TEXT, "why it is not, in a word: TopologyAffinityError, UnexpectedAdmissionError, Pending, ..."),
        "message": Key(TEXT, "a part of the node's message; ${numa.cpus + 1} in it is a size"),
        "refuses": Key(TEXT, "of restart: node, lose and offline: the node does not start again, and says this"),
        "aligned": Key(
            one_of(("container", "pod", "no")),
            'container: each on one NUMA node; pod: all on the same one; "no" (with quote marks): spread',
        ),
        "numa": Key(COUNT, "how many NUMA nodes each container's CPUs, memory and devices come from, a size"),
        "nodes": Key(
            any_of(_NODES, Form({"type": "null"})), "which NUMA nodes the pod's come from, by their positions"
        ),
        "containers": Key(mapping_of(GIVEN), "by name (POD/NAME after other steps than admit): what it shall have"),
        "cost": Key(COST, "of admit, under policy cost: what was chosen for the pod costs"),
        "calls": Key(mapping_of(COUNTED_CALLS), "by resource: how often its plugin was called in this step"),
        "metrics": Key(
            mapping_of(NUMBER, propertyNames={"pattern": f"^(?:{SAMPLE.pattern})$"}),
            'samples of /metrics with their values: name, or name{label="value"}',
        ),
        "listed": Key(
            mapping_of(any_of(list_of(Form({"type": "string"})), Form({"type": "null"}))),
            "by pod: the containers that PodResources shows of it; null: it knows no such pod",
        ),
        "allocatable": Key(GIVEN, "what GetAllocatableResources tells of the whole node"),
        "confined": Key(CONFINED, "of admit and bind: what a bound pod's cgroup keeps its containers to"),
        "pending": Key(list_of(NAME), "the pods that wait to be bound, exactly these"),
        "evicted": Key(list_of(NAME), "of taint: the pods that go, exactly these"),
        "when": Key(mapping_of(ANYTHING), "only where the matrix has these values: a value, or a list of them"),
    },
    {"not": {"required": ["admitted", "reason"], "properties": {"admitted": {"const": True}}}},
)


def parse_expected(
    value: Any, where: Where, action: Action, known: Known, matrix: Mapping[str, tuple[str, ...]]
) -> Expected:
    """One expectation of a step."""
    fields = Fields(value, where, EXPECTED)
    nodes = fields.raw("nodes")
    if "nodes" in fields and not fields.fits("nodes"):
        raise UserError(f"{fields.at('nodes')}: {nodes!r} is not a list of NUMA nodes; write [0] or [0, 1]")
    if fields.raw("admitted") is True and "reason" in fields:
        raise UserError(f"{fields.at('reason')}: an admitted pod has no reason; drop one of admitted, reason")
    if "refuses" in fields and not action.restarts_node:
        raise UserError(f"{fields.at('refuses')}: {action.name} does not start the node again; drop it")
    if "evicted" in fields and not action.evicts:
        raise UserError(f"{fields.at('evicted')}: {action.name} evicts nobody; expect it of a taint")
    names = _container_names(action, known)
    return Expected(
        admitted=fields.flag("admitted") if "admitted" in fields else _implied(fields),
        reason=fields.text("reason") if "reason" in fields else None,
        message=check_filled(fields.text("message"), fields.at("message")) if "message" in fields else None,
        refuses=fields.text("refuses") if "refuses" in fields else None,
        aligned=fields.choice("aligned") if "aligned" in fields else None,
        numa=check_count(fields.raw("numa"), fields.at("numa")) if "numa" in fields else None,
        nodes=tuple(nodes) if nodes is not None else None,
        containers={
            _checked_name(name, names, item.where): _container(item, known, names)
            for name, item in fields.entries("containers")
        },
        cost=_cost(fields, action),
        calls={
            known.check_resource(resource, item.where): {call: item.number(call) for call in _CALLS if call in item}
            for resource, item in fields.entries("calls")
        },
        metrics=_metrics(fields),
        listed=_listed(fields, known),
        allocatable=_container(fields.inner("allocatable"), known, ()),
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
    given = fields.inner("cost")
    most = given.raw("at_most")
    if "at_most" in given and not (given.fits("at_most") and most < math.inf):
        raise UserError(f"{given.at('at_most')}: {most!r} is not a cost; write a number of 0 or more")
    return ExpectedCost(
        float(most) if "at_most" in given else None, given.flag("optimal") if "optimal" in given else None
    )


def _confined(fields: Fields, action: Action) -> ExpectedConfined:
    if "confined" not in fields:
        return ExpectedConfined()
    if action.about is None:
        raise UserError(f"{fields.at('confined')}: {action.name} is not about a pod; expect it of an admit or a bind")
    given = fields.inner("confined")
    nodes = given.raw("memory_nodes")
    if "memory_nodes" in given and not given.fits("memory_nodes"):
        raise UserError(f"{given.at('memory_nodes')}: {nodes!r} is not a list of NUMA nodes; write [1], or []: any")
    own = {"cpus": given.raw("cpus")} if "cpus" in given else {}
    cpus = _container(Fields(own, given.where, GIVEN), Known(devices={}), ())
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


def _is_cpulist(value: Any) -> bool:
    if not isinstance(value, str | int) or "core" in str(value):
        return True  # which cores there are the machine says
    try:
        parse_cpulist(str(value))
    except ValueError:
        return False
    return True


def _container(fields: Fields, known: Known, names: tuple[str, ...]) -> dict[str, Any]:
    found = {key: fields.raw(key) for key in GIVEN.keys if key in fields}
    for key, given in found.items():
        if not fields.fits(key) or (key == "cpus" and not _is_cpulist(given)):
            raise UserError(f"{fields.at(key)}: {given!r} is not {_KINDS[key]}")
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
