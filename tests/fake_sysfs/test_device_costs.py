"""What devices cost to use together with CPUs, memory and one another, worked out from what sysfs shows."""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from numaproof.fake_sysfs import MachineError, files, parse_machine, preset, preset_names, read, write
from numaproof.fake_sysfs.cost_table import link_cost
from numaproof.fake_sysfs.device_costs import DeviceCost, device_costs
from numaproof.fake_sysfs.machine import Cpu, DeviceLink, Machine, NumaNode, PciDevice, PciRoot

BRIDGES = Path(__file__).parents[2] / "suites/machines/xeon-2s-bridges.yaml"
FAR_GPU, GPU, NIC, VF = "0000:17:00.0", "0000:3c:00.0", "0000:3d:00.0", "0000:3d:02.0"
Pairs = Mapping[tuple[str, str], int]


def pairs(found: tuple[DeviceCost, ...]) -> Pairs:
    """Each pair's cost; no pair may be told twice."""
    told: dict[tuple[str, str], int] = {}
    for entry in found:
        for source in entry.sources:
            for target in entry.targets:
                if source != target:
                    assert (source, target) not in told
                    told[source, target] = entry.cost
    return told


def from_files(root: Path) -> Pairs:
    """The same, pair by pair, from the paths that the links of bus/pci/devices lead to."""
    bus = root / "sys/bus/pci/devices"
    nodes = root / "sys/devices/system/node"
    slit = {path.parent.name: path.read_text().split() for path in nodes.glob("node*/distance")}
    order = sorted(slit, key=lambda name: int(name[4:]))
    links = {frozenset((link.a, link.b)): link.count for link in read(root).links}
    family = frozenset().union(*links)
    way, home = {}, {}
    for link in bus.iterdir():
        parts = (link / "physfn" if (link / "physfn").exists() else link).resolve().parts
        host = next(number for number, part in enumerate(parts) if part.startswith("pci"))
        way[link.name] = parts[host:-1]
        home[link.name] = f"node{(link / 'numa_node').read_text().strip()}"
    told: dict[tuple[str, str], int] = {}
    devices = [name for name in way if not (bus / name / "class").read_text().startswith("0x0604")]
    for a in devices:
        if home[a] in slit:
            for node, apart in zip(order, slit[home[a]], strict=True):
                for cpu in (nodes / node).glob("cpu[0-9]*"):
                    told[a, cpu.name] = int(apart)
                if " MemTotal: 0 kB" not in " ".join((nodes / node / "meminfo").read_text().split()):
                    told[a, node] = int(apart)
        for b in devices:
            if a == b:
                continue
            if {a, b} <= family:
                told[a, b] = link_cost(links.get(frozenset((a, b)), 0), max(links.values()))
            elif way[a][0] == way[b][0]:
                told[a, b] = 2 * len(set(way[a]) ^ set(way[b])) or 1
            else:
                known = home[a] in slit and home[b] in slit
                between = int(slit[home[a]][order.index(home[b])]) if known else 10
                told[a, b] = between + 8
    return told


@pytest.mark.parametrize("name", [name for name in preset_names() if preset(name).pci] + [str(BRIDGES)])
def test_it_is_what_a_walk_over_the_files_finds_pair_by_pair(name: str, tmp_path: Path) -> None:
    machine = parse_machine(name)
    write(files(machine), tmp_path)
    told = device_costs(machine, lambda device: device.class_code >> 8 != 0x0604)
    assert pairs(told) == from_files(tmp_path)
    assert device_costs(tmp_path, lambda device: device.class_code >> 8 != 0x0604) == told


def test_each_bridge_between_two_devices_counts() -> None:
    """The GPU at 3c and the card at 3d lie behind two ports of one switch; the GPU at 17 below another host bridge."""
    told = pairs(device_costs(parse_machine(str(BRIDGES)), [GPU, FAR_GPU, VF]))
    assert told[GPU, NIC] == 4  # 3b:04.0 and 3b:08.0, 2 each
    assert told[FAR_GPU, NIC] == 10 + 8  # over two host bridges, whatever is below them
    assert told[VF, NIC] == 1  # one card
    assert told[VF, GPU] == 4  # from where its card stands


def test_bridges_do_not_count_on_the_way_to_cpus_and_memory() -> None:
    """Else the GPU without a switch above it would be nearer to every CPU, and a pod of many CPUs would get it."""
    told = pairs(device_costs(parse_machine(str(BRIDGES)), [GPU, FAR_GPU]))
    assert told[GPU, "cpu0"] == told[FAR_GPU, "cpu0"] == 10
    assert told[GPU, "node1"] == told[FAR_GPU, "node1"] == 21  # xeon-2s: 21 between its nodes


