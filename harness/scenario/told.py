"""What happens in a scenario, in words for people: pods as they are given to a node, and what their containers get."""

from collections.abc import Iterable, Mapping
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.explain.amounts import amount_text
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.qos import qos_class
from numaproof.harness.pods.quantity import parse_quantity
from numaproof.harness.scenario.outcome import Confined

_MOST_IDS = 8  # of devices, in a line


def pod_told(manifest: Mapping[str, Any]) -> str:
    """A pod by what it asks for: `web: app 4 CPUs, 2 example.com/gpu (Guaranteed)`."""
    spec = manifest["spec"]
    parts = [_container(one, "init ") for one in spec.get("initContainers") or ()]
    parts += [_container(one, "") for one in spec.get("containers") or ()]
    if whole := (spec.get("resources") or {}).get("requests"):
        parts.append(f"as a whole {_amounts(whole)}")
    place = [f"to NUMA node {spec['numaNodeID']}"] if "numaNodeID" in spec else []
    place += [f"to the CPUs {spec['cpuAffinity']}"] if "cpuAffinity" in spec else []
    parts += [f"bound {' and '.join(place)}"] if place else []
    if tolerated := [_toleration(one) for one in spec.get("tolerations") or ()]:
        parts.append(f"tolerates {', '.join(tolerated)}")
    try:
        kind = f" ({qos_class(pod_from(manifest))})"
    except UserError:
        kind = ""  # the node says what is wrong with it: that may be what the story is about
    return f"{manifest['metadata']['name']}: {'; '.join(parts)}{kind}"


def given_told(given: Assignment) -> str:
    """What a container got: `CPUs 0-3, 1 GiB of memory on NUMA 0, example.com/gpu gpu-0 on NUMA 0`."""
    parts = [f"CPUs {format_cpulist(sorted(given.cpus))}"] if given.cpus else []
    parts += [f"{amount_text(block.resource, block.size)} on {_nodes(block.nodes)}" for block in given.memory]
    for resource, devices in given.devices.items():
        by_nodes: dict[tuple[int, ...] | None, list[str]] = {}
        for one in devices:
            by_nodes.setdefault(one.numa, []).append(one.id)
        parts += [f"{resource} {_ids(ids)} on {_nodes(nodes)}" for nodes, ids in by_nodes.items()]
    return ", ".join(parts) or "no CPUs of its own, the shared ones"


def confined_told(cgroup: Confined) -> str:
    """What a bound pod's cgroup keeps it to."""
    memory = f"memory of {_nodes(sorted(cgroup.memory_nodes))}" if cgroup.memory_nodes else "memory of any NUMA node"
    return f"confined to the CPUs {format_cpulist(sorted(cgroup.cpus))} and {memory}"


def _container(container: Mapping[str, Any], kind: str) -> str:
    kind = "sidecar " if container.get("restartPolicy") == "Always" else kind
    resources = container.get("resources") or {}
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    asked = {**limits, **requests}  # what is limited, and not requested, is requested
    told = f"{kind}{container.get('name', '')} {_amounts(asked) or 'nothing in particular'}"
    others = {name: limits[name] for name in asked if name in limits and limits[name] != asked[name]}
    unlimited = [name for name in ("cpu", "memory") if name in asked and name not in limits]
    told += f", at most {_amounts(others)}" if others else ""
    return told + (f", no limit of {' and '.join(unlimited)}" if unlimited else "")


def _amounts(amounts: Mapping[str, Any]) -> str:
    return ", ".join(_amount(name, str(value)) for name, value in amounts.items())


def _amount(name: str, text: str) -> str:
    try:
        amount = parse_quantity(text)
    except UserError:
        return f"{name} {text}"
    return amount_text(name, int(amount)) if amount.denominator == 1 else f"{text} of {name}"


def _toleration(one: Any) -> str:
    if not isinstance(one, Mapping):
        return str(one)
    value = f"={one['value']}" if "value" in one else ""
    return f"{one.get('key', 'any taint')}{value}" + (f":{one['effect']}" if "effect" in one else "")


def _ids(ids: list[str]) -> str:
    more = f" and {len(ids) - _MOST_IDS} more" if len(ids) > _MOST_IDS else ""
    return " ".join(ids[:_MOST_IDS]) + more


def _nodes(nodes: Iterable[int] | None) -> str:
    """NUMA nodes in words; None and no nodes: a device that belongs to none."""
    listed = format_cpulist(sorted(nodes or ()))
    return f"NUMA {listed}" if listed else "no NUMA node"
