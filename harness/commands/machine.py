"""`numaproof machine`: machines that do not exist, listed, drawn, written, read, captured, imported and compared."""

import argparse
import dataclasses
import difflib
import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from numaproof import fake_sysfs
from numaproof.fake_sysfs.argument import MACHINE
from numaproof.fake_sysfs.capture import capture
from numaproof.fake_sysfs.catalogue import suite_machine_names
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.importers import import_archive
from numaproof.fake_sysfs.machine import Machine
from numaproof.fake_sysfs.sizes import format_bytes
from numaproof.harness.arguments import Parser, add_command
from numaproof.harness.commands.output_file import write_output
from numaproof.harness.commands.terminal import print_drawing, wants_colour
from numaproof.harness.drawing.headline import headline
from numaproof.harness.drawing.scene import Scene
from numaproof.harness.report.machine_text import full_lines, machine_lines

_UNLIMITED = 1 << 16
_WIDTH = 80  # columns, where there is no terminal
_JSON = (
    "everything that is known, as JSON: name, cpu_model, cpus, caches, nodes, distances, pci, links and more, as a"
    " machine is in numaproof.Machine"
)
_LIST_JSON = (
    "as JSON: `presets` and `scenarios`, lists of machines with name, packages, nodes, cpus, memory in bytes, devices,"
    " cpu_model"
)
_DIFF_JSON = "as JSON: equal, and differing: by part of a machine what only `a` has and what only `b` has"
EXAMPLES = (
    "numaproof machine list",
    "numaproof machine show dgx-a100",
    "numaproof machine show '2 nodes x 16 CPUs, 125Gi' --svg machine.svg",
    "numaproof machine write xeon-2s xeon-tree",
    "numaproof machine read tree --full",
    "numaproof machine capture this-host.tar.gz",
    "numaproof machine import node.tar.gz node-tree",
    "numaproof machine diff xeon-2s machine.yaml",
)


def add_arguments(parser: Parser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    listed = add_command(actions, "list", "the machines that come with numaproof")
    listed.add_argument("--json", action="store_true", help=_LIST_JSON)

    show = add_command(actions, "show", "draw a machine")
    show.add_argument("machine", metavar="MACHINE", help=MACHINE)
    _add_drawing_options(show)

    write = add_command(actions, "write", "write a machine as a tree that holds sys/ and proc/")
    write.add_argument("machine", metavar="MACHINE", help=MACHINE)
    write.add_argument("directory", metavar="DIR", type=Path, help="the tree's directory; must not exist")

    read = add_command(actions, "read", "read a tree, ours or a real /sys, and draw what it says")
    read.add_argument("directory", metavar="DIR", type=Path, help="a folder that holds sys/ and proc/")
    _add_drawing_options(read)

    record = add_command(actions, "capture", "record this host as a snapshot")
    record.add_argument("file", metavar="FILE", type=Path, help="the snapshot: .tar, .tar.gz, .tar.bz2 or .tar.xz")

    take = add_command(actions, "import", "import a snapshot (numaproof, hwloc, lscpu, ghw) as a tree")
    take.add_argument("file", metavar="FILE", type=Path, help="the snapshot's tarball, or a folder with sys/ and proc/")
    take.add_argument("directory", metavar="DIR", type=Path, help="the tree's directory; must not exist")

    compare = add_command(actions, "diff", "compare two machines; exit code 1 when they differ")
    compare.add_argument("a", metavar="A", help=MACHINE)
    compare.add_argument("b", metavar="B", help=MACHINE)
    compare.add_argument("--json", action="store_true", help=_DIFF_JSON)


def _add_drawing_options(parser: Parser) -> None:
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help=_JSON)
    form.add_argument("--full", action="store_true", help="a tree, with a line for every cache, core and CPU")
    form.add_argument(
        "--svg", metavar="FILE", type=Path, help="draw it into this file instead, as a picture; - prints it"
    )


def run(args: argparse.Namespace) -> int:
    actions: Mapping[str, Callable[[argparse.Namespace], int]] = {
        "list": _list,
        "show": _show,
        "write": _write,
        "read": _read,
        "capture": _capture,
        "import": _import,
        "diff": _diff,
    }
    return actions[args.action](args)


def _list(args: argparse.Namespace) -> int:
    names = {"presets": fake_sysfs.preset_names(), "scenarios": suite_machine_names()}
    parts = {part: [_summary(name) for name in names[part]] for part in names}
    if args.json:
        print(json.dumps(parts, indent=2))
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold" if wants_colour() else "")
    table.add_column("NAME")
    for column in ("PACKAGES", "NODES", "CPUS", "MEMORY", "DEVICES"):
        table.add_column(column, justify="right")
    table.add_column("CPU MODEL")
    for part, machines in parts.items():
        if part == "scenarios":
            table.add_row()
            table.add_row("OF THE SCENARIOS")
        for one in machines:
            table.add_row(*(str(value) for value in (one | {"memory": format_bytes(one["memory"])}).values()))
    _print(table)
    return 0


