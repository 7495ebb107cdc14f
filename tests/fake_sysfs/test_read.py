"""Trees that are not as we write them: real hosts lack this and that, and anything may be damaged."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numaproof.fake_sysfs.catalogue import preset
from numaproof.fake_sysfs.content import FileContent, Link
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.files import EXTRA, files
from numaproof.fake_sysfs.hwloc_string import parse_synthetic
from numaproof.fake_sysfs.machine import Cpu, Machine
from numaproof.fake_sysfs.read import read
from numaproof.fake_sysfs.write import write
from tests.places import short_directory

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"


def changed(machine: Machine, change: Callable[[dict[str, FileContent]], object]) -> Machine:
    """What is read from a machine's tree after a change to its files."""
    found = dict(files(machine))
    change(found)
    with short_directory() as place:
        write(found, place / "tree")
        return read(place / "tree")


def without(*parts: str) -> Callable[[dict[str, FileContent]], object]:
    """Take away all files whose path holds one of these parts."""

    def take_away(found: dict[str, FileContent]) -> None:
        for path in [path for path in found if any(part in path for part in parts)]:
            del found[path]

    return take_away


MACHINE = parse_synthetic("pack:2 [numa(memory=1GiB)] l3:1 core:2 pu:2")


@pytest.mark.parametrize(
    "missing",
    [
        ("_list",),
        ("cpulist", "/cpu/possible", "/cpu/present", "/cpu/offline"),
        ("cpumap",),
        ("/cpu/online",),
        ("/node/online", "/node/possible", "/node/has_"),
        ("/thread_siblings", "/core_cpus"),
        ("shared_cpu_map",),
        ("/die_id", "/cluster", "die_cpus"),
        ("/cache/index0/id",),
        ("/cpufreq/",),
        ("proc/",),
        ("/node0/cpu", "/node1/cpu0", "/node1/cpu1"),
    ],
)
def test_what_is_said_twice_may_be_missing_once(missing: tuple[str, ...]) -> None:
    assert changed(MACHINE, without(*missing)) == MACHINE


def test_a_host_without_numa_is_one_node_with_all_memory() -> None:
    found = changed(MACHINE, without("/system/node/"))
    assert found.cpus_by_node() == {0: MACHINE.cpu_ids}
    assert [node.memory for node in found.nodes] == [2 << 30]


def test_distances_that_are_missing_or_too_few_are_10_and_20() -> None:
    machine = preset("xeon-2s-pmem")
    missing = changed(machine, without("node2/distance"))
    assert missing.nodes[0].distances == (10, 20, 20, 20)
    short = changed(machine, lambda found: found.update({f"{NODE}/node1/distance": b"21 10\n"}))
    assert short.nodes[3].distances == (20, 20, 20, 10)


def test_a_cpu_that_no_node_claims_goes_with_its_package() -> None:
    found = changed(MACHINE, lambda found: found.update({f"{NODE}/node1/cpulist": b"4-6\n", f"{NODE}/node1/cpu7": b""}))
    assert found.cpus_by_node() == {0: (0, 1, 2, 3), 1: (4, 5, 6, 7)}

    def forget(found: dict[str, FileContent]) -> None:
        found[f"{NODE}/node1/cpulist"] = b"4-6\n"
        del found[f"{NODE}/node1/cpu7"]

    assert changed(MACHINE, forget).cpus_by_node() == {0: (0, 1, 2, 3), 1: (4, 5, 6, 7)}


def test_core_ids_that_begin_anew_on_each_die_are_told_apart_by_the_siblings() -> None:
    def renumber(found: dict[str, FileContent]) -> None:
        for cpu in range(8):
            found[f"{CPU}/cpu{cpu}/topology/core_id"] = b"0\n"

    cores = [(cpu.package, cpu.core) for cpu in changed(MACHINE, renumber).cpus]
    assert cores == [(0, 0), (0, 0), (0, 1), (0, 1), (1, 0), (1, 0), (1, 1), (1, 1)]


