"""Real tools see in our trees what we see; and lstopo reads hwloc strings as we do."""

import re

import pytest

from numaproof.fake_sysfs.catalogue import preset, preset_description, preset_names
from numaproof.fake_sysfs.describe import describe
from numaproof.fake_sysfs.files import files
from numaproof.fake_sysfs.hwloc_string import parse_synthetic
from numaproof.fake_sysfs.machine import Machine
from numaproof.fake_sysfs.read import read
from numaproof.fake_sysfs.section import load_yaml
from numaproof.fake_sysfs.write import write
from tests.fake_sysfs.real_tools import assert_real_tools_agree, groups, lstopo, lstopo_console
from tests.places import short_directory

# What no preset has: offline and isolated CPUs, sparse node and CPU ids, a spare node, lopsided distances, a node
# without memory.
ODD = """
packages: 2
cores: 2
threads: 2
memory: 1000MiB
numbering: compact
node-ids: [1, 9]
cpulist: {1: "0-3", 9: "64-67"}
numa: {40: {memory: 0}, 41: {memory: 3GiB, access: {initiators: "9", read-latency: 80}}}
distances: [[10, 21, 17, 99], [22, 10, 28, 98], [18, 29, 10, 97], [33, 34, 35, 10]]
offline: "2-3,66"
isolated: "1-2,67"
spare-nodes: 3-4
hugepages: {2Mi: 16}
caches: {l1d: 32KiB, l2: {size: 1MiB, share: 2}, l3: 8MiB}
"""


def _assert_all_agree(machine: Machine) -> None:
    with short_directory() as place:
        write(files(machine), place / "tree")
        found = read(place / "tree")
        assert found == machine
        seen = assert_real_tools_agree(place / "tree", found)
        assert seen.groups == groups(machine)


@pytest.mark.parametrize("name", preset_names())
def test_real_tools_agree_about_every_preset(name: str) -> None:
    _assert_all_agree(preset(name))


def test_real_tools_agree_about_an_odd_machine() -> None:
    _assert_all_agree(describe(load_yaml(ODD, "odd.yaml"), preset_description))


def test_lstopo_reads_how_fast_memory_is_and_what_caches_it() -> None:
    memory = (
        "numa: {0: {memory: 4GiB, access: {initiators: '0', read-latency: 80, write-latency: 90, read-bandwidth: 9000, "
    )
    text = memory + "write-bandwidth: 7000}, side-caches: [{size: 1GiB}]}}"
    with short_directory() as place:
        write(files(describe(load_yaml(text, "hmat.yaml"), preset_description)), place / "tree")
        seen = lstopo_console(place / "tree", "--memattrs")
        assert "MemCache L#0 (1024MB)" in lstopo_console(place / "tree")
    for name, value in (("ReadLatency", 80), ("WriteLatency", 90), ("ReadBandwidth", 9000), ("WriteBandwidth", 7000)):
        assert re.search(rf"name `{name}' .*\n  NUMANode L#0 = {value} from", seen)


@pytest.mark.parametrize(
    "string",
    [
        "pack:2 [numa(memory=64GB)] core:8 pu:2",
        "pack:2 [numa] core:2 pu:2",
        "pack:2 die:2 [numa(memory=4GiB)] l3:2(size=16MiB) core:2 pu:1",
        "numa:4(memory=3GB) pack:1 core:2 pu:2",
        "pack:1 numa:2 l3:1 l2:2 l1d:1 l1i:1 core:1 pu:2",
        "group:2 pack:2 core:3 pu:1",
        "[numa(memory=1GiB)] pack:2 [numa(memory=64MB)][numa(memory=10MiB)] core:1 pu:1",
        "pack:2 [numa(indexes=5,0 memory=3GB)] core:2 pu:1(indexes=0,2,1,3)",
        "Package:2 L3Cache:1 PU:2",
        "pack:2 core:2 2",
        "4",
        "2 3",
        "2 3 4",
        "2 2 3 2",
        "2 1 2 3 2",
        "1 2 1 2 3 2",
        "1 2 1 2 1 3 2",
        "1 2 1 2 1 1 3 2",
    ],
)
def test_lstopo_reads_the_same_machine_out_of_a_string(string: str) -> None:
    theirs = lstopo(["-i", string], {})
    ours = parse_synthetic(string)
    assert {node: memory >> 10 for node, memory in theirs.memory.items()} == {n.id: n.memory >> 10 for n in ours.nodes}
    assert {cpu for cpus in theirs.cpus.values() for cpu in cpus} == set(ours.cpu_ids)
    by_node = ours.cpus_by_node()
    for node, cpus in theirs.cpus.items():
        # lstopo lets nodes share CPUs; in Linux each CPU has one node, the nearest, and the others have none.
        assert by_node[node] in (cpus, ())
    for name, members in theirs.groups.items():
        assert groups(ours)[name] == members
