"""hwloc's synthetic strings, beyond what lstopo confirms in test_real_tools: shapes, indexes, refusals."""

import pytest

from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.hwloc_string import is_synthetic, parse_synthetic
from numaproof.fake_sysfs.machine import Cpu


def test_packages_dies_cores_and_threads_are_numbered_depth_first() -> None:
    machine = parse_synthetic("pack:2 die:2 [numa(memory=1GiB)] core:1 pu:2")
    assert machine.cpus == (
        Cpu(0, 0, 0, 0, 0),
        Cpu(1, 0, 0, 0, 0),
        Cpu(2, 1, 1, 0, 1),
        Cpu(3, 1, 1, 0, 1),
        Cpu(4, 0, 0, 1, 2),
        Cpu(5, 0, 0, 1, 2),
        Cpu(6, 1, 1, 1, 3),
        Cpu(7, 1, 1, 1, 3),
    )
    assert [node.memory for node in machine.nodes] == [1 << 30] * 4
    assert machine.name == "pack:2 die:2 [numa(memory=1GiB)] core:1 pu:2"


def test_without_cores_each_pu_is_one() -> None:
    assert [(cpu.package, cpu.core) for cpu in parse_synthetic("pack:2 pu:2").cpus] == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_a_second_node_at_the_same_place_has_no_cpus() -> None:
    machine = parse_synthetic("pack:2 [numa(memory=2GiB)] [numa(memory=1GiB)] core:1 pu:1")
    assert machine.cpus_by_node() == {0: (0,), 1: (), 2: (1,), 3: ()}


def test_sizes_are_cut_to_whole_kilobytes() -> None:
    assert parse_synthetic("pack:1 [numa(memory=3000)] pu:1").nodes[0].memory == 2048


@pytest.mark.parametrize("text", ["pack:2 pu:2", "[numa] pack:2 pu:2", "2 2", "4", "NUMANode:2 pu:1", "L3:1 pu:4"])
def test_a_string_is_known_by_its_beginning(text: str) -> None:
    assert is_synthetic(text)


@pytest.mark.parametrize("text", ["xeon-2s", "machine.yaml", "./2 2", "foo:2", "/tmp/pack:2", "host", ""])
def test_what_is_none(text: str) -> None:
    assert not is_synthetic(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pack:2 core:2", "the last level must be pu"),
        ("pack:0 pu:1", "pack:0: a level has at least one object"),
        ("pack:2 tile:2 pu:1", "tile: no such level; the known ones are pack"),
        ("pack:2 [core] pu:1", r"\[core\]: only NUMA nodes can be attached"),
        ("pack:2 [numa(foo=3)] pu:1", r"\(foo=3\): no such attribute; the known ones are memory, indexes"),
        ("pack:2 [numa(memory=lots)] pu:1", "memory: 'lots': is not a size"),
        ("pack:2 socket:2 pu:1", "pack: there can be only one such level"),
        ("core:2 pack:2 pu:1", "a pack holds dies"),
        ("numa:2 [numa] pu:1", "either a level or attached"),
        ("pack:2 2 2", "types must be given for all levels or for none"),
        ("1 1 1 1 1 1 1 1 2", "9 levels without types"),
        ("pack:2 pu:2(indexes=0,1)", "2 indexes for more objects"),
        ("pack:2 pu:2(indexes=2*2:1*2)", "write the list out"),
        ("pack:2 pu:2(indexes=0,1,1,2)", "cpu 1: is there twice"),
        ("pack:99999 pu:9999", "CPUs: at most 65536"),
        ("pack:2 !", "cannot be read from '!' on"),
        ("pack:2 [numa", r"cannot be read from '\[numa' on"),
    ],
)
def test_a_bad_string_is_refused_in_one_line(text: str, words: str) -> None:
    with pytest.raises(MachineError, match=words) as caught:
        parse_synthetic(text)
    assert str(caught.value).startswith(f"hwloc string {text!r}: ")
    assert "\n" not in str(caught.value)
