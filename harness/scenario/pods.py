"""The pods of a scenario, written there or in a file of the user's; sized to a machine they are Pod manifests."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from numaproof.errors import UserError
from numaproof.fake_sysfs.forms import Key, list_of, mapping_of, not_beside, one_of, shape
from numaproof.fake_sysfs.strict_yaml import Where, YamlError, read
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.scenario.binding import (
    NOWHERE,
    PLACE,
    TOLERATION,
    Place,
    names_own_taints,
    parse_place,
    parse_toleration,
    speaks_of_places,
)
from numaproof.harness.scenario.fields import TEXT, Fields
from numaproof.harness.scenario.size_words import SIZE, SIZE_WORD, check_filled
from numaproof.harness.scenario.sizes import Sizes

CONTAINER = shape(
    "container",
    "A container of a pod.",
    {
        "name": Key(TEXT, "its name", required=True),
        "requests": Key(mapping_of(SIZE), "by resource how much it asks for: cpu, memory, hugepages-2Mi, a plugin's"),
        "limits": Key(mapping_of(SIZE), "by resource how much it may have; as the requests, if left out"),
        "kind": Key(
            one_of(("app", "init", "sidecar")), "an init container ends before the others start", default="app"
        ),
    },
)
_OF_A_WRITTEN_POD: Mapping[str, Key] = {
    "containers": Key(list_of(CONTAINER, least=1), "its containers, each with a name of its own"),
    "tolerations": Key(list_of(TOLERATION), "the taints that it tolerates, as in Kubernetes, or KEY=VALUE, or KEY"),
    **PLACE,
}
POD = shape(
    "pod",
    "A pod that is given to the node, written here or in a file beside the scenario.",
    {
        "name": Key(TEXT, "its name; of a file's pod another name than it has there"),
        **_OF_A_WRITTEN_POD,
        "file": Key(TEXT, "a Pod manifest beside the scenario; ${half numa.cpus} in it is a size"),
    },
    {"if": {"required": ["file"]}, "else": {"required": ["name", "containers"]}},
    not_beside("file", tuple(_OF_A_WRITTEN_POD)),
)


class PodSpec(Protocol):
    """A pod that a scenario gives to the node."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def containers(self) -> tuple[str, ...]:
        """The names of all its containers."""

    @property
    def lasting(self) -> frozenset[str]:
        """The containers that keep what they get; an init container has ended when the others start."""

    @property
    def resources(self) -> frozenset[str]:
        """The plugins' resources that it asks for."""

    @property
    def is_bound(self) -> bool:
        """Whether it asks for a place of its own, or tolerates taints that give one."""

    def named_nodes(self) -> Iterator[int]:
        """The NUMA nodes that it names, by their positions."""

    def manifest(self, sizes: Sizes, where: str) -> dict[str, Any]:
        """Its Pod manifest on a machine."""


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """A container: its requests (limits equal them unless told otherwise)."""

    name: str
    requests: Mapping[str, str]  # sizes
    limits: Mapping[str, str] | None = None  # None: equal to the requests
    kind: str = "app"  # app | init | sidecar


@dataclass(frozen=True, slots=True)
class WrittenPod:
    """A pod that is written in the scenario; its uid is made of its name."""

    name: str
    specs: tuple[ContainerSpec, ...]
    tolerations: tuple[Mapping[str, Any], ...] = ()
    place: Place = NOWHERE

    @property
    def is_bound(self) -> bool:
        """Whether it asks for a place of its own, or tolerates taints that give one."""
        return self.place != NOWHERE or names_own_taints(self.tolerations)

    def named_nodes(self) -> Iterator[int]:
        """The NUMA nodes that it names, by their positions."""
        return self.place.named_nodes()

    @property
    def containers(self) -> tuple[str, ...]:
        """The names of all its containers."""
        return tuple(spec.name for spec in self.specs)

    @property
    def lasting(self) -> frozenset[str]:
        """The containers that keep what they get."""
        return frozenset(spec.name for spec in self.specs if spec.kind != "init")

    @property
    def resources(self) -> frozenset[str]:
        """The plugins' resources that it asks for."""
        return frozenset(name for spec in self.specs for name in (*spec.requests, *(spec.limits or ())) if "/" in name)

    def manifest(self, sizes: Sizes, where: str) -> dict[str, Any]:
        """Its Pod manifest on a machine."""
        spec: dict[str, Any] = {
            "containers": [_container(one, sizes, where) for one in self.specs if one.kind == "app"]
        }
        if early := [_container(one, sizes, where) for one in self.specs if one.kind != "app"]:
            spec["initContainers"] = early
        if self.tolerations:
            spec["tolerations"] = [dict(one) for one in self.tolerations]
        spec |= self.place.fields(sizes, f"{where}.admit")
        metadata = {"name": self.name, "namespace": "default", "uid": f"uid-{self.name}"}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def written_pod(fields: Fields) -> WrittenPod:
    """The pod of `name`, `containers` and, if they are there, `tolerations`, `numa` and `cpus`."""
    specs = []
    for one in fields.each("containers"):
        limits = one.sizes("limits") if "limits" in one else None
        specs.append(ContainerSpec(one.text("name"), one.sizes("requests"), limits, one.choice("kind")))
    names = [spec.name for spec in specs]
    if len(set(names)) != len(names):
        raise UserError(f"{fields.at('containers')}: names repeat: {names}; give each a name of its own")
    tolerations = tuple(
        parse_toleration(one, fields.at("tolerations").at(i)) for i, one in enumerate(fields.items("tolerations"))
    )
    return WrittenPod(fields.text("name"), tuple(specs), tolerations, parse_place(fields))


