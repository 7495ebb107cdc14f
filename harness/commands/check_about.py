"""What `numaproof check` says of its own making in its reports, and the command line that makes the run again."""

import argparse
import shlex
from collections.abc import Iterable

from numaproof.harness.conformance.about import About

_VALUES = (
    *("image", "dir", "socket", "runtime", "machine", "unhealthy", "healthy", "remove_file"),
    *("features", "timeout", "start_timeout", "plugin_version", "config"),
)
_LISTS = ("bind", "device")
_SWITCHES = ("supervise", "host_network", "strict", "one_by_one")


def about_of(given: argparse.Namespace, args: argparse.Namespace, *, runtime: str, image: str, version: str) -> About:
    """`given`: the arguments as they were typed; `args`: with those of the file. A version that was told wins."""
    return About(
        subject=_subject(args),
        version=_text(args.plugin_version or version),
        image=_text(image),
        machine=_text(args.machine if args.machine and args.machine != "host" else "this host's own"),
        runtime=runtime,
        options=tuple(map(_text, _options(given))),
        command=tuple(_text(shlex.quote(word)) for word in given.subject),
    )


def _subject(args: argparse.Namespace) -> str:
    if args.dir:
        return _text(f"runs already, and registers in {args.dir}")
    if args.socket:
        return _text(f"runs already, with the socket {args.socket}")
    return _text(shlex.join(args.subject)) or _text(f"the command of {args.image}")


def _options(given: argparse.Namespace) -> Iterable[str]:
    """As a shell takes them; of a variable not the value, which may be a secret, but where the shell has it."""
    for name in (*_VALUES, *_LISTS):
        value = getattr(given, name)
        for word in value if isinstance(value, list) else [value]:
            if word is not None:
                yield f"{_flag(name)} {shlex.quote(f'{word:g}' if isinstance(word, float) else str(word))}"
    for variable in given.env or ():
        name = variable.partition("=")[0]
        yield f'--env {name}="${name}"' if name.isidentifier() else shlex.quote(f"--env={name}=...")
    for name in _SWITCHES:
        if getattr(given, name):
            yield _flag(name)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _text(words: str) -> str:
    """What no encoding has, as arguments may hold it, becomes `?`."""
    return words.encode("utf-8", "replace").decode()
