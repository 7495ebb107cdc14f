"""A run leaves a picture of each of its machines."""

from pathlib import Path

from numaproof.fake_sysfs import parse_machine
from numaproof.harness.report.pictures import write_pictures


def test_each_machine_has_a_picture_of_its_own(tmp_path: Path) -> None:
    two = "pack:2 [numa(memory=4GiB)] core:3 pu:2"
    write_pictures({"laptop": parse_machine("laptop"), two: parse_machine(two)}, tmp_path / "machines")
    assert sorted(file.name for file in (tmp_path / "machines").iterdir()) == [
        "laptop.txt",
        "pack_2_numa_memory_4GiB_core_3_pu_2.txt",
    ]
    drawn = (tmp_path / "machines/pack_2_numa_memory_4GiB_core_3_pu_2.txt").read_text()
    lines = drawn.splitlines()
    # Three cores of two threads each, in a row
    assert [line for line in lines if line.startswith("package")] == ["package 0", "package 1"]
    assert lines.count("│ memory: 4 GiB") == 2
    assert {"│ 0 .. .. ..", "│  6 .. .. .."} <= set(lines)
    assert "\x1b" not in drawn  # no colours in a file
