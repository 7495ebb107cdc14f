"""`numaproof schedule`: where pods fit, NUMA node by NUMA node, and what the plain fit check does with them."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from numaproof import fake_sysfs
from numaproof.errors import UserError
from numaproof.fake_sysfs import strict_yaml
from numaproof.fake_sysfs.argument import MACHINE
from numaproof.fake_sysfs.catalogue import machine_names
from numaproof.fake_sysfs.texts.read_text import is_of_a_tool
from numaproof.fake_sysfs.texts.words import are_words
from numaproof.harness.affinity.machine_kind import MachineKind, default_config, machine_kind
from numaproof.harness.affinity.node_topology import NodeTopology
from numaproof.harness.affinity.resource_topology import KIND, object_name
from numaproof.harness.affinity.resource_topology_file import is_resource_topology, resource_topologies
from numaproof.harness.affinity.schedule import schedule, tally
from numaproof.harness.affinity.targets import MachineTarget, Target, ZoneTarget
from numaproof.harness.arguments import Parser
from numaproof.harness.commands.pod_arguments import copies, pods_in
from numaproof.harness.commands.pod_files import LARGEST, documents
from numaproof.harness.decision.config import NodeConfig, config_of, settings_in
from numaproof.harness.report.schedule_text import as_json, table
from numaproof.harness.vocabulary import SEMANTICS

_MACHINE_FILES = (".yaml", ".yml")
_HEAD = 1 << 13  # bytes that tell a text from an archive
_LONGEST = 60  # characters of what a message repeats

Described = MachineKind | NodeTopology
EXAMPLES = (
    "numaproof schedule pod.yaml --nodes xeon-2s dgx-a100",
    "numaproof schedule '100*pod.yaml' --nodes '10*xeon-2s' --config kubelet.yaml",
    "numaproof schedule pod.yaml --nodes topologies.yaml --json",
)


def add_arguments(parser: Parser) -> None:
    """Which pods, which nodes, and how to tell."""
    parser.description = (
        "Place pods on nodes, one after another, by what nodes tell of their NUMA nodes; beside it, what the plain fit "
        "check of whole nodes does with the same pods. Exit code 1: some pods are not admitted."
    )
    parser.add_argument(
        "pods", metavar="POD", nargs="+", help="a file of Pod manifests, or - for stdin; 100*FILE: as many copies"
    )
    parser.add_argument(
        "--nodes",
        metavar="NODE",
        nargs="+",
        required=True,
        help=f"{MACHINE}, or a file of NodeResourceTopology objects; 100*NODE: as many of them",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        help="the KubeletConfiguration of all machines (default: topologyManagerPolicy single-numa-node, "
        "cpuManagerPolicy static, reservedSystemCPUs the first core of the machine)",
    )
    parser.add_argument("--semantics", choices=SEMANTICS, default="current", help="kubelet v1.36, or the KEP's")
    parser.add_argument(
        "--json",
        action="store_true",
        help="as JSON: pods, each with name, namespace, node, numaNodes, admitted, reason; report: counts of both ways",
    )


def run(args: argparse.Namespace) -> int:
    """Print where pods go and the comparison; exit code 1 if one is not admitted."""
    if sum(copies(argument)[1] == "-" for argument in (*args.pods, *args.nodes)) > 1:
        raise UserError("-: stdin can be read once; name it once")
    pods = list(pods_in(args.pods))
    config = None if args.config is None else config_of(settings_in(strict_yaml.read(args.config)), args.semantics)
    nodes = list(_nodes(args.nodes, config, args.semantics))
    _check_names("--nodes", [name for name, _ in nodes], "take COUNT*NODE for copies")
    ways = {}
    for way in ("plain", "predicate"):
        ways[way] = schedule(pods, [_target(name, one) for name, one in nodes], way)
    tallies = {way: tally(placements) for way, placements in ways.items()}
    if args.json:
        print(json.dumps(as_json(ways["predicate"], tallies), indent=2))
    else:
        by_zones = sum(not isinstance(one, MachineKind) for _, one in nodes)
        for line in table(ways["predicate"], tallies, len(nodes), by_zones):
            print(line)
    return 0 if tallies["predicate"].admitted == len(pods) else 1


def _target(name: str, described: Described) -> Target:
    return MachineTarget(name, described) if isinstance(described, MachineKind) else ZoneTarget(described)


# Nodes


def _nodes(arguments: Sequence[str], config: NodeConfig | None, semantics: Any) -> Iterator[tuple[str, Described]]:
    for argument in arguments:
        count, name = copies(argument)
        for own, described in _described(name, config, semantics):
            for one in [own] if count is None else [f"{own}-{number}" for number in range(count)]:
                yield one, described if isinstance(described, MachineKind) else replace(described, name=one)


def _described(name: str, config: NodeConfig | None, semantics: Any) -> Iterator[tuple[str, Described]]:
    objects = _objects(name)
    if objects is not None:
        found = resource_topologies(objects)
        if not found:
            raise UserError(f"{name}: has no {KIND}; give a machine, or the objects of nodes")
        yield from ((node.name, node) for node in found)
        return
    machine = fake_sysfs.parse_machine(name)
    try:
        kind = machine_kind(machine, config or default_config(machine, semantics))
    except UserError as error:
        raise UserError(f"--nodes {name}: {error}") from None
    yield object_name(machine.name), kind


def _objects(name: str) -> list[strict_yaml.Document] | None:
    """The documents of an argument that means objects; None: it means a machine. What a text is, its kind says."""
    if name == "-":
        return documents(name)
    path = Path(name)
    if name in (*machine_names(), "host") or not _is_there(path) or path.is_dir():
        return None
    text = _text_of(path)
    if text is None or _is_of_a_machine(text):  # None: an archive, it may be
        return None
    found = strict_yaml.load_all(text, name)
    if any(is_resource_topology(document.value) for document in found):
        return found
    for document in found:
        if isinstance(document.value, Mapping) and "kind" in document.value:
            what = repr(document.value["kind"])[:_LONGEST]
            raise UserError(f"{document.where.at('kind')}: {what} is no {KIND}; give objects of these, or a machine")
    if path.suffix in _MACHINE_FILES and path.is_file():
        return None
    raise UserError(f"{name}: is a text without a {KIND}; give one, or a machine: in YAML, in a file NAME.yaml")


def _is_of_a_machine(text: str) -> bool:
    """Whether a text tells of a machine as tools or people do; objects have a kind."""
    return "kind" not in text and (is_of_a_tool(text) or are_words(text))


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # of a name that is too long for one: an hwloc string
        return False


def _text_of(path: Path) -> str | None:
    """What a file or a pipe holds, which can be read once only; None: no text."""
    try:
        with path.open("rb") as file:
            content = file.read(_HEAD)
            if b"\0" in content:
                return None
            content += file.read(LARGEST + 1 - len(content))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); give a machine, or the objects of nodes") from None
    if len(content) > LARGEST:
        raise UserError(f"{path}: is larger than {LARGEST} bytes; give it in parts, as files")
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _check_names(where: str, names: Sequence[str], remedy: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise UserError(f"{where}: a node {name} is there twice; {remedy}")
        seen.add(name)
