"""lstopo's XML in the forms of hwloc 1 and 2, whole, cut off, and hostile."""

from collections.abc import Callable

import pytest

from tests.fake_sysfs.texts.reading import GIB, assumed, cores, machine_of, refusal, survives_every_prefix

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">\n'
# A package of two nodes; a graphics card behind a bridge beside the second one, whose network card has a name.
TWO = f"""{HEAD}\
  <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f">
    <info name="Backend" value="Linux"/>
    <object type="Package" os_index="3">
      <info name="CPUModel" value="Example CPU"/>
      <object type="Group" kind="1001">
        <object type="NUMANode" os_index="0" local_memory="4294967296">
          <page_type size="4096" count="524288"/>
          <page_type size="2097152" count="1024"/>
          <page_type size="1073741824" count="0"/>
        </object>
        <object type="L3Cache" os_index="0" cache_size="8388608" depth="3" cache_associativity="16">
          <object type="Core" os_index="0">
            <object type="PU" os_index="0"/>
            <object type="PU" os_index="2"/>
          </object>
        </object>
      </object>
      <object type="Group" kind="1001">
        <object type="NUMANode" os_index="1" local_memory="2147483648"/>
        <object type="NUMANode" os_index="2" local_memory="1073741824"/>
        <object type="L3Cache" os_index="1" cache_size="8388608" depth="3" cache_associativity="16">
          <object type="Core" os_index="8">
            <object type="PU" os_index="1"/>
            <object type="PU" os_index="3"/>
          </object>
        </object>
        <object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[80-82]">
          <object type="Bridge" bridge_type="1-1" depth="1" bridge_pci="0000:[81-81]"
              pci_busid="0000:80:01.0" pci_type="0604 [8086:2030] [0000:0000] 00">
            <object type="PCIDev" pci_busid="0000:81:00.0" pci_type="0302 [10de:20b0] [10de:144e] a1"/>
          </object>
          <object type="PCIDev" pci_busid="0000:80:02.0" pci_type="0200 [15b3:101d] [0000:0000] 00">
            <object type="OSDev" name="ens1" osdev_type="2"><info name="Address" value="02:00:00:80:10:00"/></object>
            <object type="OSDev" name="mlx5_0" osdev_type="3"/>
          </object>
        </object>
      </object>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="3" kind="5" name="NUMALatency" indexing="os">
    <indexes length="6">0 1 2 </indexes>
    <u64values length="12">10 12 14 12 </u64values>
    <u64values length="15">10 17 14 17 10 </u64values>
  </distances2>
</topology>
"""
# As hwloc 1 wrote it: nodes hold what is in them, and figures of distances are multiplied by a base.
OLD = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc.dtd">
<topology>
  <object type="Machine" os_index="0" cpuset="0x0000000f">
    <distances nbobjs="2" relative_depth="1" latency_base="10.000000">
      <latency value="1.000000"/>
      <latency value="2.100000"/>
      <latency value="2.100000"/>
      <latency value="1.000000"/>
    </distances>
    <object type="NUMANode" os_index="0" local_memory="4294967296">
      <page_type size="4096" count="1048576"/>
      <object type="Socket" os_index="0">
        <object type="Cache" cache_size="8388608" depth="3" cache_linesize="64" cache_type="0">
          <object type="Cache" cache_size="32768" depth="1" cache_linesize="64" cache_type="1">
            <object type="Core" os_index="0"><object type="PU" os_index="0"/><object type="PU" os_index="2"/></object>
          </object>
        </object>
      </object>
    </object>
    <object type="NUMANode" os_index="1" local_memory="4294967296">
      <object type="Socket" os_index="1">
        <object type="Core" os_index="0"><object type="PU" os_index="1"/><object type="PU" os_index="3"/></object>
      </object>
    </object>
  </object>
