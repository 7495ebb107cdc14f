"""The `numaproof` command: finds the subcommand, runs it, and turns bad input into one line and exit code 2."""

import os
import select
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

from numaproof.errors import UserError
from numaproof.harness.commands.catalogue import COMMANDS, module_of, parser_of
from numaproof.harness.ending import ended_by_signals


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; the answer is the exit code: 0 good, 1 what was tested is bad, 2 bad input."""
    _open_closed_streams()
    with ended_by_signals() as ending:
        code = _outcome(list(sys.argv[1:] if argv is None else argv))
        if ending.signal is None and code != 128 + signal.SIGINT:
            return code
        with suppress(OSError):  # the terminal may be gone
            print(f"numaproof: ended by {ending}", file=sys.stderr)
        with suppress(OSError):  # it may be no file
            # Or the interpreter would wait at its end for a reader that takes nothing.
            if not select.select([], [sys.stdout], [], 0)[1]:
                _discard_output()
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
        _discard_output()
        return 128 + signal.SIGPIPE
    except OSError:
        if (why := _why_output_is_stuck()) is None:
            raise
        _discard_output()
        print(f"numaproof: standard output: cannot be written ({why}); give another place", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _run(arguments: list[str]) -> int:
    chosen = arguments[0] if arguments else ""
    # Nobody will ask for the others, and scenarios start hundreds of nodes.
    args = parser_of([chosen] if chosen in COMMANDS else []).parse_args(arguments)
    return int(module_of(args.command).run(args))


def _why_output_is_stuck() -> str | None:
    """What keeps our output from being written, as on a full disk; None: nothing does, the fault is another one."""
    try:
        print(flush=True)  # what failed before may be lost, and nothing left to flush
    except OSError as error:
        return error.strerror
    return None


def _discard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_closed_streams() -> None:
    """Where whoever started us closed a stream (`>&-`), nothing else may take its number and with it our output."""
    for name in ("stdin", "stdout", "stderr"):  # by their numbers: a file that is opened takes the lowest
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115, PTH123 (for ever)
