"""The arguments of a command: what is wrong with them is told in a line with the remedy; help ends with examples."""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NoReturn

from numaproof.errors import UserError
from numaproof.near import did_you_mean

_KINDS = {int: "a whole number", float: "a number"}
_NEGATIVE_NUMBER = re.compile(r"-\d+|-\d*\.\d+")
_LONGEST = 60  # characters of a value that a message repeats
_MISSING = "the following arguments are required: "  # argparse's words, in every version that we know


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises a UserError of one line where another prints its usage and ends the program."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        """`examples`: command lines of this parser and of its commands; each shows those that begin as it does."""
        super().__init__(*args, **kwargs)
        self.examples = tuple(line for line in examples if f"{line} ".startswith(f"{self.prog} "))
        self._given: Sequence[str] = ()

    def add_subparsers(self, **kwargs: Any) -> Any:
        """Commands of this parser know its examples."""
        parser_class: Any = partial(type(self), examples=self.examples)
        return super().add_subparsers(parser_class=parser_class, **kwargs)

    def format_help(self) -> str:
        """The help, and the examples as they are: a line is one, however long it is, to be copied."""
        shown = "".join(f"  {example}\n" for example in self.examples)
        return super().format_help() + (f"\nexamples:\n{shown}" if shown else "")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Namespace and nothing else: what is not known is told by the parser that was given it."""
        self._given = list(sys.argv[1:] if args is None else args)
        self._refuse_mixed()
        values, rest = super().parse_known_args(self._given, namespace)
        if rest:
            self._refuse_unknown()
            raise self._wrong(f"{_shown(rest[0])} {self._apart()}")
        return values, rest

    def error(self, message: str) -> NoReturn:
        """What argparse has no exception for."""
        self._refuse_unknown()
        missing = message.removeprefix(_MISSING)
        if missing != message:
            raise self._missing(missing)
        raise self._wrong(message.removeprefix("argument ").replace(" argument ", " "))

    # What argparse calls where a value is wrong. These are not of its public interface, but as old as it is; where they
    # are not called, `error` tells the same in argparse's words.

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        meant = did_you_mean(value, choices)
        if isinstance(action, argparse._SubParsersAction):
            self._refuse_unknown(until=value)
            kind = str(action.metavar or action.dest).lower()
            known = meant or f"; give one of {', '.join(choices)}"
            raise self._wrong(f"{_shown(value)} is not known as {_a(kind)}{known}")
        raise self._wrong(f"{_named(action)} {_shown(value)}: is not one of {', '.join(choices)}{meant}")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError as error:
            kind = next((words for type_, words in _KINDS.items() if action.type is type_), None)
            what = f"is not {kind}; write one" if kind else error.message
            raise self._wrong(f"{_named(action)} {_shown(arg_string)}: {what}") from None

    def _match_argument(self, action: argparse.Action, arg_strings_pattern: str) -> int:
        try:
            return super()._match_argument(action, arg_strings_pattern)
        except argparse.ArgumentError:
            self._refuse_unknown()
            value = action.metavar or action.dest.upper().replace("_", "-")
            raise self._wrong(f"{_named(action)}: its value is missing; write {_named(action)} {value}") from None

    # Words

    def _wrong(self, what: str) -> UserError:
        place = self.prog.partition(" ")[2]
        return UserError(f"{place}: {what} {self._see()}" if place else f"{what} {self._see()}")

    def _see(self) -> str:
        return f"(all: {self.prog} --help)"

    def _missing(self, names: str) -> UserError:
        for action in self._actions:
            if action.choices is not None and names in (action.metavar, action.dest):
                return self._wrong(f"{names} is missing; give one of {', '.join(map(str, action.choices))}")
        verb, one = ("are", "them") if ", " in names else ("is", "it")
        return self._wrong(f"{names} {verb} missing; give {one}")

    def _apart(self) -> str:
        """What is wrong with an argument that is not an option."""
        several = [action for action in self._get_positional_actions() if action.nargs in ("*", "+")]
        if several:
            return f"stands apart from other arguments of its kind; give every {_named(several[0])} side by side"
        return "is one argument too many; leave it out, or quote what has spaces in it"

    def _refuse_unknown(self, until: object = None) -> None:
        """An option that is not known is the reason of whatever else went wrong behind it."""
        for option in self._unknown_options(until):
            meant = did_you_mean(option, self._option_string_actions)
            raise self._wrong(f"{_shown(option)} is not known{meant}")

    def _refuse_mixed(self) -> None:
        """Behind a command that does not stand behind `--`, nobody knows whose an option is."""
        takes_command = any(str(action.metavar).startswith("-- ") for action in self._get_positional_actions())
        if not takes_command or "--" in self._given or not self._given or self._given[0].startswith("-"):
            return
        for word in self._given:
            if word.startswith("-") and word != "-":
                where = f"{_shown(word)} stands behind {_shown(self._given[0])}"
                raise self._wrong(f"{where}; write -- before a command and its own options")

    def _unknown_options(self, until: object) -> Iterator[str]:
        for word in self._given:
            if word in ("--", until):
                return
            if not word.startswith("-") or word == "-" or " " in word or _NEGATIVE_NUMBER.fullmatch(word):
                continue
            name = word.partition("=")[0]
            known = self._option_string_actions
            is_short = not name.startswith("--") and name[:2] in known
            if not is_short and not any(option.startswith(name) for option in known):
                yield name


def add_command(commands: Any, name: str, summary: str, **more: Any) -> Parser:
    """A subcommand whose help begins with its summary in the list of all."""
    parser: Parser = commands.add_parser(name, help=summary, description=f"{summary[:1].upper()}{summary[1:]}.", **more)
    return parser


def _named(action: argparse.Action) -> str:
    """An option by its longest name, or what an argument stands for."""
    if action.option_strings:
        return max(action.option_strings, key=len)
    return str(action.metavar or action.dest)


def _a(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def _shown(value: object) -> str:
    """A value as a message repeats it, in a line."""
    text = str(value)
    if len(text) > _LONGEST:
        return repr(f"{text[:_LONGEST]}...")
    return text if text.isprintable() and text else repr(text)
