"""`numaproof init`: a scenario, a machine or a check file to start from, with comments."""

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

from numaproof.errors import UserError
from numaproof.fake_sysfs.argument import MACHINE
from numaproof.harness.arguments import add_command
from numaproof.harness.commands.output_file import refuse_unwritable, write_output
from numaproof.harness.commands.schema import schema_text
from numaproof.harness.commands.starting_points import machine_text, starting_point

_SUFFIXES = (".yaml", ".yml")
# Kind -> the file's usual name, and what to do with it.
_FILES = {
    "scenario": ("scenario.yaml", "numaproof run {file} --runtime process"),
    "machine": ("machine.yaml", "numaproof machine show {file}"),
    "check": ("numaproof.yaml", "numaproof check --config {file}"),
}
_SCHEMA_FOLDER = ".numaproof"
EXAMPLES = (
    "numaproof init scenario",
    "numaproof init machine",
    "numaproof init machine gpus.yaml --from dgx-a100",
    "numaproof init check -- ./my-plugin --verbose",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    about = {
        "scenario": "a story of pods on a node",
        "machine": "a machine that need not exist",
        "check": "the options of numaproof check",
    }
    for kind, (name, _) in _FILES.items():
        one = add_command(kinds, kind, f"write {about[kind]}, with comments: {name}")
        if kind == "check":
            one.add_argument(
                "words", nargs="*", metavar="[FILE] -- CMD ARG", help=f"the file ({name}), and the plugin's command"
            )
        else:
            one.add_argument("words", nargs="?", metavar="FILE", help=f"the file ({name}); - prints it")
        if kind == "machine":
            one.add_argument("--from", dest="start", metavar="MACHINE", help=f"a machine to start from: {MACHINE}")
        one.add_argument("--force", action="store_true", help="replace a file that is there")
        one.add_argument(
            "--schema",
            metavar="WHERE",
            help=f"where the editor finds the JSON Schema (default: a file in {_SCHEMA_FOLDER}, which is written, too)",
        )


def run(args: argparse.Namespace) -> int:
    """Write the file, and the schema by which an editor judges it."""
    usual, use = _FILES[args.kind]
    name, command = _file_and_command(args.words if isinstance(args.words, list) else [args.words or usual], usual)
    if any(character in (args.schema or "") for character in "\n\r"):
        raise UserError("--schema: holds a line break; give a path or an address")
    beside = f"{_SCHEMA_FOLDER}/{args.kind}.schema.json"
    start = getattr(args, "start", None)
    body = machine_text(start) if start is not None else starting_point(args.kind, command)
    text = f"# yaml-language-server: $schema={args.schema or beside}\n{body}"
    if name == "-":
        print(text, end="")
        return 0
    path = Path(name)
    if path.suffix not in _SUFFIXES:
        raise UserError(f"{name}: the name of a {args.kind} file ends in {' or '.join(_SUFFIXES)}; rename it")
    if not args.force and (path.exists() or path.is_symlink()):
        raise UserError(f"{name}: is there already; give another name, or --force to replace it")
    refuse_unwritable(path)  # by its own name, not the schema's
    made = [] if args.schema is not None else _write_schema(path.parent / beside, args.kind)
    try:
        write_output(path, text)
    except UserError:
        for one in made:
            one.rmdir() if one.is_dir() else one.unlink()
        raise
    print(f"{name}: a {args.kind} to start from; {use.format(file=shlex.quote(name))}")
    return 0


def _file_and_command(words: Sequence[str], usual: str) -> tuple[str, list[str]]:
    """The first word is a file where its name is that of one; all others are a command."""
    if words and (words[0] == "-" or words[0].endswith(_SUFFIXES) or usual != _FILES["check"][0]):
        return words[0], list(words[1:])
    return usual, list(words)


def _write_schema(schema: Path, kind: str) -> list[Path]:
    """Write the schema beside a file, the newest there is; the answer is what was not there before, innermost first."""
    made = [one for one in (schema, schema.parent) if not one.exists()]
    try:
        schema.parent.mkdir(exist_ok=True)
        write_output(schema, schema_text(kind))
    except (OSError, UserError) as error:
        if schema.parent in made and schema.parent.is_dir():
            schema.parent.rmdir()
        told = f"{schema}: cannot be written ({error.strerror})" if isinstance(error, OSError) else str(error)
        raise UserError(f"{told}; or give --schema, and no schema is written") from None
    return made
