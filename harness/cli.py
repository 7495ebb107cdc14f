"""The `numaproof` command: finds the subcommand, runs it, and turns bad input into one line and exit code 2."""

import importlib
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from types import ModuleType

import numaproof
from numaproof.errors import UserError
from numaproof.harness.arguments import Parser, add_command
from numaproof.harness.ending import ended_by_signals

# Subcommand -> what it does. Its module, of the same name, is imported on use: `numaproof --help` needs no gRPC.
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
EXAMPLES = (
    "numaproof machine show dgx-a100",
    "numaproof explain pod.yaml --machine '2 nodes x 16 CPUs, 125Gi'",
    "numaproof run multi_numa/conflict --machine xeon-2s",
    "numaproof check -- ./my-plugin",
    "numaproof init scenario",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; the answer is the exit code: 0 good, 1 what was tested is bad, 2 bad input."""
    _open_closed_streams()
    with ended_by_signals() as ending:
        code = _outcome(list(sys.argv[1:] if argv is None else argv))
        if ending.signal is None and code != 128 + signal.SIGINT:
            return code
        with suppress(OSError):  # the terminal may be gone
            print(f"numaproof: ended by {ending}", file=sys.stderr)
        return ending.code


def _outcome(arguments: list[str]) -> int:
    """The exit code of a subcommand, if it was not ended by a signal."""
    try:
        code = _run(arguments)
        print(end="", flush=True)  # a reader that is gone is noticed here, not while the interpreter ends
        return code  # noqa: TRY300 (flushing belongs to what may fail)
    except UserError as error:
        print("numaproof:", str(error).replace("\n", "\\n"), file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader of our output is gone (`numaproof ... | head`): nothing more can be said, and the code is that of
        # any program which the lost pipe ends, not one that calls what was tested good.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def whole_parser() -> Parser:
    """The parser of every command, with all of their arguments."""
    return _parser(COMMANDS)


def _run(arguments: list[str]) -> int:
    chosen = arguments[0] if arguments else ""
    # Nobody will ask for the others, and scenarios start hundreds of nodes.
    parser = _parser([chosen]) if chosen in COMMANDS else _parser([], COMMANDS)
    args = parser.parse_args(arguments)
    return int(_module(args.command).run(args))


def _parser(given: Iterable[str], named: Iterable[str] = ()) -> Parser:
    """A parser of some commands with their arguments, and of others by their names alone."""
    parser = Parser(prog="numaproof", description="Prove NUMA alignment without NUMA hardware.", examples=EXAMPLES)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    parser.add_argument("--version", action="version", version=f"numaproof {numaproof.__version__}")
    for name in given:
        module = _module(name)
        module.add_arguments(add_command(commands, name, COMMANDS[name], examples=module.EXAMPLES))
    for name in named:
        add_command(commands, name, COMMANDS[name])
    return parser


def _module(command: str) -> ModuleType:
    return importlib.import_module(f"numaproof.harness.commands.{command}")


def _open_closed_streams() -> None:
    """Where whoever started us closed a stream (`>&-`), nothing else may take its number and with it our output."""
    for name in ("stdin", "stdout", "stderr"):  # by their numbers: a file that is opened takes the lowest
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115, PTH123 (for ever)
