"""`numaproof vectors`, as a user calls it."""

import gzip
import json
import lzma
import os
import pty
import select
import subprocess
from pathlib import Path
from typing import IO, Any

import pytest

from numaproof.harness.cli import main
from tests.harness.commands.stories import NUMAPROOF
from tests.waiting import wait_until

GOOD: dict[str, Any] = {
    "numa_nodes": [0, 1],
    "distances": None,
    "policy": "restricted",
    "options": {},
    "providers": [{"cpu": [{"mask": [1], "preferred": True}]}],
    "hint": {"mask": [1], "preferred": True},
    "admit": True,
}
WRONG = {**GOOD, "admit": False}


def lines(*cases: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(case).encode() + b"\n" for case in cases)


def kept_open(pipe: Path) -> IO[bytes]:
    """A pipe's end to write to, whether anybody reads it yet or not."""
    return os.fdopen(os.open(pipe, os.O_RDWR), "wb", buffering=0)


def test_plain_and_compressed_files_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / "merge.jsonl", tmp_path / "merge-2.jsonl.xz", tmp_path / "merge-kep.jsonl.gz"]
    files[0].write_bytes(lines(GOOD, GOOD))
    files[1].write_bytes(lzma.compress(lines(GOOD)))
    files[2].write_bytes(gzip.compress(lines(GOOD, GOOD, GOOD)))
    assert main(["vectors", *map(str, files)]) == 0
    assert capsys.readouterr().out == "".join(
        f"{file}: {count} of {count} reproduced\n" for file, count in zip(files, (2, 1, 3), strict=True)
    )


def test_differences_are_shown_and_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "anything.jsonl"
    file.write_bytes(lines(GOOD, WRONG, WRONG, WRONG))
    assert main(["vectors", "--kind", "merge", "--show", "2", str(file)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{file}:2",
        "  admit: recorded False, answered True",
        f"{file}:3",
        "  admit: recorded False, answered True",
        f"{file}: 1 more differ (--show 3 shows all)",
        f"{file}: 1 of 4 reproduced",
    ]


def test_differences_are_told_as_they_occur(tmp_path: Path) -> None:
    pipe = tmp_path / "merge.jsonl"
    os.mkfifo(pipe)
    # Buffered, as it is for a user.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with (
        (tmp_path / "told").open("w") as told,
        subprocess.Popen([*NUMAPROOF, "vectors", str(pipe)], stdout=told, env=environment) as one,
    ):
        with kept_open(pipe) as records:
            records.write(lines(GOOD, WRONG, GOOD))
            wait_until(lambda: f"{pipe}:2\n" in (tmp_path / "told").read_text(), "the difference of line 2")
            records.write(lines(WRONG))
        assert one.wait() == 1
    assert (tmp_path / "told").read_text().splitlines()[-1] == f"{pipe}: 2 of 4 reproduced"


def test_a_terminal_shows_how_far_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "merge.jsonl"
    os.mkfifo(pipe)
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    said = b""

    def is_shown(words: str) -> bool:
        nonlocal said
        while select.select([ours], [], [], 0)[0]:
            said += os.read(ours, 4096)
        return words.encode() in said

    try:
        # Its answer goes to a file: nothing of the line that changes may.
        with (tmp_path / "told").open("w") as told:
            one = subprocess.Popen([*NUMAPROOF, "vectors", str(pipe)], stdout=told, stderr=theirs, env=environment)
        with one, kept_open(pipe) as records:
            records.write(lines(GOOD, WRONG, GOOD))
            wait_until(lambda: is_shown("3 replayed, 1 differ"), "the counts")
            records.write(lines(GOOD))
            wait_until(lambda: is_shown("4 replayed, 1 differ"), "the next counts")
    finally:
        os.close(ours)
        os.close(theirs)
    assert (tmp_path / "told").read_text().splitlines() == [
        f"{pipe}:2",
        "  admit: recorded False, answered True",
        f"{pipe}: 3 of 4 reproduced",
    ]


def test_input_that_the_kubelet_took_and_we_refuse_is_a_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "merge.jsonl"
    file.write_bytes(lines({**GOOD, "policy": "unheard-of"}))
    assert main(["vectors", str(file)]) == 1
    assert 'refused: topologyManagerPolicy: "unheard-of" is unknown' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("merge.jsonl", lines(GOOD) + b"{broken\n", "merge.jsonl:2: is not JSON"),
        ("merge.jsonl", lines(GOOD) + b"[]\n", "merge.jsonl:2: is not a JSON object but list"),
        ("merge.jsonl", lines({"policy": "none"}), "merge.jsonl:1: is not a record of kind merge: KeyError"),
        ("merge.jsonl", lines({**GOOD, "providers": [7]}), "merge.jsonl:1: is not a record of kind merge"),
        ("merge.jsonl", b"\n \n", "merge.jsonl: holds no recorded decision"),
        ("merge.jsonl", b"\xff\xfe\n", "merge.jsonl:1: cannot be read"),
        ("merge.jsonl.xz", b"no archive", "merge.jsonl.xz:1: cannot be read"),
        ("merge.jsonl.gz", gzip.compress(lines(GOOD, GOOD))[:-12], "merge.jsonl.gz:"),
        ("other.jsonl", lines(GOOD), "other.jsonl: the name tells no kind (give --kind, one of: merge"),
    ],
)
def test_bad_files_are_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes, message: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    assert main(["vectors", str(file)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_missing_files_and_kinds_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vectors", str(tmp_path / "merge.jsonl")]) == 2
    assert "cannot be read: No such file or directory" in capsys.readouterr().err
    assert main(["vectors", "--kind", "merges", str(tmp_path)]) == 2
    assert '--kind: "merges" is unknown' in capsys.readouterr().err
