"""The graph of system devices, against what the presets say."""

import re

import pytest

from numaproof.fake_sysfs import preset, preset_names
from numaproof.fake_sysfs.pci_places import places
from numaproof.harness.cli import main
from numaproof.harness.cost.machine_costs import resources_of
from numaproof.harness.report.cost_system import system_lines


def test_sockets_with_persistent_memory(capsys: pytest.CaptureFixture[str]) -> None:
    # The preset: two sockets of 24 cores with two threads below one cache; nodes 2 and 3 have memory and no CPUs.
    assert main(["cost", "graph", "--machine", "xeon-2s-pmem"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "NUMA node 0: 10 to itself, 17 to node2, 21 to node1, 28 to node3",
        "  memory/node0",
        "  L3 cache (4): cpu0-23,48-71",
        "    24 cores (1): cpu0,48; cpu23,71",
        "NUMA node 1: 10 to itself, 17 to node3, 21 to node0, 28 to node2",
        "  memory/node1",
        "  L3 cache (4): cpu24-47,72-95",
        "    24 cores (1): cpu24,72; cpu47,95",
        "NUMA node 2: 10 to itself, 17 to node0, 28 to node1,3",
        "  memory/node2",
        "NUMA node 3: 10 to itself, 17 to node1, 28 to node0,2",
        "  memory/node3",
    ]


@pytest.mark.parametrize("name", preset_names())
def test_every_device_stands_below_its_bridges(name: str) -> None:
    machine = preset(name)
    above: list[str] = []
    found: dict[str, tuple[str, ...]] = {}
    for line in system_lines(machine):
        level = (len(line) - len(line.lstrip())) // 2
        words = line.split()
        if words[0] == "direct":
            break
        above[level:] = [words[1] if words[0] == "bridge" else ""]
        if re.match(r"\d+ x ", line.strip()):
            bridges = tuple(filter(None, above[:level]))
            found |= dict.fromkeys(re.findall(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", line), bridges)
    known = places(machine)
    shown = {one for ids in resources_of(machine).values() for one in ids if one in found}
    assert shown == set(found)
    assert {one: known[one].bridges for one in found} == found
    assert all(any(one in found for one in ids) for ids in resources_of(machine).values())


def test_links_are_told_by_their_cost() -> None:
    # DGX-1: two links at most, so that one link less costs 36 / 2 = 18 more than 1, and none 36 more.
    lines = list(system_lines(preset("dgx1-v100")))
    links = lines[lines.index("direct links") + 1 :]
    assert [line.split(":")[0].strip() for line in links] == ["1", "19", "37"]
    # Eight pairs have two links and eight have one; the other 28 - 16 pairs have none.
    assert [line.rpartition(" and ")[2] for line in links] == ["4 more", "4 more", "8 more"]
