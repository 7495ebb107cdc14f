"""The file in which a repository keeps its options for `numaproof check`."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs.forms import TRUTH, Form, Key, list_of, one_of, shape
from numaproof.fake_sysfs.strict_yaml import Where, read
from numaproof.harness.conformance.selection import parse_features, refuse_unknown
from numaproof.harness.conformance.surroundings import parse_environment
from numaproof.harness.vocabulary import RUNTIMES
from numaproof.near import did_you_mean

OPTIONS_FILE = "numaproof.yaml"
_SECTION = "check"
_WORD = Form({"type": "string"})
_WORDS = list_of(_WORD)
_SECONDS = Form({"type": "number"})
# What makes sense of a value, and refuses it; what depends on the host, or on where it runs, is judged by the run.
_JUDGES: Mapping[str, Callable[[Any], object]] = {
    "exclude": lambda patterns: refuse_unknown("--exclude", patterns),
    "env": lambda words: [parse_environment(word) for word in words],
    "features": parse_features,
}
# A list adds to what the command line says; anything else is overridden by it.
OPTIONS = shape(
    "options",
    "Options of numaproof check, by the names that they have on the command line.",
    {
        "command": Key(_WORDS, "the plugin's command, word by word; it is started by us"),
        "image": Key(_WORD, "the plugin is in this image (with docker)"),
        "runtime": Key(one_of(RUNTIMES), "where it runs; without it, auto"),
        "machine": Key(_WORD, "the machine that it sees: a preset, a file, ...; without it, the host's own"),
        "supervise": Key(TRUTH, "restart it when it exits, as a DaemonSet would"),
        "bind": Key(_WORDS, "files and directories that it sees: SOURCE:TARGET[:ro]"),
        "env": Key(_WORDS, "variables that it has: NAME=VALUE"),
        "device": Key(_WORDS, "device nodes that it sees: SOURCE[:TARGET]"),
        "host-network": Key(TRUTH, "leave it in the host's network"),
        "unhealthy": Key(_WORD, "a shell command that makes one of its devices unhealthy; goes with healthy"),
        "healthy": Key(_WORD, "a shell command that makes it healthy again; goes with unhealthy"),
        "remove-file": Key(_WORD, "removing this file makes a device unhealthy"),
        "level": Key(one_of(("must", "should", "may")), "check up to this level; without it, all"),
        "strict": Key(TRUTH, "a violated SHOULD fails the run"),
        "exclude": Key(_WORDS, "ids or globs of checks that are left out, such as dp/list/*"),
        "features": Key(_WORD, "take these features as offered, whatever it says: NAME,..."),
        "plugin-version": Key(_WORD, "the plugin's version, for the reports; without it, the label of its image"),
        "known-failures": Key(_WORD, "a file with ids that must still fail, one a line"),
        "timeout": Key(_SECONDS, "seconds for what the plugin has to do; without it, 30"),
        "start-timeout": Key(_SECONDS, "seconds from its start to its registration; without it, 60"),
        "one-by-one": Key(TRUTH, "never run two instances of it at once"),
    },
)
CHECK = shape(
    "check",
    "What a repository says of its device plugin; numaproof check reads it where it runs.",
    {_SECTION: Key(OPTIONS, "options of numaproof check", required=True)},
)


def add_file_options(args: argparse.Namespace) -> Path | None:
    """Take from the file what the command line leaves open. The list of known failures is beside the file; all other
    relative paths start where numaproof runs, as the command does.

    The answer is the file; None: there is none.
    """
    path: Path = args.config or Path(OPTIONS_FILE)
    if args.config is None and not path.is_file():
        return None
    # A subject on the command line, of whatever kind, replaces the file's.
    has_subject = bool(args.subject or args.image or args.dir or args.socket)
    for key, value in _read(path).items():
        name = "subject" if key == "command" else key.replace("-", "_")
        given = getattr(args, name)
        if key == "known-failures" and given is None:
            args.known_failures = path.parent / value
        elif key in {"command", "image"}:
            if not has_subject:
                setattr(args, name, value)
        elif isinstance(value, list):
            setattr(args, name, [*value, *(given or ())])
        elif given is None:
            setattr(args, name, value)
    return path


def _read(path: Path) -> dict[str, Any]:
    document = read(path)
    content = document.value
    if not isinstance(content, dict) or not isinstance(content.get(_SECTION), dict) or set(content) != {_SECTION}:
        raise UserError(f"{path}: not of the form `{_SECTION}: {{option: value, ...}}`")
    options = content[_SECTION]
    for key, value in options.items():
        where = document.where.at(_SECTION).at(key)
        if key not in OPTIONS.keys:
            known = f"{', '.join(OPTIONS.keys)}{did_you_mean(key, OPTIONS.keys)}"
            raise UserError(f"{where}: no such option; known: {known}")
        _check(where, key, value)
    return {key: float(value) if OPTIONS.keys[key].form is _SECONDS else value for key, value in options.items()}


def _judge(where: Where, key: str, value: Any) -> None:
    judge = _JUDGES.get(key)
    if judge is None:
        return
    try:
        judge(value)
    except UserError as error:
        raise UserError(f"{where}: {error}") from error


def _check(where: Where, key: str, value: Any) -> None:
    form = OPTIONS.keys[key].form
    if form.fits(value):
        _judge(where, key, value)
        return
    if form is _WORDS:
        raise UserError(f"{where}: {value!r} is not a list of words; quote numbers")
    if form is _SECONDS:
        raise UserError(f"{where}: {value!r} is not a number")
    if form is TRUTH:
        raise UserError(f"{where}: {value!r} is not true or false")
    if form is _WORD or not isinstance(value, str):
        raise UserError(f"{where}: {value!r} is not a word")
    known = form.words["enum"]
    raise UserError(f"{where}: {value!r} is unknown; known: {', '.join(known)}{did_you_mean(value, known)}")
