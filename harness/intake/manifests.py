"""The pods of Kubernetes objects that have been read: Pod manifests, lists of them, and what holds a pod's template."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs import strict_yaml
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.pod import Pod

_ENDED = ("Succeeded", "Failed")
_MOST_NODES, _LONGEST = 4, 200  # that a message names, and characters of it
_DEEPEST = 6  # levels below which a workload has its pod template
_WITH_TEMPLATES = frozenset(
    ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "ReplicationController")
)


Found = tuple[Any, strict_yaml.Where]  # a manifest and its place


def pods_among(
    documents: Iterable[strict_yaml.Document], name: str, *, templates: bool = False, running: bool = False
) -> Iterator[Pod]:
    """The pods of a text's documents; `name` is what messages call the text.

    With `templates` workloads count, too: of whatever makes pods the first one; what makes none is passed over, unless
    nothing else is there. With `running` pods that have ended, or are not on a node yet, do not, and all
    others have to be of one node.
    """
    found = [one for document in documents for one in objects(document.value, document.where)]
    if not found:
        raise UserError(f"{name}: is empty; give Pod manifests")
    if templates:
        made = [(_of_template(manifest, where), where) for manifest, where in found]
        found = [one for one in made if not _is_of_another_kind(one[0])] or made
    for manifest, where in _that_run(found, name) if running else found:
        try:
            pod = pod_from(manifest)
        except UserError as error:
            raise UserError(f"{where}: {error}") from None
        yield pod


def distinct(pods: Iterable[Pod], name: str, remedy: str, seen: set[str] | None = None) -> Iterator[Pod]:
    """The pods, of which no two have a name or a uid in common; `seen`: those of pods before, kept up to date."""
    seen = set() if seen is None else seen
    for one in pods:
        key = f"{one.namespace}/{one.name}"
        if key in seen or one.uid in seen:
            raise UserError(f"{name}: pod {key} is there twice; {remedy}")
        seen.update((key, one.uid))
        yield one


def the_pod(pods: Iterable[Pod], name: str, others: str) -> Pod:
    """The one pod of a text; `others`: where further ones belong."""
    found = list(pods)
    if len(found) > 1:
        raise UserError(f"{name}: has {len(found)} pods; give the one to explain, the others {others}")
    return found[0]


def _that_run(found: list[Found], name: str) -> list[Found]:
    """Without the pods that are on no node, which hold nothing."""
    there = [one for one in found if _is_there(one[0])]
    nodes = {told for manifest, _ in there if isinstance(told := _inner(manifest, "spec", "nodeName"), str)}
    if len(nodes) > 1:
        told = ", ".join(sorted(nodes)[:_MOST_NODES])
        raise UserError(f"{name}: has pods of {len(nodes)} nodes ({told[:_LONGEST]}); give those of one spec.nodeName")
    return there


def _is_there(manifest: Any) -> bool:
    """Whether a pod is on a node: it has not ended, nor does it wait for a scheduler; one that has no status is."""
    phase = _inner(manifest, "status", "phase")
    return phase not in _ENDED and (phase != "Pending" or bool(_inner(manifest, "spec", "nodeName")))


def _inner(manifest: Any, part: str, key: str) -> Any:
    inner = manifest.get(part) if isinstance(manifest, Mapping) else None
    return inner.get(key) if isinstance(inner, Mapping) else None


def objects(value: Any, where: strict_yaml.Where) -> Iterator[Found]:
    """A document's object, or those of its list; in a PodList, as the API answers, none has its kind."""
    kind = value.get("kind") if isinstance(value, Mapping) else None
    if not isinstance(kind, str) or not kind.endswith("List"):
        yield value, where
        return
    items, where = value.get("items"), where.at("items")
    if not isinstance(items, list) or not items:
        told = "has nothing in it" if items == [] else "is not a list of pods"
        raise UserError(f"{where}: {told}; give Pod manifests")
    own = {"kind": kind.removesuffix("List")} if kind != "List" else {}
    for index, item in enumerate(items):
        yield ({**own, **item} if isinstance(item, Mapping) else item), where.at(index)


def _is_of_another_kind(manifest: Any) -> bool:
    return isinstance(manifest, Mapping) and isinstance(kind := manifest.get("kind"), str) and kind != "Pod"


def _of_template(manifest: Any, where: strict_yaml.Where) -> Any:
    """The pod that a workload's template makes, under the workload's name; anything else as it is."""
    if not _is_of_another_kind(manifest):
        return manifest
    template = _template(manifest, _DEEPEST)
    if template is None:
        if manifest["kind"] in _WITH_TEMPLATES:
            raise UserError(f"{where}: {manifest['kind']}: has no pod template; give one, or a Pod manifest")
        return manifest
    metadata = manifest.get("metadata")
    named = {key: metadata[key] for key in ("name", "namespace") if isinstance(metadata, Mapping) and key in metadata}
    return {"kind": "Pod", "metadata": named, "spec": template["spec"]}


def _template(value: Any, depth: int) -> Mapping[str, Any] | None:
    """The first thing in a value whose spec has containers."""
    if isinstance(value, Mapping):
        spec = value.get("spec")
        if isinstance(spec, Mapping) and "containers" in spec:
            return value
        inner = list(value.values())
    else:
        inner = value if isinstance(value, list) else []
    found = (_template(one, depth - 1) for one in inner) if depth else ()
    return next((one for one in found if one is not None), None)
