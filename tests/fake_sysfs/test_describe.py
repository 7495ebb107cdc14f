"""Machine files: groups, presets with overrides, devices; and every mistake told with its place."""

from pathlib import Path

import pytest

from numaproof.fake_sysfs.argument import parse_machine
from numaproof.fake_sysfs.catalogue import preset, preset_description
from numaproof.fake_sysfs.describe import describe
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.files import files
from numaproof.fake_sysfs.machine import (
    Access,
    Bar,
    Cache,
    Cpu,
    CpuKind,
    DeviceLink,
    DeviceNode,
    Hugepages,
    Machine,
    NetInterface,
    PciRoot,
    SideCache,
)
from numaproof.fake_sysfs.section import load_yaml
from numaproof.fake_sysfs.sizes import format_size, parse_size
from numaproof.fake_sysfs.write import write
from tests.places import short_directory


def machine(text: str) -> Machine:
    return describe(load_yaml(text, "my.yaml"), preset_description)


def test_counts_alone_make_a_machine_numbered_as_linux_does() -> None:
    found = machine("packages: 2\ncores: 2\nthreads: 2\nmemory: 1GiB\n")
    assert found.name == "my"
    assert found.cpus == (
        Cpu(0, 0, 0, 0, 0),
        Cpu(1, 1, 0, 0, 0),
        Cpu(2, 0, 0, 1, 1),
        Cpu(3, 1, 0, 1, 1),
        Cpu(4, 0, 0, 0, 0),
        Cpu(5, 1, 0, 0, 0),
        Cpu(6, 0, 0, 1, 1),
        Cpu(7, 1, 0, 1, 1),
    )
    assert [(node.id, node.memory, node.distances) for node in found.nodes] == [
        (0, 1 << 30, (10, 20)),
        (1, 1 << 30, (20, 10)),
    ]


def test_compact_numbering_keeps_siblings_together() -> None:
    found = machine("cores: 2\nthreads: 2\nnumbering: compact\n")
    assert [(cpu.id, cpu.core) for cpu in found.cpus] == [(0, 0), (1, 0), (2, 1), (3, 1)]


def test_dies_and_nodes_divide_a_package_either_way() -> None:
    more_nodes = machine("dies: 2\nnodes: 4\ncores: 1\n")
    assert [(cpu.die, cpu.node) for cpu in more_nodes.cpus] == [(0, 0), (0, 1), (1, 2), (1, 3)]
    more_dies = machine("dies: 2\nnodes: 1\ncores: 4\n")
    assert [(cpu.die, cpu.node) for cpu in more_dies.cpus] == [(0, 0), (0, 0), (1, 0), (1, 0)]


def test_groups_make_packages_of_different_kinds() -> None:
    found = machine(
        """
        memory: 2GiB
        groups:
          - {packages: 1, cores: 2}
          - {packages: 2, cores: 1, threads: 2, memory: 1GiB, hugepages: {1Gi: 1}}
        """
    )
    assert [(cpu.id, cpu.package, cpu.node) for cpu in found.cpus] == [
        (0, 0, 0),
        (1, 0, 0),
        (2, 1, 1),
        (3, 2, 2),
        (4, 1, 1),
        (5, 2, 2),
    ]
    assert [node.memory >> 30 for node in found.nodes] == [2, 1, 1]
    assert [node.hugepages for node in found.nodes] == [(), (Hugepages(1048576, 1),), (Hugepages(1048576, 1),)]


def test_caches_are_shared_as_told() -> None:
    found = machine(
        """
        packages: 1
        nodes: 2
        cores: 4
        caches:
          l1d: 32KiB
          l2: {size: 1MiB, share: 2, ways: 16}
          l3: {size: 8MiB, share: package, line: 128}
          l4: {size: 64MiB, share: node}
        """
    )
    l2 = [cache for cache in found.caches if cache.level == 2]
    assert l2[1] == Cache(2, "Unified", 1 << 20, (2, 3), 1, 64, 16)
    assert [cache.cpus for cache in l2] == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert [c for c in found.caches if c.level == 3] == [Cache(3, "Unified", 8 << 20, tuple(range(8)), 0, 128)]
    assert [c.cpus for c in found.caches if c.level == 4] == [(0, 1, 2, 3), (4, 5, 6, 7)]
    assert len([c for c in found.caches if c.level == 1]) == 8


