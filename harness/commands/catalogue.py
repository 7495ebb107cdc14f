"""The subcommands of `numaproof`, and the parser that knows them."""

import importlib
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from types import ModuleType

import numaproof
from numaproof.harness.arguments import Parser, add_command

# What it is called -> what it does. Its module, of the same name beside this, is imported on use: help needs no gRPC.
COMMANDS = {
    "machine": "machines that do not exist: list, show, write, read, capture, import, diff",
    "cost": "find the cheapest set of instances for a request, by the costs between them: solve, graph, explain",
    "explain": "why a pod is admitted or refused on a node, where it would be, and what would help",
    "serve": "a playground in the browser: change a number of a pod or a node, and see what is decided, and why",
    "schedule": "place pods on nodes by their NUMA nodes, and compare with the plain fit check",
    "policies": "compare the Topology Manager's policies for every combination of hints",
    "vectors": "replay recorded decisions of the kubelet",
    "node": "run the reference node, or ask one that runs: status, admit, explain, bind, remove, taint, quota",
    "plugin": "run a fake device plugin",
    "run": "run scenarios against the reference node, on machines that do not exist",
    "check": "check a device plugin against what the kubelet requires of it",
    "init": "write a scenario, a machine or a check file to start from, with comments",
    "schema": "print the JSON Schema of our YAML files, for editors",
    "completion": "print what bash, zsh or fish completes the command line by",
    "image": "find or build the image of the docker runtime",
    "clean": "remove what killed runs left behind",
}
_VERBOSITY = "GRPC_VERBOSITY"
EXAMPLES = (
    "numaproof machine show dgx-a100",
    "numaproof explain pod.yaml --machine '2 nodes x 16 CPUs, 125Gi'",
    "numaproof run multi_numa/conflict --machine xeon-2s",
    "numaproof check -- ./my-plugin",
    "numaproof init scenario",
)


def parser_of(given: Collection[str]) -> Parser:
    """A parser of some commands with their arguments; without any, of all commands by their names alone."""
    parser = Parser(prog="numaproof", description="Prove NUMA alignment without NUMA hardware.", examples=EXAMPLES)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    parser.add_argument("--version", action="version", version=f"numaproof {numaproof.__version__}")
    for name in given:
        module = module_of(name)
        module.add_arguments(add_command(commands, name, COMMANDS[name], examples=module.EXAMPLES))
    for name in () if given else COMMANDS:
        add_command(commands, name, COMMANDS[name])
    return parser


def module_of(command: str) -> ModuleType:
    """The module of a command: its arguments, its examples, and what runs it."""
    with _silent_grpc():
        return importlib.import_module(f"numaproof.harness.commands.{command}")


@contextmanager
def _silent_grpc() -> Iterator[None]:
    """gRPC's core does not print logs of its own on our stderr: it looks for how much when it is imported.

    Whoever asks for them has them; what we start is not told.
    """
    if _VERBOSITY in os.environ:
        yield
        return
    os.environ[_VERBOSITY] = "NONE"
    try:
        yield
    finally:
        del os.environ[_VERBOSITY]
