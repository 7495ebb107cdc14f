"""`numaproof machine`: every action does its job, and bad input gets one line, exit code 2, and leaves nothing."""

import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from numaproof import fake_sysfs
from numaproof.fake_sysfs.catalogue import suite_machine_names
from numaproof.harness.cli import main
from tests.fake_sysfs.on_disk import REPOSITORY, contents, on_a_small_disk
from tests.places import short_directory


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as directory:
        yield directory


def output(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    """What `numaproof machine` prints, plain text; its exit code must be `code`."""
    assert main(["machine", *map(str, arguments)]) == code
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "\x1b" not in captured.out
    return captured.out


def refusal(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line with which `numaproof machine` refuses its arguments."""
    assert main(["machine", *map(str, arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("numaproof: ")
    assert captured.err.count("\n") == 1
    return captured.err


def test_list_names_every_preset_and_what_scenarios_run_on(capsys: pytest.CaptureFixture[str]) -> None:
    lines = output(capsys, "list").splitlines()
    presets, others = fake_sysfs.preset_names(), suite_machine_names()
    assert [line.split()[0] for line in lines if line] == ["NAME", *presets, "OF", *others]
    assert lines[len(presets) + 1 :][:2] == ["", "OF THE SCENARIOS"]
    assert lines[0].split()[1:4] == ["PACKAGES", "NODES", "CPUS"]
    epyc = next(line for line in lines if line.startswith("epyc-7742-nps4"))
    assert epyc.split()[1:4] == ["2", "8", "256"]
    assert all(line == line.rstrip() for line in lines)


def test_show_draws_whatever_names_a_machine(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "mine.yaml").write_text("preset: laptop\nname: mine\n")
    output(capsys, "write", "laptop", place / "tree")
    with tarfile.open(place / "shot.tar", "w") as archive:
        archive.add(place / "tree", "tree")
    for argument in ("laptop", place / "mine.yaml", place / "tree", place / "shot.tar"):
        text = output(capsys, "show", argument)
        assert "1 package, 1 NUMA node, 20 CPUs" in text
        # Six cores of two threads and eight of one: cells of CPUs 0 to 19.
        assert " 0 .. .. .. .. .. .. . . . . . . . .\n" in text
        assert "PCI 0000:01:00.0 144d:a80a (NVMe drive)" in text
        assert "L3 24 MiB" in text
    assert "2 packages, 2 NUMA nodes, 8 CPUs" in output(capsys, "show", "pack:2 [numa] core:2 pu:2")
    assert "NUMA node" in output(capsys, "show", "host")


def test_show_has_a_line_for_every_cpu_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    lines = output(capsys, "show", "--full", "laptop").splitlines()
    assert sum("PU P#" in line for line in lines) == 20


def test_show_says_everything_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    said = json.loads(output(capsys, "show", "dgx1-v100", "--json"))
    machine = fake_sysfs.preset("dgx1-v100")
    assert [node["distances"] for node in said["nodes"]] == [[10, 21], [21, 10]]
    assert len(said["cpus"]) == 80
    assert {(link["a"], link["b"]): link["count"] for link in said["links"]} == {
        (link.a, link.b): link.count for link in machine.links
    }


def test_write_and_read_agree(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    said = output(capsys, "write", "laptop", place / "tree")
    assert said.startswith(f"{place}/tree: laptop: 1 package, 1 NUMA node, 20 CPUs, 32 GiB")
    assert fake_sysfs.read(place / "tree") == fake_sysfs.preset("laptop")
    assert output(capsys, "read", place / "tree") == output(capsys, "show", "laptop")
    assert output(capsys, "read", place / "tree", "--json") == output(capsys, "show", "laptop", "--json")


def test_capture_and_import_agree(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    said = output(capsys, "capture", place / "host.tar.gz")
    assert said.startswith(f"{place}/host.tar.gz: ")
    output(capsys, "import", place / "host.tar.gz", place / "tree")
    assert fake_sysfs.read(place / "tree").cpu_ids == fake_sysfs.read("/").cpu_ids


def test_diff_is_silent_when_two_machines_are_alike(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "mine.yaml").write_text("preset: laptop\nname: mine\nnotes: [another name]\n")
    output(capsys, "write", "laptop", place / "tree")
    assert output(capsys, "diff", "laptop", place / "tree") == ""
    assert output(capsys, "diff", "laptop", place / "mine.yaml") == ""


def test_diff_shows_what_differs_and_exits_with_1(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "mine.yaml").write_text("preset: laptop\noffline: 19\n")
    lines = output(capsys, "diff", "laptop", place / "mine.yaml", code=1).splitlines()
    assert lines[:2] == ["--- laptop", f"+++ {place}/mine.yaml"]
    assert [line[0] for line in lines[2:] if "cpus: " in line and '"id": 19' in line] == ["-", "+"]
    assert not any('"id": 18' in line and line.startswith(("-cpus", "+cpus")) for line in lines)


def test_isolated_cpus_are_drawn_and_compared(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "mine.yaml").write_text("preset: laptop\nisolated: 2,4-5\n")
    assert "isolated by the kernel: CPU 2,4-5\n" in output(capsys, "show", place / "mine.yaml")
    assert "Isolated PU P#2,4-5\n" in output(capsys, "show", "--full", place / "mine.yaml")
    lines = output(capsys, "diff", "laptop", place / "mine.yaml", code=1).splitlines()
    assert lines[2:] == ["+isolated: 2", "+isolated: 4", "+isolated: 5"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "no-such-machine"], ["no-such-machine", "xeon-2s"]),
        (["show", "{place}/unknown.yaml"], ["unknown.yaml", "colour"]),
        (["show", "{place}/vfs.yaml"], ["vfs.yaml", "9"]),
        (["show", "{place}/overlap.yaml"], ["overlap.yaml"]),
        (["show", "{place}/matrix.yaml"], ["matrix.yaml"]),
        (["show", "pack:2 nonsense:3"], ["nonsense"]),
        (["read", "{place}/nothing"], ["nothing", "is not a folder"]),
        (["read", "{place}"], ["sys/devices/system"]),
        (["write", "laptop", "{place}/full"], ["full", "exists already"]),
        (["write", "laptop", "{place}/unknown.yaml"], ["unknown.yaml", "exists already"]),
        (["write", "{place}/unknown.yaml", "{place}/new"], ["colour"]),
        (["capture", "{place}/shot.zip"], ["shot.zip", ".tar.gz"]),
        (["capture", "{place}/unknown.yaml"], ["unknown.yaml"]),
        (["import", "{place}/nothing.tar", "{place}/new"], ["nothing.tar", "No such file"]),
        (["import", "{place}/cut.tar.gz", "{place}/new"], ["cut.tar.gz", "truncated"]),
        (["import", "{place}/evil.tar", "{place}/new"], ["evil.tar", "leaves the archive"]),
        (["import", "{place}/empty.tar", "{place}/new"], ["empty.tar", "sys/devices/system/cpu"]),
        (["diff", "laptop", "{place}/nothing"], ["nothing"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_is_refused_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str], place: Path, arguments: list[str], words: list[str]
) -> None:
    (place / "unknown.yaml").write_text("preset: laptop\ncolour: blue\n")
    (place / "vfs.yaml").write_text(
        "preset: laptop\ndevices: [{address: '05:00.0', class: nic, vfs: {total: 8, count: 9}}]\n"
    )
    (place / "overlap.yaml").write_text("packages: 2\ncores: 2\ncpulist: {0: 0-1, 1: 1-2}\n")
    (place / "matrix.yaml").write_text("packages: 2\ncores: 2\ndistances: [[10, 20], [20]]\n")
    (place / "full").mkdir()
    (place / "full/mine").write_text("mine")
    (place / "cut.tar.gz").write_bytes(b"\x1f\x8b\x08\x00cut")
    with tarfile.open(place / "evil.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("../evil"))
    with tarfile.open(place / "empty.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("readme"))
    before = contents(place)
    said = refusal(capsys, *(argument.format(place=place) for argument in arguments))
    assert [word for word in words if word not in said] == []
    assert contents(place) == before


FULL_DISK = """
import sys
from pathlib import Path
from numaproof.harness.cli import main

disk = Path(sys.argv[1])
(disk / "filler").write_bytes(bytes(200 * 1024))
print(main(["machine", "write", "laptop", str(disk / "tree")]))
print(main(["machine", "capture", str(disk / "host.tar")]))
print(sorted(path.name for path in disk.iterdir()))
"""


def test_a_full_disk_leaves_nothing(place: Path) -> None:
    assert on_a_small_disk(FULL_DISK, place, "size=204k") == "2\n2\n['filler']\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_drawing_can_be_piped_whatever_the_encoding(place: Path, encoding: str) -> None:
    (place / "mine.yaml").write_text("preset: laptop\nnotes: [größer als 1 µm]\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "numaproof", "machine", "show", str(place / "mine.yaml")],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONIOENCODING": encoding, "FORCE_COLOR": "1"},
        capture_output=True,
        check=True,
    )
    text = done.stdout.decode(encoding)
    assert "NUMA node 0" in text
    assert "\x1b" not in text
    assert ("größer" in text) == (encoding != "ascii")
    # Latin-1 has no frames either: the drawing is as wide as it is with them.
    assert ("┌" in text) == (encoding == "utf-8")
    assert max(map(len, text.splitlines())) <= 80


def test_show_and_read_draw_a_picture_into_a_file(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    output(capsys, "write", "laptop", place / "tree")
    (place / "old.svg").write_text("an old picture")
    for arguments in (("show", "laptop"), ("read", place / "tree")):
        said = output(capsys, *arguments, "--svg", place / "old.svg")
        assert said.startswith(f"{place}/old.svg: laptop: 1 package")
        picture = ElementTree.fromstring((place / "old.svg").read_text())
        cells = [one.get("data-cpu") for one in picture.iter() if one.get("data-cpu")]
        assert sorted(map(int, filter(None, cells))) == list(range(20))
    assert sorted(path.name for path in place.iterdir()) == ["old.svg", "tree"]


def test_a_picture_may_be_printed(
    capsys: pytest.CaptureFixture[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    output(capsys, "show", "laptop", "--svg", "file.svg")
    assert output(capsys, "show", "laptop", "--svg", "-") == (place / "file.svg").read_text()
    assert [path.name for path in place.iterdir()] == ["file.svg"]


def test_every_machine_that_a_scenario_runs_on_is_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--list", "--json"]) == 0
    machines = {one["machine"] for one in json.loads(capsys.readouterr().out)["instances"]}
    listed = json.loads(output(capsys, "list", "--json"))
    known = {one["name"] for part in listed.values() for one in part}
    by_name = {name for name in machines if re.fullmatch(r"[\w-]+", name)}  # others are hwloc strings
    assert by_name <= known | {"host"}
    for name in sorted(machines):
        assert output(capsys, "show", name, "--json")


@pytest.mark.parametrize(("file", "why"), [("no/such/folder.svg", "No such file"), (".", "directory")])
def test_a_picture_that_cannot_be_written_is_one_line(
    capsys: pytest.CaptureFixture[str], place: Path, file: str, why: str
) -> None:
    told = refusal(capsys, "show", "laptop", "--svg", place / file)
    assert str(place) in told
    assert why in told
    assert list(place.iterdir()) == []


def examples(language: str) -> list[str]:
    """The blocks of the documentation that are written in a language."""
    text = (REPOSITORY / "docs/machines.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("text", examples("yaml"), ids=lambda text: text.split("\n")[0])
def test_the_machine_files_of_the_documentation_are_machines(
    capsys: pytest.CaptureFixture[str], place: Path, text: str
) -> None:
    (place / "machine.yaml").write_text(text)
    assert "NUMA node" in output(capsys, "show", place / "machine.yaml")


def test_the_program_of_the_documentation_changes_a_tree(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "machine.yaml").write_text(examples("yaml")[0])
    fake_sysfs.write(fake_sysfs.files(fake_sysfs.parse_machine(str(place / "machine.yaml"))), place / "tree")
    monkeypatch.chdir(place)
    exec(examples("python")[0], {})
    machine = fake_sysfs.read(place / "tree")
    assert 3 not in machine.cpu_ids
    assert machine.nodes[0].hugepages[0] == fake_sysfs.Hugepages(2048, 512)
    assert [len(device.vfs) for device in machine.devices() if device.total_vfs] == [4]


def test_every_preset_is_in_the_documentation() -> None:
    text = (REPOSITORY / "docs/machines.md").read_text()
    assert [name for name in fake_sysfs.preset_names() if f"`{name}`" not in text] == []