def test_without_any_word_of_cores_each_cpu_is_one() -> None:
    found = changed(MACHINE, without("/thread_siblings", "/core_cpus", "/core_id"))
    assert [(cpu.package, cpu.core) for cpu in found.cpus] == [(cpu // 4, cpu % 4) for cpu in range(8)]


@pytest.mark.parametrize("number", [b"7\n", b"\n"])
def test_cache_ids_that_are_no_ids_are_counted_anew(number: bytes) -> None:
    def spoil(found: dict[str, FileContent]) -> None:
        found.update({f"{CPU}/cpu{cpu}/cache/index0/id": number for cpu in range(4)})
        found.update({f"{CPU}/cpu{cpu}/cache/index0/id": b"7\n" for cpu in range(4, 8)})

    assert [(cache.cpus, cache.id) for cache in changed(MACHINE, spoil).caches] == [
        ((0, 1, 2, 3), 0),
        ((4, 5, 6, 7), 1),
    ]


def test_minus_one_is_taken_for_the_first_package() -> None:
    found = changed(
        parse_synthetic("pack:1 core:2 pu:1"),
        lambda found: found.update({f"{CPU}/cpu{cpu}/topology/physical_package_id": b"-1\n" for cpu in range(2)}),
    )
    assert found.cpus == (Cpu(0, 0, 0, 0, 0), Cpu(1, 1, 0, 0, 0))


ISOLATING = replace(MACHINE, isolated=(2, 3, 6))


@pytest.mark.parametrize("missing", [("/cpu/isolated",), ("proc/cmdline",), ("proc/",)])
def test_isolated_cpus_are_said_twice_and_may_be_missing_once(missing: tuple[str, ...]) -> None:
    assert changed(ISOLATING, without(*missing)) == ISOLATING


def test_a_tree_of_an_earlier_version_says_nothing_of_isolated_cpus() -> None:
    assert changed(ISOLATING, without("/cpu/isolated", "proc/cmdline")) == MACHINE


def test_the_kernels_own_list_counts_and_not_what_it_was_told() -> None:
    told = {"proc/cmdline": b"ro isolcpus=1\n"}
    assert changed(ISOLATING, lambda found: found.update(told)) == ISOLATING
    assert changed(MACHINE, lambda found: found.update(told)) == MACHINE  # an empty list is one


def by_command_line(text: bytes) -> tuple[int, ...]:
    """The isolated CPUs of a kernel that has no list of them, as the machine of eight CPUs is read."""
    return changed(MACHINE, lambda found: (found.pop(f"{CPU}/isolated"), found.update({"proc/cmdline": text}))).isolated


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        (b"ro quiet\n", ()),
        (b"isolcpus=2-5\n", (2, 3, 4, 5)),
        (b"root=UUID=1-2 isolcpus=2,4-5 quiet\n", (2, 4, 5)),
        (b"ro isolcpus=domain,2-5\n", (2, 3, 4, 5)),
        (b"ro isolcpus=nohz,domain,managed_irq,2-5\n", (2, 3, 4, 5)),
        (b"ro isolcpus=a_new_one,2-5\n", (2, 3, 4, 5)),
        (b"ro isolcpus=nohz,managed_irq,2-5\n", ()),  # without `domain` they stay in the scheduler's domains
        (b"ro isolcpus=1 isolcpus=2\n", (2,)),
        (b"ro isolcpus=6-4000\n", (6, 7)),
        (b"ro isolcpus=0-7\n", (1, 2, 3, 4, 5, 6, 7)),  # the kernel keeps its boot CPU
        (b"ro isolcpus=\n", ()),
        (b"ro isolcpus=domain1,2-5\n", ()),
        (b"ro isolcpus=2-x\n", ()),
        (b"ro isolcpus=5-2\n", ()),
        (b"ro isolcpus=3 noisolcpus=2-5 isolcpus\n", (3,)),
        (b"\xff isolcpus=\xff\n", ()),
    ],
)
def test_an_older_kernels_command_line_says_which_cpus_are_isolated(text: bytes, cpus: tuple[int, ...]) -> None:
    assert by_command_line(text) == cpus


