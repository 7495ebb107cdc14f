"""`numaproof vectors`: replays recorded decisions of the kubelet and says how many come out the same."""

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numaproof.harness.arguments import Parser
from numaproof.harness.commands.live_line import is_live, live_line
from numaproof.harness.vectors.kinds import KINDS, RecordKind, find_kind, kind_of
from numaproof.harness.vectors.replay import Outcome, replay_file

EXAMPLES = (
    "numaproof vectors merge.jsonl.xz",
    "numaproof vectors recorded.jsonl --kind cpu-hints --show 20",
)


def add_arguments(parser: Parser) -> None:
    """Files, how to read them, and how much to show."""
    parser.description = f"{parser.description} Exit code 1: some come out otherwise than recorded."
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="recorded decisions: .jsonl, .jsonl.xz, .jsonl.gz"
    )
    parser.add_argument(
        "--kind", "--family", help=f"what the files record, if their names do not tell: {', '.join(KINDS)}"
    )
    parser.add_argument(
        "--show", type=int, default=5, metavar="N", help="show the first N differences a file (default 5)"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="as JSON: `files`, each with file, kind, total, reproduced, and all of differing: line, details",
    )


def run(args: argparse.Namespace) -> int:
    """Exit code 0 if every line of every file is reproduced, 1 if not."""
    jobs = [(path, find_kind(args.kind) if args.kind else kind_of(path)) for path in args.files]
    files = []
    all_reproduced = True
    for path, kind in jobs:
        with _watched(path, 0 if args.json else args.show) as tell:
            outcome = replay_file(path, kind, tell)
        all_reproduced = all_reproduced and not outcome.differing
        if args.json:
            files.append(_as_json(outcome, kind))
        else:
            _tell_rest(outcome, args.show)
            print(f"{path}: {outcome.reproduced} of {outcome.total} reproduced", flush=True)
    if args.json:
        print(json.dumps({"files": files}, indent=2))
    return 0 if all_reproduced else 1


def _as_json(outcome: Outcome, kind: RecordKind) -> dict[str, Any]:
    return {
        "file": str(outcome.path),
        "kind": kind.name,
        "total": outcome.total,
        "reproduced": outcome.reproduced,
        "differing": [{"line": one.line, "details": one.details} for one in outcome.differing],
    }


@contextmanager
def _watched(path: Path, most: int) -> Iterator[Callable[[Outcome], None]]:
    """What prints the first differences as they occur, and in a terminal how far the file is."""
    printed = 0

    def show_new(outcome: Outcome) -> None:
        nonlocal printed
        for difference in outcome.differing[printed : max(most, 0)]:
            details = "".join(f"  {detail}\n" for detail in difference.details)
            print(f"{path}:{difference.line}\n{details}", end="", flush=True)
            printed += 1

    if not is_live():
        yield show_new
        return
    with live_line() as (_, say):

        def tell(outcome: Outcome) -> None:
            show_new(outcome)
            say(f"{path}: {outcome.total} replayed, {len(outcome.differing)} differ")

        yield tell


def _tell_rest(outcome: Outcome, most: int) -> None:
    hidden = len(outcome.differing) - max(most, 0)
    if hidden > 0:
        print(f"{outcome.path}: {hidden} more differ (--show {len(outcome.differing)} shows all)")
