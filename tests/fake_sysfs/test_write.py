"""Writing is all or nothing, and a content that many files have is stored once."""

import subprocess
import sys
from pathlib import Path

import pytest

from numaproof.fake_sysfs.catalogue import preset
from numaproof.fake_sysfs.content import Directory, FileContent, Link
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.files import files
from numaproof.fake_sysfs.write import write
from tests.fake_sysfs.on_disk import REPOSITORY, contents, on_a_small_disk
from tests.places import short_directory

FILES: dict[str, FileContent] = {
    "sys/a/one": b"1\n",
    "sys/b/one": b"1\n",
    "sys/b/two": b"2\n",
    "sys/to": Link("a/one"),
    "sys/empty/inner": Directory(),
    "sys/a": Directory(),
    "proc/x": b"",
}
WRITTEN: dict[str, bytes | str | None] = {
    "sys": None,
    "sys/a": None,
    "sys/a/one": b"1\n",
    "sys/b": None,
    "sys/b/one": b"1\n",
    "sys/b/two": b"2\n",
    "sys/to": "-> a/one",
    "sys/empty": None,
    "sys/empty/inner": None,
    "proc": None,
    "proc/x": b"",
}


def test_files_links_and_directories_are_written_and_equal_ones_share_their_bytes() -> None:
    with short_directory() as place:
        write(FILES, place / "tree")
        assert contents(place / "tree") == WRITTEN
        assert (place / "tree/sys/a/one").samefile(place / "tree/sys/b/one")
        assert not (place / "tree/sys/a/one").samefile(place / "tree/sys/b/two")
        assert list(place.iterdir()) == [place / "tree"]


def test_a_tree_is_for_all_to_read_whatever_the_umask() -> None:
    script = """
import os, sys
os.umask(0o077)
from numaproof.fake_sysfs import write
write({"sys/a/one": b"1", "sys/b/one": b"1"}, sys.argv[1] + "/tree")
"""
    with short_directory() as place:
        subprocess.run([sys.executable, "-c", script, str(place)], cwd=REPOSITORY, check=True)
        tree = place / "tree"
        assert {path.stat().st_mode & 0o777 for path in (tree, tree / "sys", tree / "sys/a", tree / "sys/b")} == {0o755}
        assert (tree / "sys/a/one").stat().st_mode & 0o777 == 0o644


def test_a_content_gets_another_file_before_its_links_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["numaproof.fake_sysfs.write"], "MAX_LINKS", 3)
    with short_directory() as place:
        write({f"f{number}": b"same" for number in range(8)}, place / "tree")
        links = sorted((place / "tree" / f"f{number}").stat().st_nlink for number in range(8))
        assert links == [2, 2, 3, 3, 3, 3, 3, 3]


def test_an_empty_directory_may_be_filled_and_anything_else_is_kept() -> None:
    with short_directory() as place:
        (place / "empty").mkdir()
        write(FILES, place / "empty")
        assert contents(place / "empty") == WRITTEN
        (place / "file").write_text("mine")
        (place / "dangling").symlink_to("nowhere")
        (place / "link").symlink_to(place / "empty")
        before = contents(place)
        for name in ("empty", "file", "dangling", "link"):
            with pytest.raises(MachineError, match=f"{name}: exists already"):
                write(FILES, place / name)
        assert contents(place) == before


def test_a_missing_parent_is_told() -> None:
    with short_directory() as place:
        with pytest.raises(MachineError, match="its parent is not a directory; make it first"):
            write(FILES, place / "no" / "tree")
        assert list(place.iterdir()) == []


@pytest.mark.parametrize("last", [{"sys": b"a file where a directory is"}, {"sys/a/one/more": b"below a file"}])
def test_what_cannot_be_written_leaves_nothing(last: dict[str, FileContent]) -> None:
    with short_directory() as place:
        with pytest.raises(MachineError, match="tree: "):
            write({**FILES, **last}, place / "tree")
        assert list(place.iterdir()) == []


def test_an_interruption_leaves_nothing() -> None:
    class Interrupting(dict[str, FileContent]):
        def items(self):  # type: ignore[no-untyped-def]
            yield from FILES.items()
            raise KeyboardInterrupt

    with short_directory() as place:
        with pytest.raises(KeyboardInterrupt):
            write(Interrupting(), place / "tree")
        assert list(place.iterdir()) == []


FULL_DISK = """
import os, sys
from numaproof.fake_sysfs import MachineError, files, preset, write
try:
    write(files(preset("xeon-2s")), sys.argv[1] + "/tree")
except MachineError as error:
    print(error)
print(os.listdir(sys.argv[1]))
"""


@pytest.mark.parametrize("options", ["size=64k", "nr_inodes=500"])
def test_a_full_disk_is_told_in_one_line_and_nothing_is_left(options: str) -> None:
    with short_directory() as disk:
        told, left = on_a_small_disk(FULL_DISK, disk, options).splitlines()
    assert told == f"{disk}/tree: no space is left on the device; nothing was written: free some, or write elsewhere"
    assert left == "[]"


def test_a_machine_takes_a_tenth_of_the_inodes() -> None:
    machine = files(preset("xeon-2s"))
    with short_directory() as place:
        write(machine, place / "tree")
        inodes = {path.lstat().st_ino for path in Path(place / "tree").rglob("*") if path.is_file()}
    regular = [content for content in machine.values() if isinstance(content, bytes)]
    assert len(inodes) == len(set(regular)) < len(regular) / 10