def test_a_list_of_isolated_cpus_that_is_none_counts_as_missing() -> None:
    assert changed(ISOLATING, lambda found: found.update({f"{CPU}/isolated": b"2-x\n"})) == ISOLATING


def test_isolated_cpus_that_the_machine_does_not_have_are_dropped() -> None:
    found = changed(MACHINE, lambda found: found.update({f"{CPU}/isolated": b"6-127\n"}))
    assert found.isolated == (6, 7)


def test_a_device_on_a_node_that_is_not_there_has_none() -> None:
    path = "sys/devices/pci0000:00/0000:00:02.0/numa_node"
    found = changed(preset("laptop"), lambda found: found.update({path: b"3\n"}))
    assert {device.numa_node for device in found.devices()} == {-1}


def test_functions_gathered_without_links_are_hung_up_by_their_buses() -> None:
    machine = preset("laptop")

    def flatten(found: dict[str, FileContent]) -> None:
        for path in [path for path in found if path.startswith(("sys/devices/pci", "sys/bus/pci/devices/"))]:
            content = found.pop(path)
            parts = path.split("/")
            inner = max((index for index, part in enumerate(parts) if part.startswith("0000:")), default=-1)
            if parts[1] == "devices" and inner > 0 and not isinstance(content, Link):
                found["/".join(["sys/bus/pci/devices", *parts[inner:]])] = content

    found = changed(machine, flatten)
    assert [device.address for device in found.devices()] == [device.address for device in machine.devices()]
    bridge = next(device for device in found.devices() if device.is_bridge)
    assert [child.address for child in bridge.children] == ["0000:01:00.0"]


def test_a_tree_in_a_foreign_place_has_the_name_of_its_folder() -> None:
    with short_directory() as place:
        write(files(MACHINE), place / "borrowed")
        (place / "borrowed" / EXTRA).unlink()
        assert read(f"{place}/borrowed/").name == "borrowed"


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b'{"name": 3}', b"\xff", b'{"name": "x", "links": [[1]]}'])
def test_a_note_of_ours_that_is_damaged_is_told(content: bytes) -> None:
    with pytest.raises(MachineError, match=r"numaproof\.json: is not as numaproof writes it"):
        changed(MACHINE, lambda found: found.update({EXTRA: content}))


@pytest.mark.parametrize("name", ["missing", "empty", "file"])
def test_what_is_no_tree_is_told(name: str) -> None:
    with short_directory() as place:
        (place / "empty").mkdir()
        (place / "file").write_text("")
        with pytest.raises(MachineError, match="is not the tree of a machine: it holds neither"):
            read(place / name)


def test_reading_does_not_wait_for_a_pipe() -> None:
    with short_directory() as place:
        write(files(MACHINE), place / "tree")
        os.mkfifo(place / "pipe")
        (place / "pipe").rename(place / "tree" / "sys/devices/system/node/possible")
        assert read(place / "tree") == MACHINE


DAMAGE = (b"", b"-1\n", b"99999999999\n", b"0-4095\n", b"x\0y", b"\xff\xfe", b"9" * 5000, b"0xzz", b"3-1", b"\xc2\xb2")
LAPTOP = files(preset("laptop"))


@settings(max_examples=25)
@given(st.dictionaries(st.sampled_from(sorted(LAPTOP)), st.sampled_from((None, *DAMAGE)), min_size=1, max_size=12))
def test_a_damaged_tree_is_still_a_machine_or_is_refused_in_one_line(damage: dict[str, bytes | None]) -> None:
    found = {path: damage.get(path, content) for path, content in LAPTOP.items()}
    with short_directory() as place:
        write({path: content for path, content in found.items() if content is not None}, Path(place, "tree"))
        try:
            machine = read(place / "tree")
        except MachineError as error:
            assert "\n" not in str(error)  # noqa: PT017 (either way is good; this is how this one has to look)
            return
        write(files(machine), place / "again")
        assert read(place / "again") == machine
