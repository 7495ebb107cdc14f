"""`numaproof completion`: what bash, zsh and fish complete the command line by; shtab writes it from the parsers."""

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec

from numaproof.errors import UserError
from numaproof.fake_sysfs.catalogue import machine_names
from numaproof.harness.commands.catalogue import COMMANDS, parser_of
from numaproof.harness.commands.editor_schema import KINDS as FILE_KINDS
from numaproof.harness.conformance.catalogue import BY_ID
from numaproof.harness.conformance.checks.check import Feature
from numaproof.harness.decision.config import CPU_POLICIES, MEMORY_POLICIES
from numaproof.harness.scenario.selection import shipped_ids, shipped_themes
from numaproof.harness.vectors.kinds import KINDS as VECTOR_KINDS
from numaproof.harness.vocabulary import POLICIES, SCOPES
from numaproof.plugins_mock.boards import BOARDS

# Shell -> where it looks for a user's own completions.
SHELLS: Mapping[str, str] = {
    "bash": "~/.local/share/bash-completion/completions/numaproof",
    "zsh": "_numaproof in a folder of $fpath",
    "fish": "~/.config/fish/completions/numaproof.fish",
}

# What an argument takes, by its metavar or else its name, where the parser itself has no list of choices.
_FILES = {
    "-- CMD ARG",
    "[FILE] -- CMD ARG",
    "FILE",
    "FILE|pci",
    "POD",
    "POD.yaml",
    "COSTS.yaml",
    "PATH",
    "SOCKET",
    "socket",
    "config",
}
_FOLDERS = {"DIR", "dir", "out", "root", "registry"}
_NAMES: Mapping[str, Callable[[], Sequence[str]]] = {
    "THEME": shipped_themes,
    "only": lambda: tuple(BY_ID),
    "exclude": lambda: tuple(BY_ID),
    "NAME,...": lambda: tuple(Feature),
    "KIND": lambda: tuple(FILE_KINDS),
    "kind": lambda: VECTOR_KINDS,
    "board": lambda: tuple(BOARDS),
    "topology_manager_policy": lambda: POLICIES,
    "topology_manager_scope": lambda: SCOPES,
    "cpu_manager_policy": lambda: CPU_POLICIES,
    "memory_manager_policy": lambda: MEMORY_POLICIES,
}
_MACHINES = ("MACHINE", "M", "machine", "A", "B", "NODE")  # a name, or a file
_SCENARIOS = ("FILE|FOLDER|ID",)  # likewise
EXAMPLES = (
    "numaproof completion bash \\\n      > ~/.local/share/bash-completion/completions/numaproof",
    "numaproof completion fish > ~/.config/fish/completions/numaproof.fish",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    places = "; ".join(f"{shell}: {place}" for shell, place in SHELLS.items())
    parser.description = (
        "Print what a shell completes our commands, options, machines, scenarios and checks by. Write it to where "
        f"the shell looks ({places}), again after an upgrade, and open a new shell."
    )
    parser.add_argument("shell", choices=list(SHELLS), metavar="SHELL", help=f"one of {', '.join(SHELLS)}")


def run(args: argparse.Namespace) -> int:
    """Print what the shell reads."""
    if find_spec("shtab") is None:
        raise UserError("completion: needs shtab; install it: pip install 'numaproof[completion]'")
    import shtab  # noqa: PLC0415 (it may not be installed)

    parser = parser_of(COMMANDS)
    for action in _actions(parser):
        values = completed_by(action)
        if isinstance(values, Mapping):
            action.complete = values  # type: ignore[attr-defined]
        elif values is not None:
            action.choices = values
        elif not action.option_strings:
            action.complete = {"zsh": "( )"}  # type: ignore[attr-defined] # else it completes no option beside it
        action.metavar = None  # zsh would take signs in it for its own
    print(shtab.complete(parser, args.shell), end="")
    return 0


def completed_by(action: argparse.Action) -> Iterable[str] | Mapping[str, object] | None:
    """The values of an argument, or what shtab makes them of; None: they cannot be known."""
    import shtab  # noqa: PLC0415 (it may not be installed)

    if action.choices is not None:
        return action.choices
    for key in (action.metavar, action.dest):
        if key in _NAMES:
            return _NAMES[str(key)]()
        if key in _FILES:
            return shtab.FILE
        if key in _FOLDERS:
            return shtab.DIRECTORY
        if key in _MACHINES:
            return _names_or_files("machine", machine_names())
        if key in _SCENARIOS:
            return _names_or_files("scenario", (*shipped_themes(), *shipped_ids()))
    return None


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Every argument of a parser and of its commands that takes a value."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
        elif action.nargs != 0:
            yield action


def _names_or_files(kind: str, names: Sequence[str]) -> Mapping[str, object]:
    """Names of ours, and files beside them: a function of bash and of zsh, a list of fish."""
    words = " ".join(names)
    function = f"_numaproof_{kind}_or_file"
    return {
        "bash": function,
        "zsh": function,
        "fish": f"{words} (__fish_complete_path (commandline -ct))",
        "preamble": {
            "bash": f'{function}() {{ compgen -W "{words}" -- "$1"; compgen -f -- "$1"; }}',
            "zsh": f'{function}() {{ _alternative "{kind}s:{kind}:({words})" "files:file:_files"; }}',
        },
    }
