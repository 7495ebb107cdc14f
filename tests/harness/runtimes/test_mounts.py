"""What of a tree covers a program's own /sys and /proc."""

from pathlib import Path

from numaproof import fake_sysfs
from numaproof.harness.runtimes.mounts import container_binds, machine_binds


def test_a_container_covers_all_but_what_engines_refuse(tmp_path: Path) -> None:
    fake_sysfs.write(fake_sysfs.files(fake_sysfs.preset("laptop")), tmp_path / "tree")
    targets = [bind.target for bind in machine_binds(tmp_path / "tree")]
    assert targets[-3:] == ["/proc/cpuinfo", "/proc/meminfo", "/proc/cmdline"]
    assert [bind.target for bind in container_binds(tmp_path / "tree")] == targets[:-1]


def test_what_a_tree_does_not_have_is_not_covered(tmp_path: Path) -> None:
    fake_sysfs.write(fake_sysfs.files(fake_sysfs.preset("laptop")), tmp_path / "tree")
    (tmp_path / "tree/proc/cmdline").unlink()
    assert machine_binds(tmp_path / "tree") == container_binds(tmp_path / "tree")


def test_the_host_s_own_machine_is_covered_by_nothing() -> None:
    assert machine_binds(None) == container_binds(None) == ()
