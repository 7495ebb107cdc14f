"""What the quick controls of the playground show: settings in force, amounts of the pod, and how far each may go."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.decision.config import CPU_OPTIONS, CPU_POLICIES, MEMORY_POLICIES
from numaproof.harness.explain.stock import CPU
from numaproof.harness.intake.question import Answer, Question
from numaproof.harness.pods.pod import Container
from numaproof.harness.pods.quantity import parse_quantity
from numaproof.harness.providers.memory.state import MEMORY
from numaproof.harness.vocabulary import KUBELET_POLICIES, POLICIES, SCOPES

_GIB, _MIB = 1 << 30, 1 << 20
_CLOSEST = "prefer-closest-numa-nodes"


@dataclass(frozen=True, slots=True)
class Control:
    """A setting that can be chosen, switched or typed; `path`: where in a change its value goes, as JSON."""

    label: str
    path: str
    value: str
    choices: tuple[str, ...] = ()  # (): a switch or a text
    is_switch: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of the pod; `unit` is written behind it."""

    container: str
    label: str
    path: str
    value: str
    most: int
    unit: str = ""


def settings_controls(question: Question, told: Answer) -> list[Control]:
    """The settings that matter most, as they are in force."""
    config = told.explanation.replica.setup.config
    policies = POLICIES if config.topology_policy not in KUBELET_POLICIES else KUBELET_POLICIES
    reserved = (question.settings or {}).get("kubeReserved")
    amounts = reserved.value if reserved and isinstance(reserved.value, dict) else {}
    options = {name: str(value).lower() == "true" for name, value in config.cpu_options.items()}
    closest = str(config.topology_options.get(_CLOSEST, "")).lower() == "true"
    return [
        _setting("topology policy", ("topologyManagerPolicy",), config.topology_policy, policies),
        _setting("scope", ("topologyManagerScope",), config.topology_scope, SCOPES),
        _setting("CPU manager", ("cpuManagerPolicy",), config.cpu_policy, CPU_POLICIES),
        _setting("memory manager", ("memoryManagerPolicy",), config.memory_policy, MEMORY_POLICIES),
        _setting("reserved CPUs", ("reservedSystemCPUs",), format_cpulist(config.reserved_cpus), hint="0-1,64"),
        _setting("kubeReserved CPU", ("kubeReserved", CPU), str(amounts.get(CPU, "")), hint="500m"),
        _setting("kubeReserved memory", ("kubeReserved", MEMORY), str(amounts.get(MEMORY, "")), hint="1Gi"),
        *(
            _setting(name, ("cpuManagerPolicyOptions", name), str(options.get(name, False)).lower(), is_switch=True)
            for name in CPU_OPTIONS
        ),
        _setting(_CLOSEST, ("topologyManagerPolicyOptions", _CLOSEST), str(closest).lower(), is_switch=True),
    ]


def _setting(label: str, path: tuple[str, ...], value: str, choices: tuple[str, ...] = (), **more: Any) -> Control:
    return Control(label, json.dumps(["config", *path]), value, choices, **more)


def amounts(question: Question, told: Answer) -> list[Amount]:
    """What each container asks for, and what the node offers besides."""
    machine, setup = question.machine, told.explanation.replica.setup
    offered = {name: len(devices) for name, devices in setup.devices.items()}
    memory = sum(node.memory for node in setup.description.memory_nodes)
    most = {CPU: len(machine.cpu_ids), MEMORY: memory, **offered}
    return [
        amount
        for container in question.pod.all_containers()
        for resource in dict.fromkeys((CPU, MEMORY, *container.limits, *container.requests, *offered))
        for amount in _amounts(container, resource, most.get(resource, 0))
    ]


def _amounts(container: Container, resource: str, most: int) -> Iterator[Amount]:
    """One number where request and limit are the same, as for what is not asked for yet; else two."""
    limit, request = container.limits.get(resource), container.requests.get(resource)
    if limit == request or request is None:
        ways = [("pod", resource, limit or Fraction(0))]
    else:
        ways = [("requests", f"{resource} request", request)]
        ways += [("limits", f"{resource} limit", limit)] if limit is not None else []
    unit, size = _unit(resource)
    for what, label, amount in ways:
        told = amount / size
        path = json.dumps([what, container.name, resource])
        value = str(told.numerator) if told.denominator == 1 else f"{float(told):.3f}".rstrip("0")
        yield Amount(container.name, label, path, value, max(-(-most // size), -(-amount // size), 1), unit)


def _unit(resource: str) -> tuple[str, int]:
    """What an amount is counted in, and how much that is."""
    if resource == MEMORY:
        return "Gi", _GIB
    if resource.startswith("hugepages-"):
        size = int(parse_quantity(resource.removeprefix("hugepages-")))
        return ("Gi", _GIB) if size >= _GIB else ("Mi", _MIB)
    return "", 1
