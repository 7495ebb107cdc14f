"""Files that commands write: whole or not at all, and never in the place of a device or a link."""

import os
from pathlib import Path

import pytest

from numaproof.errors import UserError
from numaproof.harness.commands.output_file import remove_output, write_output


def test_a_file_is_replaced_whole_and_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("old")
    before = file.open()
    write_output(file, "new \u2502")
    assert file.read_text(encoding="utf-8") == "new \u2502"
    assert before.read() == "old"  # whoever had it open has not seen half of it
    before.close()
    assert file.stat().st_mode & 0o777 == 0o644
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("name", ["no/such/folder", "folder", "x" * 300])
def test_what_cannot_be_written_is_said_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match=r"cannot be written \(.+\); choose another place"):
        write_output(tmp_path / name, "text")
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_output(pipe, "text")
    assert os.read(reader, 100) == b"text"
    os.close(reader)
    assert pipe.is_fifo()


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    link = tmp_path / "latest.svg"
    link.symlink_to("drawn.svg")
    write_output(link, "text")
    assert link.is_symlink()
    assert (tmp_path / "drawn.svg").read_text() == "text"


def test_of_an_earlier_run_only_a_file_is_removed(tmp_path: Path) -> None:
    file, link, pipe = (tmp_path / name for name in ("page.html", "stdout", "pipe"))
    file.write_text("old")
    link.symlink_to("elsewhere")
    (tmp_path / "elsewhere").write_text("printed")
    os.mkfifo(pipe)
    for path in (file, link, pipe, tmp_path / "none"):
        remove_output(path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "pipe", "stdout"]
    assert (tmp_path / "elsewhere").read_text() == "printed"