def test_kinds_of_cores_on_a_hybrid_machine() -> None:
    found = machine(
        """
        cpu: {model: Hybrid, mhz: 3000}
        numbering: compact
        cores:
          - {count: 1, threads: 2, kind: core, mhz: 5000}
          - {count: 2, kind: atom, caches: {l2: {size: 2MiB, share: 2}}}
        """
    )
    assert found.kinds == (CpuKind("atom", (2, 3), 3000), CpuKind("core", (0, 1), 5000))
    assert [cache.cpus for cache in found.caches] == [(2, 3)]


def test_nodes_of_their_own_make() -> None:
    found = machine(
        """
        packages: 2
        node-ids: [0, 8]
        cpulist: {0: "1", 8: "0"}
        memory: 4GiB
        hugepages: {2Mi: 8}
        numa:
          8: {memory: 1GiB, hugepages: {2Mi: 1}}
          252:
            memory: 16GiB
            access: {initiators: "8", read-latency: 100, write-bandwidth: 5}
            side-caches: [{size: 1GiB, line: 128, indexing: 1, write-policy: 1}]
        distances: {local: 10, remote: 40}
        spare-nodes: "9"
        """
    )
    assert found.cpus_by_node() == {0: (1,), 8: (0,), 252: ()}
    assert [node.memory >> 30 for node in found.nodes] == [4, 1, 16]
    assert [node.hugepages for node in found.nodes] == [(Hugepages(2048, 8),), (Hugepages(2048, 1),), ()]
    assert found.nodes[2].access == Access((8,), 100, 0, 0, 5)
    assert found.nodes[2].side_caches == (SideCache(1, 1 << 30, 128, 1, 1),)
    assert found.nodes[1].distances == (40, 10, 40)
    assert found.spare_nodes == (9,)


def test_offline_cpus_leave_their_caches_and_keep_their_node() -> None:
    found = machine('packages: 2\ncores: 2\ncaches: {l1d: 32KiB, l3: 1MiB}\noffline: "0,3"\n')
    assert found.cpus[3] == Cpu.offline(3, 1)
    assert [cache.cpus for cache in found.caches] == [(1,), (1,), (2,), (2,)]


def test_isolated_cpus_may_be_offline() -> None:
    found = machine("cores: 8\nisolated: 2-5\noffline: 3,6\n")
    assert found.isolated == (2, 3, 4, 5)
    assert [cpu.id for cpu in found.cpus if not cpu.online] == [3, 6]


def test_a_preset_says_which_cpus_are_isolated_until_it_is_told_others_or_other_counts() -> None:
    presets = {"base": {"cores": "8", "isolated": "2-5"}}

    def on_top(text: str) -> tuple[int, ...]:
        return describe(load_yaml(f"preset: base\n{text}", "my.yaml"), presets.__getitem__).isolated

    assert on_top("") == (2, 3, 4, 5)
    assert on_top("isolated: 7\n") == (7,)
    assert on_top('isolated: ""\n') == ()
    assert on_top("cores: 4\n") == ()
    assert on_top("cores: 4\nisolated: 1\n") == (1,)
    assert machine("preset: laptop\nisolated: 2-7\n").isolated == (2, 3, 4, 5, 6, 7)