def _summary(name: str) -> dict[str, Any]:
    machine = fake_sysfs.parse_machine(name)
    return {
        "name": name,
        "packages": len(machine.package_ids),
        "nodes": len(machine.nodes),
        "cpus": len(machine.cpu_ids),
        "memory": sum(node.memory for node in machine.nodes),
        "devices": sum(not device.is_bridge for device in machine.devices()),
        "cpu_model": machine.cpu_model,
    }


def _show(args: argparse.Namespace) -> int:
    return _present(fake_sysfs.parse_machine(args.machine), args)


def _read(args: argparse.Namespace) -> int:
    if not args.directory.is_dir():
        raise MachineError(f"{args.directory}: is not a folder; give one that holds sys/ and proc/")
    return _present(fake_sysfs.read(args.directory), args)


def _present(machine: Machine, args: argparse.Namespace) -> int:
    if args.json:
        print(_as_json(machine))
    elif args.svg is not None:
        _draw(machine, args.svg)
    else:
        _print_lines(machine, full=args.full)
    return 0


def _draw(machine: Machine, file: Path) -> None:
    from numaproof.harness.drawing.svg import draw_svg  # noqa: PLC0415 (who reads a text needs no SVG)

    if str(file) == "-":
        print(draw_svg(Scene(machine)), end="")
        return
    write_output(file, draw_svg(Scene(machine)))
    print(f"{file}: {machine.name}: {headline(machine)}")


def _print_lines(machine: Machine, *, full: bool) -> None:
    # Nothing that is piped is coloured, or depends on a terminal; a line of a tree is a line of the output.
    tree_width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    width = tree_width or _WIDTH
    if full:
        lines = full_lines(machine, width, tree_width=tree_width)
    else:
        lines = machine_lines(machine, width, tree_width=tree_width, colour=wants_colour())
    print_drawing(lines)


def _write(args: argparse.Namespace) -> int:
    return _write_tree(fake_sysfs.parse_machine(args.machine), args.directory)


def _write_tree(machine: Machine, directory: Path) -> int:
    fake_sysfs.write(fake_sysfs.files(machine), directory)
    print(f"{directory}: {machine.name}: {headline(machine)}")
    return 0


def _capture(args: argparse.Namespace) -> int:
    count = capture(args.file)
    print(f"{args.file}: {count} files of this host")
    return 0


def _import(args: argparse.Namespace) -> int:
    return _write_tree(import_archive(args.file), args.directory)


def _diff(args: argparse.Namespace) -> int:
    first, second = (_as_lines(fake_sysfs.parse_machine(text)) for text in (args.a, args.b))
    lines = difflib.unified_diff(first, second, fromfile=args.a, tofile=args.b, n=0, lineterm="")
    differences = [line for line in lines if not line.startswith("@@")]
    if args.json:
        print(json.dumps({"equal": not differences, "differing": _by_part(differences[2:])}, indent=2))
    else:
        print("\n".join(differences), end="\n" if differences else "")
    return 1 if differences else 0


def _by_part(lines: Sequence[str]) -> dict[str, dict[str, list[Any]]]:
    """What only one of two machines has, by the part of a machine, from lines such as `+cpus: {...}`."""
    found: dict[str, dict[str, list[Any]]] = {}
    for line in lines:
        part, _, value = line[1:].partition(": ")
        found.setdefault(part, {"a": [], "b": []})["a" if line[0] == "-" else "b"].append(json.loads(value))
    return found


def _as_json(machine: Machine) -> str:
    return json.dumps(dataclasses.asdict(machine), indent=2)


def _as_lines(machine: Machine) -> list[str]:
    """One line for each thing that a machine consists of, so that a difference reads without its surroundings.

    What it is called, and what is said about where its figures come from, makes no other machine of it.
    """
    lines: list[str] = []
    for name, value in dataclasses.asdict(machine).items():
        if name in ("name", "notes"):
            continue
        if isinstance(value, tuple | list):
            lines.extend(f"{name}: {json.dumps(item)}" for item in value)
        else:
            lines.append(f"{name}: {json.dumps(value)}")
    return lines


def _print(table: Table) -> None:
    # Names are data: no markup, no emoji, no colours by guess.
    if sys.stdout.isatty():
        Console(markup=False, emoji=False, highlight=False).print(table)
        return
    # Nothing that is piped is coloured, wrapped or padded.
    console = Console(
        width=_UNLIMITED, markup=False, emoji=False, highlight=False, force_terminal=False, color_system=None
    )
    with console.capture() as text:
        console.print(table)
    for line in text.get().splitlines():
        print(line.rstrip().encode(console.encoding, "backslashreplace").decode(console.encoding))
