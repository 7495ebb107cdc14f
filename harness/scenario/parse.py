"""Scenario files become Scenario values; the sole parser and validator."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from numaproof.fake_sysfs import preset_names
from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.harness.errors import UserError
from numaproof.harness.scenario.fields import Words
from numaproof.harness.scenario.model import (
    ContainerWords,
    Expected,
    Needs,
    PluginWords,
    Scenario,
    Step,
)
from numaproof.harness.scenario.samples import sample_name
from numaproof.harness.scenario.strict_yaml import load
from numaproof.harness.vocabulary import POLICIES, SCOPES

ACTIONS = ("admit", "remove", "restart", "stop", "lose", "health", "offline", "look", "start")
EXPECTATIONS = (
    *("admitted", "reason", "message", "refuses", "aligned", "numa", "nodes", "containers", "calls"),
    *("metrics", "listed", "allocatable", "when"),
)
ALIGNMENTS = ("container", "pod", "no")
PREFERENCES = ("none", "lowest", "links")
LISTS = ("kept", "fails", "ends")
# How the devices of a plugin may be told: the first of several keys says whose, the others what stands in elsewhere.
_DEVICES = (
    ("per_numa",),
    ("devices",),
    ("sysfs",),
    ("sysfs", "per_numa"),
    ("sysfs", "like"),
    ("sysfs", "like", "devices"),
)
_LARGEST = 1 << 20  # of a file: YAML is read at some MB a minute
CALLS = ("Allocate", "GetPreferredAllocation", "GetPreferredAllocations", "ListAndWatch", "PreStartContainer")


def parse_scenario(path: Path) -> Scenario:
    """The scenario of a file, or one line that says what is wrong with it, and where."""
    try:
        if path.stat().st_size > _LARGEST:
            raise UserError(f"{path}: is larger than any scenario, {_LARGEST} bytes; give the scenario alone")
        value = load(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise UserError(f"{path}: is no YAML: {' '.join(str(error).split())}") from error
    keys = ("name", "why", "source", "needs", "matrix", "kubelet", "plugins", "steps", "refuses")
    words = Words(value, str(path), keys)
    plugins = tuple(_plugin(item, f"{path}: plugins[{i}]") for i, item in enumerate(words.items("plugins")))
    matrix = _matrix(words)
    if "refuses" in words and "steps" in words:
        raise UserError(f"{path}: a node that refuses to start takes no steps; drop one of refuses, steps")
    listed = words.items("steps", least=0 if "refuses" in words else 1)
    steps = tuple(_step(item, f"{path}: steps[{i}]", matrix) for i, item in enumerate(listed))
    _check_resources(steps, {plugin.resource for plugin in plugins})
    return Scenario(
        path=path,
        theme=path.parent.name,
        name=words.text("name"),
        why=words.text("why"),
        source=words.text("source"),
        needs=_needs(words.raw("needs", {}), words.at("needs")),
        matrix=matrix,
        kubelet=words.mapping("kubelet"),
        plugins=plugins,
        steps=steps,
        refuses=words.text("refuses") if "refuses" in words else None,
    )


def _matrix(words: Words) -> dict[str, tuple[str, ...]]:
    """policy, scope, machine, and anything else by its KubeletConfiguration key: each a list of values."""
    matrix = {}
    for key, values in words.mapping("matrix").items():
        place = f"{words.at('matrix')}.{key}"
        if not isinstance(values, list) or not values:
            raise UserError(f"{place}: {values!r} is no list of values")
        known = {"policy": POLICIES, "scope": SCOPES}.get(key)
        for value in values:
            if known and value not in known:
                raise UserError(f"{place}: {value!r} is not known; take some of: {', '.join(known)}")
            if isinstance(value, Mapping | list):
                raise UserError(f"{place}: {value!r}: a matrix holds plain words; write such values under `kubelet`")
        matrix[key] = tuple(str(value) for value in values)
    return matrix


def _needs(value: Any, place: str) -> Needs:
    keys = ("numa", "use_numa", "numa_cpus", "threads", "most_threads", "hugepages", "gpus", "own_machines")
    words = Words(value, place, keys)
    hugepages = tuple(str(size) for size in words.items("hugepages"))
    for size in hugepages:
        if size not in ("2Mi", "1Gi"):
            raise UserError(f"{place}.hugepages: {size!r} is not known; take some of: 2Mi, 1Gi")
    return Needs(
        numa=words.number("numa", 1),
        use_numa=words.number("use_numa", 0) or None,
        numa_cpus=words.text("numa_cpus", "1"),
        threads=words.number("threads", 1),
        most_threads=words.number("most_threads", 0) or None,
        hugepages=hugepages,
        gpus=words.number("gpus", 0),
        own_machines=words.text("own_machines") if "own_machines" in words else None,
    )


def _plugin(value: Any, place: str) -> PluginWords:
    keys = ("resource", "per_numa", "devices", "sysfs", "like", "preferred", "plural", "pre_start", "list", "faults")
    words = Words(value, place, keys)
    given = tuple(key for key in ("sysfs", "like", "per_numa", "devices") if key in words)
    if given not in _DEVICES:
        known = "; ".join(" and ".join(keys) for keys in _DEVICES)
        raise UserError(f"{place}: give the devices once, by {known} (given: {', '.join(given) or 'nothing'})")
    devices = []
    for i, device in enumerate(words.items("devices")):
        one = Words(device, f"{place}.devices[{i}]", ("id", "numa", "healthy"))
        numa = one.raw("numa")
        if numa is not None and not (isinstance(numa, list) and all(isinstance(node, int) for node in numa)):
            raise UserError(f"{one.at('numa')}: {numa!r} is no list of NUMA nodes; leave it out for no topology")
        devices.append({"id": one.text("id"), "numa": numa, "healthy": one.flag("healthy", True)})
    return PluginWords(
        resource=words.text("resource"),
        per_numa=words.text("per_numa") if "per_numa" in words else None,
        devices=tuple(devices),
        sysfs=words.choice("sysfs", ("gpu", "nic")) if "sysfs" in words else None,
        like=words.choice("like", preset_names()) if "like" in words else None,
        preferred=words.choice("preferred", PREFERENCES, "none"),
        plural=words.flag("plural", False),
        pre_start=words.flag("pre_start", False),
        list=words.choice("list", LISTS, "kept"),
        faults=tuple(str(fault) for fault in words.items("faults")),
    )


def _step(value: Any, place: str, matrix: Mapping[str, tuple[str, ...]]) -> Step:
    words = Words(value, place, (*ACTIONS, "expect"))
    actions = [action for action in ACTIONS if action in words]
    if len(actions) != 1:
        raise UserError(f"{place}: a step does one thing: one of {', '.join(ACTIONS)} (given: {actions or 'none'})")
    action = actions[0]
    what = {
        "admit": _pod,
        "remove": _name,
        "restart": _restart,
        "stop": _stop,
        "lose": _lose,
        "health": _health,
        "offline": _offline,
        "look": _look,
        "start": _name,
    }[action](words.raw(action), f"{place}.{action}")
    raw = words.raw("expect", [])
    expected = raw if isinstance(raw, list) else [raw]
    places = [f"{place}.expect[{i}]" if isinstance(raw, list) else f"{place}.expect" for i in range(len(expected))]
    if action == "admit" and not expected:
        raise UserError(f"{place}: expects nothing; say at least `expect: {{admitted: true}}` or false with its reason")
    return Step(action, what, tuple(_expected(*pair, matrix) for pair in zip(expected, places, strict=True)), place)


def _pod(value: Any, place: str) -> Mapping[str, Any]:
    words = Words(value, place, ("name", "containers"))
    containers = []
    for i, item in enumerate(words.items("containers", least=1)):
        one = Words(item, f"{place}.containers[{i}]", ("name", "requests", "limits", "kind"))
        requests = {name: str(size) for name, size in one.mapping("requests").items()}
        limits = {name: str(size) for name, size in one.mapping("limits").items()} if "limits" in one else None
        kind = one.choice("kind", ("app", "init", "sidecar"), "app")
        containers.append(ContainerWords(one.text("name"), requests, limits, kind))
    names = [container.name for container in containers]
    if len(set(names)) != len(names):
        raise UserError(f"{place}.containers: names repeat: {names}")
    return {"name": words.text("name"), "containers": tuple(containers)}


def _name(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise UserError(f"{place}: {value!r} is no pod's name")
    return value


def _restart(value: Any, place: str) -> str:
    """`node`, or the resource of the plugin to restart."""
    if not isinstance(value, str) or not value:
        raise UserError(f"{place}: {value!r}: write `node`, or the resource whose plugin shall restart")
    return value


def _stop(value: Any, place: str) -> str:
    """The resource of the plugin that shall end; `restart` brings it back."""
    if not isinstance(value, str) or not value or value == "node":
        raise UserError(f"{place}: {value!r}: write the resource whose plugin shall stop")
    return value


def _lose(value: Any, place: str) -> str:
    """What the node shall lose while it is down."""
    if value != "device_checkpoint":
        raise UserError(f"{place}: {value!r}: write `device_checkpoint`: the node restarts, and the file is gone")
    return str(value)


def _health(value: Any, place: str) -> Mapping[str, Any]:
    words = Words(value, place, ("resource", "ids", "healthy"))
    ids = tuple(str(one) for one in words.items("ids", least=1))
    return {"resource": words.text("resource"), "ids": ids, "healthy": words.flag("healthy", False)}


def _offline(value: Any, place: str) -> str:
    """The NUMA node whose last CPU shall go offline."""
    words = Words(value, place, ("last_of_numa",))
    return str(words.number("last_of_numa", 0))


def _look(value: Any, place: str) -> str:
    if value != "machine":
        raise UserError(f"{place}: {value!r}: write `machine`: the tools' views and the node's are compared with it")
    return str(value)


def _expected(value: Any, place: str, matrix: Mapping[str, tuple[str, ...]]) -> Expected:
    words = Words(value, place, EXPECTATIONS)
    nodes = words.raw("nodes")
    if nodes is not None and not _is_nodes(nodes):
        raise UserError(f"{place}.nodes: {nodes!r} is no list of NUMA nodes")
    if words.raw("admitted") is True and "reason" in words:
        raise UserError(f"{place}: an admitted pod has no reason; drop one of admitted, reason")
    return Expected(
        admitted=words.flag("admitted", True) if "admitted" in words else _implied(words),
        reason=words.text("reason") if "reason" in words else None,
        message=words.text("message") if "message" in words else None,
        refuses=words.text("refuses") if "refuses" in words else None,
        aligned=words.choice("aligned", ALIGNMENTS) if "aligned" in words else None,
        numa=words.text("numa") if "numa" in words else None,
        nodes=tuple(nodes) if nodes is not None else None,
        containers={
            name: _container_expected(item, f"{place}.containers.{name}")
            for name, item in words.mapping("containers").items()
        },
        calls={
            resource: _calls(item, f"{place}.calls.{resource}") for resource, item in words.mapping("calls").items()
        },
        metrics=_metrics(words),
        listed=_listed(words),
        allocatable=_container_expected(words.raw("allocatable", {}), f"{place}.allocatable"),
        when=_when(words, matrix),
    )


def _implied(words: Words) -> bool | None:
    """Whether an expectation that does not speak of admission means one: a rejected pod is nowhere, so never right."""
    if "reason" in words:
        return False
    return True if any(key in words for key in ("aligned", "numa", "nodes", "containers")) else None


def _calls(value: Any, place: str) -> dict[str, int]:
    words = Words(value, place, CALLS)
    return {call: words.number(call, 0) for call in CALLS if call in words}


def _metrics(words: Words) -> dict[str, str]:
    """Samples by the names that a scraper reads, in one spelling, with their values after the step."""
    found = {}
    for text, value in words.mapping("metrics").items():
        name = sample_name(text)
        if name is None:
            raise UserError(f'{words.at("metrics")}: {text!r} is no sample; write name or name{{label="value"}}')
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise UserError(f"{words.at('metrics')}.{text}: {value!r} is no size")
        found[name] = str(value)
    return found


def _listed(words: Words) -> dict[str, tuple[str, ...] | None]:
    """Pods with the containers that PodResources shows of them; null: it shows no such pod."""
    found: dict[str, tuple[str, ...] | None] = {}
    for pod, names in words.mapping("listed").items():
        if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise UserError(f"{words.at('listed')}.{pod}: {names!r} is no list of containers; null: no such pod")
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
    "memory_nodes": (_is_nodes, "a list of NUMA nodes"),
    "memory": (_is_sizes, "by resource: a size"),
    "same_cpus_as": (lambda value: isinstance(value, str), "a container's name"),
}


def _container_expected(value: Any, place: str) -> dict[str, Any]:
    words = Words(value, place, tuple(_CONTAINER_KEYS))
    found = {key: words.raw(key) for key in _CONTAINER_KEYS if key in words}
    for key, given in found.items():
        fits, kind = _CONTAINER_KEYS[key]
        if not fits(given):
            raise UserError(f"{words.at(key)}: {given!r} is not {kind}")
    return found


def _when(words: Words, matrix: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Which instances an expectation is for: every value must be one that the matrix has."""
    when = {}
    for key, given in words.mapping("when").items():
        values = tuple(str(value) for value in (given if isinstance(given, list) else [given]))
        for value in values:
            if value not in matrix.get(key, ()):
                known = ", ".join(matrix.get(key, ())) or "none: the matrix has no such key"
                raise UserError(f"{words.at('when')}.{key}: {value!r} is not in the matrix ({known})")
        when[key] = values
    return when


def _check_resources(steps: tuple[Step, ...], offered: set[str]) -> None:
    """A pod may ask only for devices that a plugin of the scenario offers, and only such a plugin may be acted on."""
    for step in steps:
        acted_on = {
            "health": lambda what: what["resource"],
            "restart": lambda what: what,
            "stop": lambda what: what,
        }.get(step.action)
        if acted_on and (resource := acted_on(step.what)) not in {"node", *offered}:
            raise UserError(
                f"{step.place}.{step.action}: no plugin here offers {resource} "
                f"(offered: {', '.join(sorted(offered)) or 'none'})"
            )
        if step.action == "admit":
            for container in step.what["containers"]:
                asked = {name for name in container.requests if "/" in name}
                if missing := sorted(asked - offered):
                    raise UserError(
                        f"{step.place}.admit: asks for {missing[0]}, which no plugin here offers "
                        f"(offered: {', '.join(sorted(offered)) or 'none'})"
                    )
