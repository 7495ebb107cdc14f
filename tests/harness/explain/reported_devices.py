"""Refusals and misplacements that were reported in public, as somebody would paste them, and how they are checked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from numaproof.fake_sysfs import Machine, parse_machine
from numaproof.fake_sysfs.catalogue import preset_description
from numaproof.fake_sysfs.describe import describe
from numaproof.fake_sysfs.section import load_yaml
from numaproof.harness.explain import remarks_devices, remarks_memory
from numaproof.harness.explain.explanation import Explanation, explain
from numaproof.harness.explain.reasons import why
from numaproof.harness.explain.remarks import remarks
from numaproof.harness.intake.assembly import assemble
from numaproof.harness.intake.configuration import read_configuration
from numaproof.harness.intake.cpu_state import read_cpu_state
from numaproof.harness.intake.device_state import read_device_state
from numaproof.harness.intake.memory_state import read_memory_state
from numaproof.harness.intake.plugins_file import read_plugins
from numaproof.harness.intake.state import merge
from numaproof.harness.pods.manifest import pod_from

GIB = 1 << 30
MIB = 1 << 20

_READERS = {
    "cpu_manager_state": read_cpu_state,
    "memory_manager_state": read_memory_state,
    "kubelet_internal_checkpoint": read_device_state,
}

Manifest = Mapping[str, Any]
Amounts = Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class Case:
    """A story that somebody told, what they gave, and what came out as the cause."""

    source: str
    story: str
    machine: str | Mapping[str, Any]  # an hwloc string, a preset, or a machine file
    kubelet: str  # as pasted: YAML or flags
    pod: Manifest
    plugins: Mapping[str, Any] | str = ""  # devices by resource, or the text of a tool
    running: tuple[Manifest, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)  # state files by name
    # What came out.
    reason: str = ""  # the kubelet's; empty: the pod is admitted
    what: str = ""  # what is to blame; empty: nothing
    cause: str = ""
    resource: str = ""
    wanted: int | None = None
    free: Mapping[int, int] | None = None
    shortage: tuple[int, int, int] | None = None  # asked, used by others, there: of the node as a whole
    waits: bool | None = None  # whether it can wait for others to go; None: nobody said
    sources: tuple[str, ...] = ()  # of remarks: parts of them
    helps: tuple[str, ...] = ()  # parts of the texts of remedies
    never: tuple[str, ...] = ()  # parts that no remedy's text has
    says: tuple[str, ...] = ()  # parts of the reasons
    assumes: tuple[str, ...] = ()  # parts of the obstacles and assumptions


def pod(name: str, init: Mapping[str, Amounts] | None = None, /, **containers: Amounts) -> Manifest:
    """A Guaranteed pod: what its containers may have, they ask for."""
    spec: dict[str, Any] = {"containers": [_container(*one) for one in containers.items()]}
    if init:
        spec["initContainers"] = [_container(*one) for one in init.items()]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def asking(name: str, requests: Amounts, limits: Amounts | None = None) -> Manifest:
    """A pod that may have more than it asks for."""
    container = {"name": "app", "image": "example.com/app:1", "resources": {"requests": dict(requests)}}
    if limits:
        container["resources"] = {"requests": dict(requests), "limits": dict(limits)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def _container(name: str, amounts: Amounts) -> Manifest:
    return {"name": name, "image": "example.com/app:1", "resources": {"limits": dict(amounts)}}


def explained(case: Case) -> tuple[Explanation, tuple[str, ...]]:
    """The explanation of a case, and what was assumed."""
    machine = machine_of(case.machine)
    settings, notes = read_configuration(case.kubelet, "kubelet")
    told = case.plugins if isinstance(case.plugins, str) else yaml.safe_dump(dict(case.plugins))
    devices = read_plugins(told, "plugins", machine.cpus_by_node())[0] if told else {}
    state = merge(*(_READERS[name](text, name) for name, text in case.files.items())) if case.files else None
    asking = pod_from(case.pod)
    asked = sorted({name for container in asking.all_containers() for name in container.limits})
    node = assemble(machine, settings, devices, [pod_from(one) for one in case.running], state=state, asked=asked)
    return explain(node.replica, asking, node.history), (*notes, *node.obstacles, *node.assumptions)


def machine_of(told: str | Mapping[str, Any]) -> Machine:
    """The machine of an argument, or of what a machine file says."""
    if isinstance(told, str):
        return parse_machine(told)
    return describe(load_yaml(yaml.safe_dump(dict(told)), "machine"), preset_description)


def check(case: Case) -> None:
    """The explanation says what came out."""
    explanation, assumed = explained(case)
    trace, blame = explanation.trace, explanation.blame
    assert trace.verdict.reason == case.reason
    assert trace.verdict.admitted == (not case.reason)
    if not case.what:
        assert blame is None
    else:
        assert blame is not None
        assert (blame.what, case.resource and blame.resource) == (case.what, case.resource)
        assert not case.cause or blame.cause == case.cause
        if case.wanted is not None or case.free is not None:
            assert blame.stock is not None
            assert case.wanted in (None, blame.stock.wanted)
            assert case.free is None or dict(blame.stock.free) == case.free
        if case.shortage is not None:
            short = blame.shortage
            assert short is not None
            assert (short.requested, short.used, short.capacity) == case.shortage
    assert case.waits in (None, explanation.empty.verdict.admitted)
    found = [f"{one.text} ({one.source})" for one in remarks(explanation)]
    offered = [one.change.text for one in explanation.remedies]
    _have(found, case.sources)
    ours = [one for rule in (*remarks_memory.RULES, *remarks_devices.RULES) for one in rule(explanation)]
    assert not [one.source for one in ours if not any(part in one.source for part in case.sources)]
    _have(offered, case.helps)
    assert not [text for text in offered for part in case.never if part in text]
    _have(why(explanation), case.says)
    _have(assumed, case.assumes)


def _have(texts: Iterable[str], parts: Iterable[str]) -> None:
    told = "\n".join(texts)
    for part in parts:
        assert part in told