def test_devices_flat_and_in_a_tree() -> None:
    found = machine(
        """
        packages: 2
        devices:
          - {address: "0A:00.0", id: "10DE:20b0", class: gpu, node: 1, driver: nvidia}
        pci:
          - root: "0001:80"
            node: 0
            devices:
              - address: "80:01.0"
                buses: 81-82
                devices:
                  - address: "81:00.0"
                    id: 15b3:101b
                    class: nic
                    subsystem: 15b3:0001
                    driver: mlx5_core
                    net: [eth0, {name: eth1, address: "02:AA:00:00:00:01", mtu: 9000, speed: 100000}]
                    infiniband: [mlx5_0]
                    vfs: {total: 8, count: 2, first: "81:00.7", id: "15b3:101c", driver: vfio, net: v, iommu-group: 5}
                    files: ["char 231:192 infiniband_verbs/uverbs0", "block 259:0 nvme/nvme0/nvme0n1"]
                    bars: [[0x1000, 0x1fff, 0x200]]
                  - {address: "82:00.0", class: "0x0b4000", node: -1, iommu-group: 3}
        links:
          - {between: ["0000:0a:00.0", "0001:81:00.0"], count: 2}
        """
    )
    assert [root.name for root in found.pci] == ["pci0000:0a", "pci0001:80"]
    gpu, port, nic, vf, _, other = found.devices()
    assert (gpu.address, gpu.vendor, gpu.class_code, gpu.numa_node, gpu.driver) == (
        "0000:0a:00.0",
        0x10DE,
        0x030200,
        1,
        "nvidia",
    )
    assert (port.class_code, port.bus_range, port.numa_node) == (0x060400, (0x81, 0x82), 0)
    assert (nic.address, nic.numa_node, nic.total_vfs, nic.infiniband) == ("0001:81:00.0", 0, 8, ("mlx5_0",))
    assert nic.net == (
        NetInterface("eth0", "02:00:01:81:00:00"),
        NetInterface("eth1", "02:aa:00:00:00:01", 9000, 100000),
    )
    assert nic.nodes == (
        DeviceNode("infiniband_verbs/uverbs0", 231, 192),
        DeviceNode("nvme/nvme0/nvme0n1", 259, 0, block=True),
    )
    assert nic.bars == (Bar(0x1000, 0x1FFF, 0x200),)
    assert [function.address for function in nic.vfs] == ["0001:81:00.7", "0001:81:01.0"]
    assert [function.iommu_group for function in nic.vfs] == [5, 6]
    assert [function.net[0].name for function in nic.vfs] == ["v0", "v1"]
    assert (vf.vendor, vf.device, vf.driver, vf.subsystem_device) == (0x15B3, 0x101C, "vfio", 1)
    assert (other.numa_node, other.class_code, other.iommu_group) == (-1, 0x0B4000, 3)
    assert found.links == (DeviceLink("0000:0a:00.0", "0001:81:00.0", 2),)


def test_a_preset_is_overridden_key_by_key() -> None:
    base = preset("dgx1-v100")
    found = machine(
        "preset: dgx1-v100\nhugepages: {1Gi: 4}\ncpu: {mhz: 1000}\nnotes: [mine]\nfigures: {distances: measured}\n"
    )
    assert found.name == "my"
    assert (found.cpus, found.pci, found.links, found.caches) == (base.cpus, base.pci, base.links, base.caches)
    assert (found.cpu_model, found.mhz) == (base.cpu_model, 1000)
    assert [node.hugepages for node in found.nodes] == [(Hugepages(1048576, 4),)] * 2
    assert found.notes[0] == "mine"
    assert "distances: measured" in found.notes
    assert [note for note in found.notes if note.startswith("source: ")] == [
        note for note in base.notes if note.startswith("source: ")
    ]


