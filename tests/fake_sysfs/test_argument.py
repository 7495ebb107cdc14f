"""What a machine argument may be, and which of several readings comes first."""

import gzip
import os
from dataclasses import replace
from pathlib import Path

import pytest

from numaproof.fake_sysfs.argument import parse_machine
from numaproof.fake_sysfs.catalogue import (
    SUITE_MACHINES,
    machine_beside,
    preset,
    preset_names,
    preset_text,
    suite_machine_names,
)
from numaproof.fake_sysfs.errors import MachineError
from tests.fake_sysfs.test_importers import MACHINE as SNAPSHOT
from tests.fake_sysfs.test_importers import packed, snapshot
from tests.fake_sysfs.texts.test_read_lscpu import OLD
from tests.fake_sysfs.texts.test_read_lstopo import TWO as XML
from tests.fake_sysfs.texts.test_read_numactl import TWO as NUMACTL
from tests.places import short_directory

TEXTS = {"numactl": (NUMACTL, 16), "lscpu": (OLD, 8), "lstopo": (XML, 4), "words": ("2 nodes x 3 CPUs\n", 6)}


@pytest.mark.parametrize("file", ["machine", "machine.txt", "machine.xml", "numactl -H", "machine.tar"])
@pytest.mark.parametrize("kind", TEXTS)
def test_a_file_with_a_text_is_a_machine_whatever_its_name(kind: str, file: str) -> None:
    text, cpus = TEXTS[kind]
    with short_directory() as place:
        path = place / file
        path.write_text(text)
        machine = parse_machine(str(path))
    assert len(machine.cpus) == cpus
    assert machine.name == Path(file).stem


@pytest.mark.parametrize("kind", ["numactl", "lscpu", "lstopo"])
def test_a_tools_text_in_a_file_that_is_called_yaml_is_read(kind: str) -> None:
    text, cpus = TEXTS[kind]
    with short_directory() as place:
        (place / "machine.yaml").write_text(text)
        assert len(parse_machine(str(place / "machine.yaml")).cpus) == cpus


def test_a_machine_file_stays_one_though_a_tools_text_is_in_its_comments() -> None:
    comments = "".join(f"# {line}\n" for line in NUMACTL.splitlines())
    with short_directory() as place:
        path = place / "mine.yaml"
        path.write_text(comments + "cores: 3\n")
        assert len(parse_machine(str(path)).cpus) == 3
        path.write_text(comments + "coars: 3\npackages: 1\n")
        with pytest.raises(MachineError, match="coars: unknown key"):
            parse_machine(str(path))


def test_words_and_a_text_may_be_the_argument_itself() -> None:
    machine = parse_machine("2 nodes x 16 CPUs, 125Gi")
    assert (machine.name, len(machine.cpus)) == ("2 nodes x 16 CPUs, 125Gi", 32)
    assert len(parse_machine(NUMACTL).cpus) == 16
    assert len(parse_machine(XML).cpus) == 4


def test_a_pipe_is_read_once_as_a_text() -> None:
    """As in --machine <(lscpu)."""
    reading, writing = os.pipe()
    try:
        with os.fdopen(writing, "w") as pipe:
            pipe.write(OLD)
        assert len(parse_machine(f"/dev/fd/{reading}").cpus) == 8
    finally:
        os.close(reading)


def test_a_tarball_stays_one_compressed_or_not() -> None:
    with short_directory() as place:
        path = packed(snapshot(), place / "old.tar.gz")
        assert parse_machine(str(path)) == SNAPSHOT
        (place / "old.txt").write_bytes(gzip.decompress(path.read_bytes()))
        assert parse_machine(str(place / "old.txt")) == replace(SNAPSHOT, name="old.txt")


def test_older_kinds_of_argument_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_machine("xeon-2s") is preset("xeon-2s")
    assert len(parse_machine("2 3 4").cpus) == 24
    assert parse_machine("pack:2 [numa] core:2 pu:2").node_ids == (0, 1)
    with short_directory() as place:
        monkeypatch.chdir(place)
        Path("laptop").write_text(NUMACTL)
        assert parse_machine("laptop") == preset("laptop")
        Path("2 nodes x 4 CPUs").write_text("1 node, 2 CPUs")
        assert len(parse_machine("2 nodes x 4 CPUs").cpus) == 2
        Path("own.yaml").write_text(preset_text("laptop"))
        assert parse_machine("own.yaml").cpus == preset("laptop").cpus


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a text about machines\n", "is not a tar archive, nor does it tell of a machine; give a name "),
        (b"", "nor does it tell of a machine"),
        (b"\x1f\x8bnot gzip", "is truncated or damaged"),
        (b"\0" * 100, "archive"),
        (b"NUMA node0 CPU(s): 0-3,\xff\xfe\n", None),
        (b"x" * (17 << 20), "is larger than 16 MiB"),
    ],
    ids=["prose", "empty", "gzip", "zeros", "odd bytes", "large"],
)
def test_a_file_that_is_no_machine_is_refused_in_a_line(content: bytes, words: str | None) -> None:
    with short_directory() as place:
        path = place / "file"
        path.write_bytes(content)
        with pytest.raises(MachineError) as caught:
            parse_machine(str(path))
        line = str(caught.value)
    assert line.startswith(f"{path}: ")
    assert "\n" not in line
    assert words is None or words in line


def test_an_argument_that_is_nothing_is_told_what_there_is() -> None:
    with pytest.raises(MachineError, match=r"words such as `2 nodes x 16 CPUs, 125Gi`, `host` nor a known name"):
        parse_machine("xeon")
    with pytest.raises(MachineError, match=r"^machine '2 nodes x 8 bananas': '8 bananas': says nothing of a machine"):
        parse_machine("2 nodes x 8 bananas")


@pytest.mark.parametrize("name", suite_machine_names())
def test_a_machine_of_the_scenarios_goes_by_its_name(name: str) -> None:
    assert parse_machine(name) == parse_machine(str(SUITE_MACHINES / f"{name}.yaml"))


def test_no_machine_of_the_scenarios_hides_behind_a_preset() -> None:
    assert len(suite_machine_names()) > 5
    assert set(suite_machine_names()).isdisjoint(preset_names())


def test_a_path_without_its_ending_is_not_a_name() -> None:
    with short_directory() as place:
        (place / "mine.yaml").write_text("preset: laptop\n")
        assert machine_beside(place, "mine") == place / "mine.yaml"
        assert machine_beside(place.parent, f"{place.name}/mine") is None
        with pytest.raises(MachineError, match="is neither a file"):
            parse_machine(str(place / "mine"))
