"""Archives from strangers: what is good is unpacked whole, what is not is refused in one line and leaves nothing."""

import bz2
import io
import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from numaproof.fake_sysfs.archive import Limits, pick, unpack
from numaproof.fake_sysfs.content import Directory, Link
from numaproof.fake_sysfs.errors import MachineError
from tests.places import short_directory

Member = tuple[tarfile.TarInfo, bytes]
SMALL = Limits(total=1 << 20, member=1 << 18, members=50)


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty folder for archives."""
    with short_directory() as directory:
        yield directory


def regular(name: str, content: bytes = b"0-3\n") -> Member:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    return info, content


def special(name: str, kind: bytes, link: str = "") -> Member:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = link
    return info, b""


def packed(path: Path, *members: Member, mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return path


def refusal(path: Path, limits: Limits = SMALL) -> str:
    """The one line with which the archive is refused."""
    with pytest.raises(MachineError) as caught:
        unpack(path, limits)
    text = str(caught.value)
    assert "\n" not in text
    assert str(path) in text
    return text


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_files_directories_and_links_are_found(place: Path, mode: str) -> None:
    archive = packed(
        place / "good",
        special("./top", tarfile.DIRTYPE),
        regular("top/sys/cpu/online"),
        regular("top/sys/cpu/online", b"0-7\n"),
        special("top/sys/node/cpu0", tarfile.SYMTYPE, "../cpu"),
        special("top/sys/here", tarfile.SYMTYPE, "."),
        special("top/sys/circle", tarfile.SYMTYPE, "circle"),
        special("top/sys/dangling", tarfile.SYMTYPE, "../gone/memory1"),
        special("top/sys/same", tarfile.LNKTYPE, "./top/sys/cpu/online"),
        mode=mode,
    )
    assert unpack(archive) == {
        "top": Directory(),
        "top/sys/cpu/online": b"0-7\n",
        "top/sys/node/cpu0": Link("../cpu"),
        "top/sys/here": Link("."),
        "top/sys/circle": Link("circle"),
        "top/sys/dangling": Link("../gone/memory1"),
        "top/sys/same": b"0-7\n",
    }
    assert list(place.iterdir()) == [archive]


@pytest.mark.parametrize(
    ("member", "word"),
    [
        (regular("../evil"), "leaves the archive"),
        (regular("sys/../../evil"), "leaves the archive"),
        (regular("/etc/evil"), "absolute"),
        (special("sys/a", tarfile.SYMTYPE, "/etc/passwd"), "leaves the archive"),
        (special("sys/a", tarfile.SYMTYPE, "../../etc"), "leaves the archive"),
        (special("a", tarfile.SYMTYPE, "../etc"), "leaves the archive"),
        (special("sys/a", tarfile.LNKTYPE, "../../etc/passwd"), "leaves the archive"),
        (special("sys/a", tarfile.LNKTYPE, "/etc/passwd"), "absolute"),
        (special("sys/a", tarfile.LNKTYPE, "sys/nothing"), "no file of this archive"),
        (special("sys/null", tarfile.CHRTYPE), "character device"),
        (special("sys/disk", tarfile.BLKTYPE), "block device"),
        (special("sys/pipe", tarfile.FIFOTYPE), "fifo"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value[0].name}:{value[0].linkname or value[0].type!r}",
)
def test_what_leaves_the_archive_or_is_no_plain_file_is_refused(place: Path, member: Member, word: str) -> None:
    assert word in refusal(packed(place / "bad.tar", regular("sys/good"), member))


def test_links_that_leave_only_together_are_refused(place: Path) -> None:
    # By its text, z stays inside (d/e/secret); on disk p is the top, and p/.. is outside.
    archive = packed(
        place / "bad.tar",
        special("d/e/p", tarfile.SYMTYPE, "../.."),
        special("d/e/z", tarfile.SYMTYPE, "p/../secret"),
    )
    assert "d/e/z" in refusal(archive)


@pytest.mark.parametrize("outer", [special("a", tarfile.SYMTYPE, "b"), regular("a")], ids=["link", "file"])
def test_nothing_lies_within_a_link_or_a_file(place: Path, outer: Member) -> None:
    assert "'a', which is not a directory" in refusal(packed(place / "bad.tar", outer, regular("a/f")))
    assert "'a', which is not a directory" in refusal(packed(place / "order.tar", regular("a/f"), outer))


def test_a_hard_linked_file_is_not_changed_by_a_later_member_of_the_other_name(place: Path) -> None:
    archive = packed(place / "good.tar", regular("a", b"1"), special("b", tarfile.LNKTYPE, "a"), regular("b", b"2"))
    assert unpack(archive, SMALL) == {"a": b"1", "b": b"2"}


def test_gigabytes_of_zeros_are_refused(place: Path) -> None:
    assert "no file of a machine's tree" in refusal(
        packed(place / "file.tar.gz", regular("sys/zeros", bytes(SMALL.member + 1)), mode="w:gz")
    )
    many = [*(regular(f"sys/zeros{number}", bytes(SMALL.member)) for number in range(4)), regular("sys/more")]
    assert "unpacks to more than 1 MiB" in refusal(packed(place / "sum.tar.gz", *many, mode="w:gz"))
    count = [regular(f"sys/{number}", b"") for number in range(SMALL.members + 1)]
    assert "more than 50 members" in refusal(packed(place / "count.tar.gz", *count, mode="w:gz"))
    most = SMALL.total + 1024 * SMALL.members
    (place / "stream.bz2").write_bytes(bz2.compress(bytes(most + (1 << 16))))
    assert "unpacks to more than" in refusal(place / "stream.bz2")


def test_a_forged_size_is_refused_before_anything_of_it_is_read(place: Path) -> None:
    # A sparse file claims a terabyte and holds nothing; an extended header claims to be as long.
    sparse = tarfile.TarInfo("sys/sparse")
    sparse.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.name": "sys/sparse"}
    sparse.pax_headers |= {"GNU.sparse.size": str(1 << 40), "GNU.sparse.map": "0,0", "GNU.sparse.numblocks": "1"}
    assert "1099511627776 bytes" in refusal(packed(place / "sparse.tar", (sparse, b"")))
    header = tarfile.TarInfo("long")
    header.type = tarfile.XHDTYPE
    header.size = 1 << 33
    (place / "header.tar").write_bytes(header.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    assert "a header of 8589934592 bytes" in refusal(place / "header.tar")


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_truncated_archive_is_refused_wherever_it_is_cut(place: Path, mode: str) -> None:
    whole = packed(place / "whole", regular("sys/a", os.urandom(3000)), regular("sys/b"), mode=mode).read_bytes()
    # The plain one ends in 10 KiB of padding, of which one block is enough.
    end = len(whole) - 1 if mode != "w" else 512 + 3072 + 1024
    for length in (0, 1, 7, 100, 600, 1500, end - 512, end - 1, end):
        cut = place / f"cut{length}"
        cut.write_bytes(whole[: min(length, end)])
        refusal(cut)


def test_damage_in_the_middle_is_not_taken_for_the_end(place: Path) -> None:
    path = packed(place / "damaged.tar", regular("sys/a"), regular("sys/b"), regular("sys/c"))
    content = bytearray(path.read_bytes())
    content[1024 : 1024 + 512] = b"\xff" * 512  # sys/b's header
    path.write_bytes(content)
    assert "damaged" in refusal(path)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.write_bytes(b"#!/bin/sh\necho no archive\n" * 100), "is not a tar archive"),
        (lambda path: path.write_bytes(b"\x1f\x8bno gzip after all"), "damaged"),
        (lambda path: path.write_bytes(b"BZhello"), "damaged"),
        (lambda path: path.write_bytes(bytes(10240)), "empty archive"),
        (lambda path: path.mkdir(), "not a regular file"),
        (os.mkfifo, "not a regular file"),
        (lambda path: None, "No such file"),
    ],
    ids=["script", "gzip magic", "bzip2 magic", "zeros", "directory", "fifo", "missing"],
)
def test_what_is_no_archive_is_refused(place: Path, make: Callable[[Path], object], words: str) -> None:
    make(place / "thing")
    assert words in refusal(place / "thing")


def test_picking_passes_over_what_nobody_wants(place: Path) -> None:
    members = [
        regular("/a/./wanted", b"1"),
        regular("../wanted", b"2"),
        regular("large", bytes(SMALL.member + 1)),
        regular("other", b"3"),
        special("wanted-too", tarfile.SYMTYPE, "/etc/passwd"),
        special("same", tarfile.LNKTYPE, "a/wanted"),
        special("fifo", tarfile.FIFOTYPE),
        special("device", tarfile.CHRTYPE),
    ]
    found = pick(packed(place / "any.tar", *members), SMALL, lambda name, size: name != "other" and size < 1 << 20)
    assert found == {"a/wanted": b"1", "wanted-too": Link("/etc/passwd"), "same": b"1"}


def test_picking_keeps_the_limits(place: Path) -> None:
    many = packed(place / "many.tar", *(regular(f"f{number}") for number in range(51)))
    with pytest.raises(MachineError, match="holds more than 50 members; that is not the tree of a machine"):
        pick(many, SMALL, lambda _name, _size: False)
    much = packed(place / "much.tar", *(regular(f"f{number}", bytes(SMALL.member)) for number in range(5)))
    with pytest.raises(MachineError, match="unpacks to more than 1 MiB"):
        pick(much, SMALL, lambda _name, _size: True)
    whole = packed(place / "whole.tar", regular("f", b"1"))
    whole.write_bytes(whole.read_bytes()[:1024])
    with pytest.raises(MachineError, match="is truncated or damaged"):
        pick(whole, SMALL, lambda _name, _size: True)