@pytest.mark.parametrize(
    ("pair", "cost"),
    [((0, 3), 1), ((0, 1), 19), ((0, 5), 37)],
    ids=["two links, as many as any", "one link", "no link: the farthest"],
)
def test_links_count_instead_of_the_way_through_pci(pair: tuple[int, int], cost: int) -> None:
    """DGX-1: at most two links, so that each is worth 36 / 2 = 18."""
    machine = preset("dgx1-v100")
    gpus = [device.address for device in machine.devices() if device.class_code >> 8 == 0x0302]
    assert pairs(device_costs(machine, gpus))[gpus[pair[0]], gpus[pair[1]]] == cost


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 6, 7, 12, 18, 40])
def test_each_link_is_worth_the_same(most: int) -> None:
    costs = [link_cost(count, most) for count in range(most + 1)]
    assert costs[-1] == 1
    assert costs[0] >= 37
    assert len({before - after for before, after in pairwise(costs)}) == 1


def test_gpus_that_are_all_wired_alike_are_one_entry() -> None:
    machine = preset("dgx-h100")
    gpus = tuple(device.address for device in machine.devices() if device.class_code >> 8 == 0x0302)
    assert [entry for entry in device_costs(machine, gpus, gpus) if entry.domain == "pci"] == [
        DeviceCost(gpus, "pci", gpus, 1)
    ]


def test_a_device_of_no_known_node_is_near_and_far_from_nothing() -> None:
    def device(address: str, node: int) -> PciDevice:
        return PciDevice(address, 0x10DE, 0x20B0, 0x030200, numa_node=node)

    roots = (PciRoot(0, 0, (device("0000:00:01.0", -1),)), PciRoot(0, 0x80, (device("0000:80:01.0", 1),)))
    nodes = (NumaNode(0, 1 << 30), NumaNode(1, 0))
    machine = Machine("m", (Cpu(0, 0, 0, 0, 0), Cpu(1, 1, 0, 0, 1)), nodes, pci=roots)
    assert pairs(device_costs(machine, ["0000:00:01.0"])) == {("0000:00:01.0", "0000:80:01.0"): 10 + 8}
    assert pairs(device_costs(machine, ["0000:80:01.0"])) == {
        ("0000:80:01.0", "0000:00:01.0"): 10 + 8,
        ("0000:80:01.0", "cpu0"): 20,
        ("0000:80:01.0", "cpu1"): 10,
        ("0000:80:01.0", "node0"): 20,  # node 1 has no memory
    }


def large(nodes: int, cards: int, vfs: int, gpus: int) -> Machine:
    """Host bridges of `nodes` nodes, each with so many cards of so many VFs, and GPUs, behind a port each."""
    roots = []
    for node in range(nodes):
        domain = f"{node + 1:04x}"
        devices = []
        for slot in range(cards + gpus):
            bus = f"{domain}:{slot + 1:02x}"
            card = slot < cards
            functions = [
                PciDevice(f"{bus}:{n >> 3:02x}.{n & 7}", 0x8086, 0x154C, 0x020000, numa_node=node)
                for n in range(vfs + 1)
            ]
            child = PciDevice(
                functions[0].address,
                0x8086,
                0x158B,
                0x020000 if card else 0x030200,
                numa_node=node,
                total_vfs=vfs if card else 0,
                vfs=tuple(functions[1:]) if card else (),
            )
            devices.append(
                PciDevice(
                    f"{domain}:00:{slot:02x}.0",
                    0x8086,
                    0x2030,
                    0x060400,
                    numa_node=node,
                    bus_range=(slot + 1, slot + 1),
                    children=(child,),
                )
            )
        roots.append(PciRoot(node + 1, 0, tuple(devices)))
    cpus = tuple(Cpu(n, n // nodes, 0, n % nodes, n % nodes) for n in range(256 * nodes))
    addresses = [f"{node + 1:04x}:{slot + 1:02x}:00.0" for node in range(nodes) for slot in range(cards, cards + gpus)]
    links = tuple(DeviceLink(a, b, 12) for a in addresses for b in addresses if a < b)
    return Machine("large", cpus, tuple(NumaNode(n, 1 << 30) for n in range(nodes)), pci=tuple(roots), links=links)


def test_the_number_of_entries_goes_by_groups() -> None:
    """16 nodes with two cards of 16 VFs and four GPUs each: 512 VFs, 64 GPUs, 4096 CPUs.

    From each node: the CPUs and the memory here and elsewhere (2 + 2); the devices below the other host bridges, all
    equally far (1 from the cards, 1 from the GPUs, which have links to the other GPUs instead); from each of the two
    cards and four GPUs its own bus, and what else lies below the host bridge. All GPUs among themselves: 1.
    """
    machine = large(16, 2, 16, 4)
    found = device_costs(machine, lambda device: not device.is_bridge)
    assert len(found) <= 16 * (2 + 2 + 2 + 2 * (2 + 4)) + 1


def test_what_the_machine_lacks_is_said_with_the_nearest_that_it_has() -> None:
    with pytest.raises(MachineError, match=f"has no PCI device '3c:00.0'; the nearest known address is {GPU}$"):
        device_costs(parse_machine(str(BRIDGES)), ["3c:00.0"])
    with pytest.raises(
        MachineError, match=r"has no PCI device '0000:17:00\.1'; the nearest known address is 0000:17:00\.0"
    ):
        device_costs(parse_machine(str(BRIDGES)), [], ["0000:17:00.1"])
    with pytest.raises(MachineError, match="it has no PCI devices at all"):
        device_costs(preset("epyc-7742-nps1"), [GPU])