</topology>
"""


def test_hwloc_2_tells_cpus_nodes_caches_and_distances() -> None:
    machine = machine_of(TWO)
    assert machine.cpus_by_node() == {0: (0, 2), 1: (1, 3), 2: ()}
    assert [(cpu.package, cpu.core, cpu.die) for cpu in machine.cpus] == [(3, 0, 0), (3, 8, 0), (3, 0, 0), (3, 8, 0)]
    assert [node.memory for node in machine.nodes] == [4 * GIB, 2 * GIB, GIB]
    assert [(pages.size_kb, pages.pages) for pages in machine.nodes[0].hugepages] == [(2048, 1024)]
    assert machine.hugepage_sizes == (2048, 1048576)
    assert [node.distances for node in machine.nodes] == [(10, 12, 14), (12, 10, 17), (14, 17, 10)]
    assert [(cache.level, cache.size, cache.cpus, cache.ways) for cache in machine.caches] == [
        (3, 8 << 20, (0, 2), 16),
        (3, 8 << 20, (1, 3), 16),
    ]
    assert machine.cpu_model == "Example CPU"
    assert assumed(machine) == ["NUMA node 2: has no CPUs of its own, as lstopo shows it beside another one's"]


def test_devices_are_where_their_host_bridge_is() -> None:
    machine = machine_of(TWO)
    bridge, network, graphics = machine.devices()
    assert [root.name for root in machine.pci] == ["pci0000:80"]
    assert (bridge.address, bridge.bus_range, bridge.class_code) == ("0000:80:01.0", (0x81, 0x81), 0x060400)
    assert (graphics.vendor, graphics.device, graphics.class_code) == (0x10DE, 0x20B0, 0x030200)
    assert (graphics.subsystem_vendor, graphics.subsystem_device) == (0x10DE, 0x144E)
    assert [(card.name, card.address) for card in network.net] == [("ens1", "02:00:00:80:10:00")]
    assert network.infiniband == ("mlx5_0",)
    assert {device.numa_node for device in machine.devices()} == {1}


def test_devices_beside_all_nodes_are_on_none() -> None:
    start, end = (
        TWO.index('        <object type="Bridge" bridge_type="0-1"'),
        TWO.index("      </object>\n    </object>\n  </object>\n  <distances2"),
    )
    machine = machine_of(
        TWO[:start] + TWO[end:].replace("    </object>\n  </object>", f"    </object>\n{TWO[start:end]}  </object>", 1)
    )
    assert {device.numa_node for device in machine.devices()} == {-1}


def test_hwloc_1_tells_the_same_in_its_own_words() -> None:
    machine = machine_of(OLD)
    assert machine.cpus_by_node() == {0: (0, 2), 1: (1, 3)}
    assert cores(machine) == [(0, 2), (1, 3)]
    assert [cpu.package for cpu in machine.cpus] == [0, 1, 0, 1]
    assert [node.distances for node in machine.nodes] == [(10, 21), (21, 10)]
    assert {(cache.level, cache.kind, cache.size, cache.cpus) for cache in machine.caches} == {
        (3, "Unified", 8 << 20, (0, 2)),
        (1, "Data", 32 << 10, (0, 2)),
    }
    assert machine.notes == ()


def test_hwloc_1_without_numa_is_one_node() -> None:
    machine = machine_of(
        '<topology><object type="Machine" os_index="0" local_memory="1073741824">'
        '<object type="PU" os_index="0"/><object type="PU" os_index="1"/></object></topology>'
    )
    assert [(node.id, node.memory) for node in machine.nodes] == [(0, GIB)]
    assert cores(machine) == [(0,), (1,)]
    assert assumed(machine) == ["one NUMA node, with all CPUs and the memory of the machine: the XML has none"]


def test_pages_of_another_architecture_are_read() -> None:
    """As POWER has them: common pages of 64 KiB, huge ones of 16 MiB and 16 GiB."""
    text = (
        TWO.replace('"4096"', '"65536"').replace('"2097152"', '"16777216"').replace('"1073741824" c', '"17179869184" c')
    )
    machine = machine_of(text.replace('count="1024"', 'count="2"'))
    assert machine.hugepage_sizes == (16 << 10, 16 << 20)
    assert [(pages.size_kb, pages.pages) for pages in machine.nodes[0].hugepages] == [(16 << 10, 2)]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: f"```xml\n{text}```\n",
        lambda text: f"$ lstopo-no-graphics --of xml\n{text}$ \n",
        lambda text: text.removeprefix(HEAD[: HEAD.index("<topology")]),
        lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
        lambda text: text.replace("\n", "\r\n"),
    ],
    ids=["fence", "prompt", "no head", "quoted", "crlf"],
)
def test_what_a_paste_leaves_around_it_changes_nothing(change: Callable[[str], str]) -> None:
    assert machine_of(change(TWO)) == machine_of(TWO)


def test_without_distances_they_are_assumed() -> None:
    machine = machine_of(TWO.replace("distances2", "elsewhere"))
    assert machine.nodes[0].distances == (10, 20, 20)
    assert "distances are not told: 10 within a NUMA node, 20 from one to another" in assumed(machine)


def test_what_comes_before_damage_is_a_machine_which_is_said() -> None:
    """The first PU closes in the line that is the 18th: the XML is cut behind it."""
    cut = TWO[: TWO.index('            <object type="PU" os_index="2"/>')]
    machine = machine_of(cut)
    assert machine.cpu_ids == (0,)
    assert assumed(machine)[0].startswith(f"lstopo's XML cannot be read from line {cut.count(chr(10)) + 1}: ")


BOMB = """\
<?xml version="1.0"?>
<!DOCTYPE topology [
 <!ENTITY a "aaaaaaaaaa">
 <!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
]>
<topology><object type="Machine"><info name="x" value="&b;"/><object type="PU" os_index="0"/></object></topology>
"""
OUTSIDE = BOMB.replace('<!ENTITY a "aaaaaaaaaa">', '<!ENTITY a SYSTEM "file:///etc/hostname">')


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BOMB, "declares the entity 'a'"),
        (OUTSIDE, "declares the entity 'a'"),
        ("<topology>", "has no PU"),
        ("<topology", "cannot be read"),
        ("<topology & />", "cannot be read"),
        (TWO.replace('"PU"', '"Misc"'), "has no PU"),
        (TWO.replace('type="PU" os_index="0"', 'type="PU"'), "PU of os_index ''"),
        (TWO.replace('type="PU" os_index="3"', 'type="PU" os_index="70000"'), "PU of os_index '70000'"),
        (TWO.replace('type="NUMANode" os_index="2"', 'type="NUMANode" os_index="1"'), "NUMA node of os_index '1'"),
        (f"<topology>{'<object>' * 300}", "nests more than 200"),
    ],
)
def test_what_cannot_be_a_machine_is_refused_in_a_line(text: str, words: str) -> None:
    assert words in refusal(text)
    assert len(refusal(text)) < 200


@pytest.mark.parametrize("text", [TWO, OLD], ids=["2", "1"])
def test_any_prefix_is_a_machine_or_refused(text: str) -> None:
    # From the end of the first PU on, there is a CPU.
    assert survives_every_prefix(text) >= len(text) - text.index('"PU"') - 40
