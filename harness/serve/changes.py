"""Changes of a question's texts, as remedies say them as data: other amounts, other settings, pods that go."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs.paste import shown
from numaproof.fake_sysfs.strict_yaml import load_all
from numaproof.fake_sysfs.yaml_edit import dumped, with_value, without
from numaproof.harness.decision.config import CPU_OPTIONS, GATES
from numaproof.harness.decision.kubelet_keys import USED
from numaproof.harness.intake.completion import ASSUMED_POLICIES
from numaproof.harness.intake.configuration import read_configuration
from numaproof.harness.intake.manifests import objects
from numaproof.harness.intake.pasted import PastedError, Texts

_HEAD = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}
_DEEPEST = 8  # levels below which a workload has its pod
_SEPARATOR = re.compile(r"^---(?:[ \t][^\n]*)?(?:\n|\Z)", re.MULTILINE)


def changed(texts: Texts, change: Mapping[str, Any]) -> Texts:
    """The texts after a change.

    `pod`: {container: {resource: amount}} as limit and, where there is one, as request; `limits`, `requests`: one of
    these alone; `config`: settings, null takes one away; `remove`: names of running pods.
    """
    ways: Mapping[str, tuple[str, Callable[[Texts, Any], str]]] = {
        "pod": ("pod", lambda told, value: _asking(told.pod, value, ("limits", "requests"))),
        "limits": ("pod", lambda told, value: _asking(told.pod, value, ("limits",))),
        "requests": ("pod", lambda told, value: _asking(told.pod, value, ("requests",))),
        "config": ("config", lambda told, value: _configured(told.config, value)),
        "remove": ("running", lambda told, value: _removed(told.running, value)),
    }
    for what, value in change.items():
        if what not in ways:
            raise UserError(f"change: {shown(what)}: is unknown; known are {', '.join(ways)}")
        field, act = ways[what]
        try:
            texts = replace(texts, **{field: act(texts, value)})  # type: ignore[arg-type]
        except UserError as error:
            told = str(error)
            raise PastedError({field: told if told.startswith(f"{field}:") else f"{field}: {told}"}) from None
    return texts


def _asking(text: str, containers: Any, kinds: tuple[str, ...]) -> str:
    for name, amounts in _table(containers).items():
        for resource, amount in _table(amounts).items():
            text = _with_amount(text, name, resource, amount, kinds)
    return text


def _with_amount(text: str, name: str, resource: str, amount: Any, kinds: tuple[str, ...]) -> str:
    document, path, container = _container(text, name)
    resources = container.get("resources")
    requests = resources.get("requests") if isinstance(resources, dict) else None
    number = int(amount) if isinstance(amount, str) and re.fullmatch(r"[0-9]{1,15}", amount) else amount
    for kind in kinds:
        # A request that is not there is the limit.
        if kind == "requests" and len(kinds) > 1 and not (isinstance(requests, dict) and resource in requests):
            continue
        text = with_value(text, document, (*path, "resources", kind, resource), number)
    return text


def _container(text: str, name: str) -> tuple[int, tuple[str | int, ...], dict[str, Any]]:
    """The document that holds a container, its path there, and what it says."""
    for number, document in enumerate(load_all(text, "pod")):
        for path, spec in _specs(document.value, (), _DEEPEST):
            for kind in ("containers", "initContainers"):
                listed = spec.get(kind)
                for index, one in enumerate(listed if isinstance(listed, list) else ()):
                    if isinstance(one, dict) and one.get("name") == name:
                        return number, (*path, kind, index), one
    raise UserError(f"pod: has no container {shown(name)}; edit the text")


def _specs(
    value: Any, path: tuple[str | int, ...], depth: int
) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """What in a value has containers."""
    if isinstance(value, dict) and "containers" in value:
        yield path, value
    elif depth and isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _specs(one, (*path, key), depth - 1)


def _configured(text: str, settings: Any) -> str:
    wanted = _table(settings)
    text = _as_yaml(text)
    options = wanted.get("cpuManagerPolicyOptions")
    for name, value in options.items() if isinstance(options, dict) else ():
        gate = CPU_OPTIONS.get(name)
        if value == "true" and gate is not None and not GATES[gate]:
            text = with_value(text, 0, ("featureGates", gate), True)
    for path, value in _leaves(wanted, ()):
        text = without(text, 0, path) if value is None else with_value(text, 0, path, value)
    return text


def _as_yaml(text: str) -> str:
    """A configuration as a text in which single settings can be changed: as it is, where it is such a text."""
    if not text.strip():
        return dumped([_HEAD | ASSUMED_POLICIES])
    try:
        documents = [one.value for one in load_all(text, "config")]
    except UserError:
        documents = []
    if len(documents) == 1 and isinstance(documents[0], dict) and not USED.isdisjoint(documents[0]):
        return text
    settings, _notes = read_configuration(text, "config")
    return dumped([_HEAD | {name: one.value for name, one in (settings or {}).items()}])


def _leaves(value: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, one in value.items():
        if isinstance(one, dict):
            yield from _leaves(one, (*path, key))
        else:
            yield (*path, key), one


def _removed(text: str, names: Any) -> str:
    """The text without the pods of some names; those that are left stay as they are written."""
    if not isinstance(names, list):
        raise UserError(f"change: {shown(names)} is not a list; reload the page")
    load_all(text, "running")  # all of it: a fault has its line there, and not the one of its piece
    kept = []
    for piece in _SEPARATOR.split(text):
        documents = load_all(piece, "running")
        found = [one for document in documents for one, _ in objects(document.value, document.where)]
        left = [one for one in found if _name(one) not in names]
        if left == found:
            kept.append(piece)
        elif left:
            kept.append(dumped(left))
    return "---\n".join(one if one.endswith("\n") else f"{one}\n" for one in kept if one.strip())


def _name(manifest: Any) -> str:
    metadata = manifest.get("metadata") if isinstance(manifest, dict) else None
    told = metadata if isinstance(metadata, dict) else {}
    return f"{told.get('namespace', 'default')}/{told.get('name')}"


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UserError(f"change: {shown(value)} is not a table; reload the page")
    return value
