"""Trees of a run: written once, whoever asks first, and seen only when they are whole."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from numaproof import fake_sysfs
from numaproof.harness.runtimes.trees import HOST, Trees, machine_of

MACHINE = "pack:2 [numa] core:2 pu:2"


def test_everybody_who_asks_at_once_gets_the_same_whole_tree(tmp_path: Path) -> None:
    # A `Trees` of its own for each: workers of a run share the directory, and nothing else.
    everybody = [Trees(tmp_path / "trees") for _ in range(8)]
    with ThreadPoolExecutor(len(everybody)) as pool:
        found = list(pool.map(lambda trees: (trees.of(MACHINE), fake_sysfs.read(trees.of(MACHINE))), everybody))
    (tree,) = {tree for tree, _ in found}
    assert all(seen == machine_of(MACHINE) for _, seen in found)
    assert sorted(path.name for path in (tmp_path / "trees").iterdir()) == sorted([tree.name, f"{tree.name}.lock"])


def test_a_tree_is_written_once(tmp_path: Path) -> None:
    tree = Trees(tmp_path / "trees").of(MACHINE)
    before = tree.stat().st_ino
    (tree / "sys/mark").write_text("x")
    assert Trees(tmp_path / "trees").of(MACHINE) == tree
    assert (tree.stat().st_ino, (tree / "sys/mark").exists()) == (before, True)


def test_other_machines_have_other_trees(tmp_path: Path) -> None:
    trees = Trees(tmp_path / "trees")
    assert trees.of("laptop") != trees.of(MACHINE)


def test_the_host_s_own_tree_is_there_already(tmp_path: Path) -> None:
    assert Trees(tmp_path / "trees").of("host") == HOST
    assert list((tmp_path / "trees").iterdir()) == []
