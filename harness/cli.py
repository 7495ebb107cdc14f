"""The `numaproof` command: finds the subcommand, runs it, and turns bad input into one line and exit code 2."""

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Sequence

from fake_sysfs.errors import MachineError
from harness.errors import UserError

# Subcommand -> (what it does, its module). Modules are imported on use: `numaproof --help` needs no gRPC.
COMMANDS = {
    "machine": (
        "machines that do not exist: list, show, write, read, capture, import, diff",
        "harness.commands.machine",
    ),
    "policies": ("compare the Topology Manager's policies for every combination of hints", "harness.commands.policies"),
    "vectors": ("replay recorded decisions of the kubelet", "harness.commands.vectors"),
    "node": ("run the reference node", "harness.commands.node"),
    "plugin": ("run a fake device plugin", "harness.commands.plugin"),
    "run": ("run scenarios against the reference node, on machines that do not exist", "harness.commands.run"),
    "check": ("check a device plugin against what the kubelet requires of it", "harness.commands.check"),
    "image": ("find or build the image of the docker runtime", "harness.commands.image"),
    "clean": ("remove what killed runs left behind", "harness.commands.clean"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; the answer is the exit code: 0 good, 1 what was tested is bad, 2 bad input."""
    _open_closed_streams()
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        print(end="", flush=True)  # a reader that is gone is noticed here, not while the interpreter ends
        return code  # noqa: TRY300 (flushing belongs to what may fail)
    except (UserError, MachineError) as error:
        print(f"numaproof: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader of our output is gone (`numaproof ... | head`): nothing more can be said, and the code is that of
        # any program which the lost pipe ends, not one that calls what was tested good.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="numaproof", description="Prove NUMA alignment without NUMA hardware.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    chosen = arguments[0] if arguments else None
    for name, (summary, module) in COMMANDS.items():
        if chosen in COMMANDS and name != chosen:
            continue  # nobody will ask for it, and scenarios start hundreds of nodes
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name == chosen:
            importlib.import_module(module).add_arguments(command)
    args = parser.parse_args(arguments)
    return int(importlib.import_module(COMMANDS[args.command][1]).run(args))


def _open_closed_streams() -> None:
    """Where whoever started us closed a stream (`>&-`), nothing else may take its number and with it our output."""
    for name in ("stdin", "stdout", "stderr"):  # by their numbers: a file that is opened takes the lowest
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115, PTH123 (for ever)


if __name__ == "__main__":
    sys.exit(main())