def test_other_counts_do_not_keep_the_lists_of_the_preset() -> None:
    found = machine("preset: xeon-2s\npackages: 1\ncores: 2\ndistances: {local: 10}\n")
    assert found.cpus_by_node() == {0: (0, 1, 2, 3)}
    grouped = machine("preset: xeon-2s\ngroups: [{cores: 1}, {cores: 2}]\nmemory: 1GiB\n")
    assert grouped.cpus_by_node() == {0: (0,), 1: (1, 2)}
    assert machine("preset: dgx1-v100\npci: []\nlinks: []\n").pci == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "my.yaml: does not hold a mapping"),
        ("[1]", "my.yaml: does not hold a mapping"),
        ("a: [", "my.yaml:1: is not YAML"),
        ("cores: 1\ncores: 2\n", "my.yaml:2: 'cores' is there twice"),
        ("? [a]\n: 1\n", "my.yaml:1: a key must be a plain word"),
        ("coers: 1", "my.yaml:1: coers: unknown key; the known ones are name, preset,"),
        ("preset: foo", "preset 'foo': no such machine; there are aws-p4d"),
        ("cores: two", "my.yaml:1: cores: 'two': is not a whole number"),
        ("nodes: 1\ncores: 0", "my.yaml:2: cores: 0: must be at least 1"),
        ("cores: {}", r"my.yaml:1: cores: {}: must be a single value"),
        ("cores: 1.5", "'1.5': is not a whole number"),
        ("memory: lots", "my.yaml:1: memory: 'lots': is not a size"),
        ("memory: -1GiB", "memory: '-1GiB': is not a size"),
        ("packages: 70000", "at most 65536 and 1024"),
        ("packages: 9999999999999999999", "at most 65536 and 1024"),
        ("dies: 2\nnodes: 3", "2 dies and 3 nodes a package"),
        ("dies: 2\nnodes: 1\ncores: 3", "cannot be split over 2 dies"),
        ("groups: []", "groups: .*give at least one group"),
        ("groups: [{cores: 1, core: 2}]", r"my.yaml:1: groups\[0\].core: unknown key"),
        ("groups: [{cores: 1}]\ncores: 3", "cores: '3': give counts either here or in each of `groups`"),
        ("groups: [3]", r"groups\[0\]: '3' is not a mapping"),
        ("cores: [{count: 1, threds: 2}]", r"cores\[0\].threds: unknown key"),
        ("numbering: odd", "numbering: 'odd': must be one of linux, compact"),
        ('packages: 2\ncpulist: {0: "0", 1: "0"}', "cpulist: node 1: cpu 0: is in the list of node 0 already"),
        ('packages: 2\ncpulist: {0: "0"}', "cpulist: node 1: give a list for each node"),
        ('cpulist: {0: "0-1"}', "cpulist: node 0: 2 CPUs, but the node has 1"),
        ('cpulist: {0: "0-"}', "cpulist.0: '0-': '' is not an id"),
        ("packages: 2\nnode-ids: [1]", r"node-ids: \[1\]: the groups have 2 nodes"),
        ("packages: 2\nnode-ids: [1, 1]", "give each its own id"),
        ("packages: 2\ndistances: [[10, 20]]", "distances: 1 rows of 2 entries for 2 nodes"),
        ("packages: 2\ndistances: [[10, 20], [20]]", "distances: 2 rows of 2, 1 entries for 2 nodes"),
        ("distances: {near: 1}", "distances.near: unknown key; the known ones are local, package, remote"),
        ("distances: [[400]]", "distance 400: must lie in 1-255"),
        ("offline: 7", "offline: cpu 7: is not one of its online CPUs"),
        ("offline: 0", "has no CPU online"),
        ("isolated: 7", "machine my: isolated: cpu 7: is not a CPU of this machine; name some of 0"),
        ("cores: 2\nisolated: 0-1", "isolated: cpu 0-1: are all CPUs; leave the kernel one for its scheduler"),
        ("cores: 2\nisolated: 1-", "my.yaml:2: isolated: '1-': '' is not an id"),
        ("hugepages: {2Mi: -1}", "hugepages.2Mi: -1: must be at least 0"),
        ("hugepages: {3MB: 1}", "hugepages.3MB: 3MB: is not a page size"),
        ("hugepages: {4Mi: 1}", "hugepages of 4096 kB: the machine has pages of 2048, 1048576"),
        ("hugepages: {1Gi: 5}", "more than the node's memory"),
        ("numa: {0: {size: 3}}", "numa.0.size: unknown key"),
        ("numa: {x: {}}", "numa.x: 'x': is not a whole number"),
        ("numa: {5000: {}}", "node 5000: an id must lie in 0-1023"),
        ("caches: {l5: 3}", "caches.l5: no such cache; the known ones are l1d"),
        ("caches: {l3: {size: 1MiB, share: socket}}", "share: 'socket': must be core, node, die, package or a number"),
        ("caches: {l3: {size: 1MiB, share: 0}}", "share: 0: must be at least 1"),
        ('devices: [{address: "7", class: gpu}]', r"devices\[0\].address: '7': is not a PCI address"),
        (
            'devices: [{address: "07:00.0"}]',
            r"devices\[0\].class: None: must be a number such as 0x030200, or one of gpu",
        ),
        ('devices: [{address: "07:00.0", class: gpu, id: 10de}]', "id: '10de': must be vendor and device"),
        (
            'devices: [{address: "07:00.0", class: gpu, vfs: {total: 1, count: 2}}]',
            "vfs.count: '2': the device has at most 1",
        ),
        ('devices: [{address: "ff:1f.7", class: gpu, vfs: {count: 2}}]', "would lie past bus ff"),
        ('devices: [{address: "07:00.0", class: gpu, node: 4}]', "0000:07:00.0: numa_node 4: is not a node"),
        ('devices: [{address: "07:00.0", buses: x}]', "buses: 'x': is not a range of buses"),
        ('devices: [{address: "07:00.0", class: gpu, files: [card0]}]', r"files\[0\]: 'card0': is not a device file"),
        ('devices: [{address: "07:00.0", class: gpu, bars: [[1, 2]]}]', r"bars\[0\]: must be \[start, end, flags\]"),
        ("pci: [{devices: []}]", r"pci\[0\].root: '': is not a host bridge"),
        ('links: [{between: ["00:00.0"]}]', r"links\[0\]: give either `between:` with two addresses"),
        ('links: [{between: ["x", "y"]}]', r"links\[0\].between\[0\]: 'x': is not a PCI address"),
        ('links: [{between: ["00:00.0", "00:01.0"]}]', "0000:00:00.0 is not a PCI function of this machine"),
        ("cpu: {mhz: 0}", "cpu.mhz: 0: must be at least 1"),
        ("name: [a]", r"my.yaml:1: name: \['a'\]: must be a text"),
        ("notes: {a: b}", "notes: .*: must be a list"),
        ("cpulist: 0-3", "cpulist: '0-3': must be a mapping"),
        ("packages: 2\ndistances: [[10, 300], [300, 10]]", "node 0: distance 300: must lie in 1-255"),
        ("memory: 1GiB\nhugepages: {1Gi: 2}", "hugepages of 2147483648 bytes: more than the node's memory"),
        ("cores: 2\noffline: 99", "offline: cpu 99: is not one of its online CPUs"),
        ("cores: 2\noffline: 0-1", "has no CPU online"),
        ("preset: xeon-2", "my.yaml:1: preset: preset 'xeon-2': no such machine; there are .*; did you mean xeon-2s"),
    ],
)
def test_a_mistake_is_told_in_one_line_with_its_place(text: str, words: str) -> None:
    with pytest.raises(MachineError, match=words) as caught:
        machine(text)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("my.yaml:")


