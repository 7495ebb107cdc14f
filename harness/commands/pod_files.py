"""Files of Kubernetes objects as commands take them: Pod manifests, lists of them, and what holds a pod's template."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs import strict_yaml
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.pod import Pod

LARGEST = 256 << 20  # bytes of a file: the objects of some ten thousand nodes
_LISTS = ("List", "PodList")
# What makes pods -> where in its spec the template is.
_WORKLOADS = {
    **dict.fromkeys(
        ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "ReplicationController"), ("template",)
    ),
    "CronJob": ("jobTemplate", "spec", "template"),
}


def pods_of(name: str, *, templates: bool = False) -> Iterator[Pod]:
    """The pods of a file, or of stdin (`-`); with `templates`, of whatever makes pods the first one."""
    found = documents(name)
    if not found:
        raise UserError(f"{name}: is empty; give Pod manifests")
    for document in found:
        if not isinstance(document.value, Mapping) or document.value.get("kind") not in _LISTS:
            yield _pod(document.value, document.where, templates=templates)
            continue
        items, where = document.value.get("items"), document.where.at("items")
        if not isinstance(items, list) or not items:
            raise UserError(f"{where}: is not a list of pods; give Pod manifests")
        yield from (_pod(item, where.at(index), templates=templates) for index, item in enumerate(items))


def documents(name: str) -> list[strict_yaml.Document]:
    """The documents of a file, or of stdin (`-`)."""
    if name == "-":
        try:
            text = sys.stdin.read(LARGEST + 1)
            text.encode()  # some locales decode what is no text into surrogates, which nobody can write again
        except UnicodeError as error:
            start = f" (byte {error.start})" if isinstance(error, UnicodeDecodeError) else ""
            raise UserError(f"stdin: is not UTF-8 text{start}; write YAML") from None
        if len(text) > LARGEST:
            raise UserError(f"stdin: is longer than {LARGEST} characters; give it in parts, as files")
        return strict_yaml.load_all(text, "stdin")
    return strict_yaml.read_all(Path(name), largest=LARGEST)


def _pod(manifest: Any, where: strict_yaml.Where, *, templates: bool) -> Pod:
    try:
        return pod_from(_of_template(manifest) if templates else manifest)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def _of_template(manifest: Any) -> Any:
    """The pod that a workload's template makes, under the workload's name; anything else as it is."""
    if not isinstance(manifest, Mapping) or manifest.get("kind") not in _WORKLOADS:
        return manifest
    template: Any = manifest.get("spec")
    for key in _WORKLOADS[manifest["kind"]]:
        template = template.get(key) if isinstance(template, Mapping) else None
    if not isinstance(template, Mapping):
        raise UserError(f"{manifest['kind']}: has no pod template; give one, or a Pod manifest")
    metadata = manifest.get("metadata")
    named = {key: metadata[key] for key in ("name", "namespace") if isinstance(metadata, Mapping) and key in metadata}
    return {"kind": "Pod", "metadata": named, "spec": template.get("spec")}