def _container(spec: ContainerSpec, sizes: Sizes, where: str) -> dict[str, Any]:
    requests = {name: sizes.resolve(size, where) for name, size in spec.requests.items()}
    if spec.limits is None:
        limits = requests
    else:
        limits = {name: sizes.resolve(size, where) for name, size in spec.limits.items()}
        # Devices and hugepages cannot be overcommitted: what is asked of them is their limit, as the API demands.
        limits |= {name: size for name, size in requests.items() if "/" in name or name.startswith("hugepages-")}
    made: dict[str, Any] = {"name": spec.name, "resources": {"requests": requests, "limits": limits}}
    if spec.kind == "sidecar":
        made["restartPolicy"] = "Always"
    return made


@dataclass(frozen=True, slots=True)
class PodFromFile:
    """A pod of a manifest that a user has: `${half numa.cpus}` in it is a size, all else stays as it is."""

    name: str
    containers: tuple[str, ...]
    lasting: frozenset[str]
    resources: frozenset[str]
    document: Mapping[str, Any]

    @property
    def is_bound(self) -> bool:
        """Whether it asks for a place of its own, or tolerates taints that give one."""
        return speaks_of_places(self.document["spec"])

    def named_nodes(self) -> Iterator[int]:
        """None: a manifest has ids of NUMA nodes, which the node knows or refuses."""
        return iter(())

    def manifest(self, sizes: Sizes, where: str) -> dict[str, Any]:
        """Its Pod manifest on a machine."""
        made: dict[str, Any] = _filled(self.document, lambda text: sizes.filled(text, where))
        return made


def parse_pod(fields: Fields) -> PodSpec:
    """The pod of a file, or the one that is written here."""
    if "file" not in fields:
        return written_pod(fields)
    for key in _OF_A_WRITTEN_POD:
        if key in fields:
            raise UserError(f"{fields.at('file')}: the file has the {key}; drop one of file, {key}")
    return pod_from_file(fields)


def pod_from_file(fields: Fields) -> PodFromFile:
    """The pod of `file`, a manifest beside the scenario; `name` gives it another name. Its namespace is default."""
    path = fields.path("file")
    try:
        found = read(path)
    except YamlError as error:
        raise UserError(f"{fields.at('file')}: {error}") from None
    for where, text in _texts(found.value, found.where):
        check_filled(text, where)
    try:
        document = _renamed(found.value, fields.text("name") if "name" in fields else None)
        # A size stands for some whole number; what it is on a machine is checked there.
        pod = pod_from(_filled(document, lambda text: SIZE_WORD.sub("1", text)))
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    return PodFromFile(
        pod.name,
        tuple(container.name for container in pod.all_containers()),
        frozenset(one.name for one in pod.all_containers() if not pod.is_init(one) or one.restartable),
        frozenset(name for container in pod.all_containers() for name in container.requests if "/" in name),
        document,
    )


def _renamed(manifest: Any, name: str | None) -> Any:
    """A manifest of the namespace in which the driver looks for pods, with another name if there is one."""
    if not isinstance(manifest, Mapping) or not isinstance(manifest.get("metadata"), Mapping):
        return manifest  # which says what is wrong when it is read
    metadata = {**manifest["metadata"], "namespace": "default"}
    if name is not None:
        metadata["name"] = name
        metadata.pop("uid", None)
    return {**manifest, "metadata": metadata}


def _texts(value: Any, where: Where) -> Iterator[tuple[Where, str]]:
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _texts(one, where.at(key))
    elif isinstance(value, list):
        for i, one in enumerate(value):
            yield from _texts(one, where.at(i))


def _filled(value: Any, fill: Callable[[str], str]) -> Any:
    """A copy in which every text is filled."""
    if isinstance(value, str):
        return fill(value)
    if isinstance(value, Mapping):
        return {key: _filled(one, fill) for key, one in value.items()}
    return [_filled(one, fill) for one in value] if isinstance(value, list) else value