@pytest.mark.parametrize("text", ["a: " + "[" * 1_000_000, "- " * 1_500 + "a"])
def test_a_file_nested_beyond_reason_is_refused(text: str) -> None:
    with pytest.raises(MachineError, match="is nested too deeply"):
        machine(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64GiB", 64 << 30),
        ("64Gi", 64 << 30),
        ("64G", 64 << 30),
        ("64GB", 64 * 10**9),
        ("1.5MiB", 3 << 19),
        ("12", 12),
        ("12B", 12),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size
    assert parse_size(format_size(size)) == size


def test_an_argument_is_a_preset_a_file_a_string_a_tree_or_the_host() -> None:
    with short_directory() as place:
        (place / "two.yaml").write_text("packages: 2\n")
        write(files(preset("laptop")), place / "tree")
        assert parse_machine("laptop") == preset("laptop")
        assert parse_machine(str(place / "two.yaml")).package_ids == (0, 1)
        assert parse_machine(str(place / "tree")) == preset("laptop")
        assert parse_machine(str(place / "tree" / "sys")) == preset("laptop")
    assert parse_machine("pack:3 pu:1").package_ids == (0, 1, 2)
    host = parse_machine("host")
    assert f"{host.cpu_ids[0]}" in Path("/sys/devices/system/cpu/online").read_text()


def test_a_bad_argument_is_told() -> None:
    with short_directory() as place:
        (place / "binary.yaml").write_bytes(b"\xff\xfe")
        (place / "large.yaml").write_bytes(b"#" * ((4 << 20) + 1))
        (place / "empty").mkdir()
        for name, words in (
            ("binary.yaml", r"binary.yaml: is not UTF-8 text \(byte 0\)"),
            ("large.yaml", "large.yaml: is larger than 4194304 bytes"),
            ("missing.yaml", "missing.yaml: cannot be read"),
            ("empty", "empty: is not the tree of a machine"),
            ("nothing", "nothing': is neither a file, a directory, an hwloc string"),
        ):
            with pytest.raises(MachineError, match=words):
                parse_machine(str(place / name))


def test_an_empty_host_bridge_is_kept() -> None:
    assert machine('pci: [{root: "00"}]').pci == (PciRoot(0, 0),)
