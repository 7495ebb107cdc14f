"""The text of `lscpu` in the forms of several versions and languages, whole and damaged."""

import pytest

from tests.fake_sysfs.texts.reading import GIB, assumed, cores, machine_of, refusal, survives_every_prefix

# Two sockets of two cores with two threads, as util-linux 2.38 prints it below headings on a terminal.
HEADINGS = """\
Architecture:             x86_64
  CPU op-mode(s):         32-bit, 64-bit
  Byte Order:             Little Endian
CPU(s):                   8
  On-line CPU(s) list:    0-7
Vendor ID:                GenuineIntel
  Model name:             Intel(R) Xeon(R) Example
    CPU family:           6
    Thread(s) per core:   2
    Core(s) per socket:   2
    Socket(s):            2
    CPU max MHz:          3700,0000
Virtualization features:  
  Virtualization:         VT-x
Caches (sum of all):      
  L1d:                    128 KiB (4 instances)
  L2:                     4 MiB (4 instances)
  L3:                     33 MiB (2 instances)
NUMA:                     
  NUMA node(s):           2
  NUMA node0 CPU(s):      0,1,4,5
  NUMA node1 CPU(s):      2,3,6,7
Vulnerabilities:          
  Meltdown:               Not affected
"""  # noqa: W291 (lscpu ends these lines so)
BY_NODE = {0: (0, 1, 4, 5), 1: (2, 3, 6, 7)}
CORES = [(0, 4), (1, 5), (2, 6), (3, 7)]

# The same machine by util-linux 2.23, which tells the size of one cache.
OLD = """\
Architecture:          x86_64
CPU(s):                8
On-line CPU(s) list:   0-7
Thread(s) per core:    2
Core(s) per socket:    2
Socket(s):             2
NUMA node(s):          2
Vendor ID:             GenuineIntel
Model name:            Intel(R) Xeon(R) Example
CPU MHz:               1200.000
L1d cache:             32K
L2 cache:              1024K
L3 cache:              16896K
NUMA node0 CPU(s):     0,1,4,5
NUMA node1 CPU(s):     2,3,6,7
"""
GERMAN = """\
Architektur:                  x86_64
CPU(s):                       8
Liste der Online-CPU(s):      0-7
Thread(s) pro Kern:           2
Kern(e) pro Socket:           2
Sockel:                       2
NUMA-Knoten:                  2
L1d Cache:                    128 KiB
NUMA-Knoten0 CPU(s):          0,1,4,5
NUMA-Knoten1 CPU(s):          2,3,6,7
"""
FRENCH = """\
Processeur(s) :                         8
Thread(s) par cœur :                    2
Cœur(s) par socket :                    2
Socket(s) :                             2
Nœud(s) NUMA :                          2
Nœud NUMA 0 de processeur(s) :          0,1,4,5
Nœud NUMA 1 de processeur(s) :          2,3,6,7
"""
SPANISH = """\
CPU(s):                              8
Hilo(s) de procesamiento por núcleo: 2
Núcleo(s) por «socket»:              2
«Socket(s)»:                         2
Modo(s) NUMA:                        2
CPU(s) del nodo NUMA 0:              0,1,4,5
CPU(s) del nodo NUMA 1:              2,3,6,7
"""
CHINESE = """\
CPU:                             8
每个核的线程数\uff1a                2
每个座的核数\uff1a                  2
座\uff1a                            2
NUMA 节点\uff1a                     2
NUMA 节点0 CPU\uff1a                0,1,4,5
NUMA 节点1 CPU\uff1a                2,3,6,7
"""
MASKS = """\
On-line CPU(s) mask:  0xff
Thread(s) per core:   2
Core(s) per socket:   2
Socket(s):            2
NUMA node0 CPU(s):    0x33
NUMA node1 CPU(s):    0xcc
"""
FORMS = {
    "headings": HEADINGS,
    "old": OLD,
    "german": GERMAN,
    "french": FRENCH,
    "spanish": SPANISH,
    "chinese": CHINESE,
    "masks": MASKS,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_tells_of_the_same_cpus(form: str) -> None:
    machine = machine_of(FORMS[form])
    assert machine.cpus_by_node() == BY_NODE
    assert cores(machine) == CORES
    assert [cpu.package for cpu in machine.cpus] == [0, 0, 1, 1, 0, 0, 1, 1]
    # Nothing of it is a guess.
    assert not any("a core" in note or "a socket:" in note for note in assumed(machine) if " caches: " not in note)


def test_sizes_of_caches_are_those_of_one() -> None:
    """128 KiB of 4 are 32 KiB each; 33 MiB of two are 16.5 MiB; 16896K is 16.5 MiB of one."""
    sizes = {1: 32 << 10, 2: 1 << 20, 3: 33 << 19}
    for text in (HEADINGS, OLD):
        machine = machine_of(text)
        assert {cache.level: cache.size for cache in machine.caches} == sizes
        assert [cache.cpus for cache in machine.caches if cache.level == 3] == [BY_NODE[0], BY_NODE[1]]
        assert [cache.cpus for cache in machine.caches if cache.level == 2] == CORES
    assert "L3 caches: one a socket: the text does not tell how many" in assumed(machine_of(OLD))


def test_what_a_cpu_is_called_and_its_frequency_are_read() -> None:
    machine = machine_of(HEADINGS)
    assert (machine.cpu_model, machine.cpu_vendor, machine.mhz) == ("Intel(R) Xeon(R) Example", "GenuineIntel", 3700)


def test_memory_and_distances_are_assumed_and_said() -> None:
    machine = machine_of(HEADINGS)
    assert [node.memory for node in machine.nodes] == [16 * GIB, 16 * GIB]  # 4 CPUs of 4 GiB
    assert [node.distances for node in machine.nodes] == [(10, 20), (20, 10)]
    assert "memory is not told: 4 GiB a CPU" in assumed(machine)
    assert "distances are not told: 10 within a NUMA node, 20 from one to another" in assumed(machine)


def test_the_numa_lines_alone_are_a_machine() -> None:
    machine = machine_of(
        "NUMA node(s):          2\nNUMA node0 CPU(s):     0-17,36-53\nNUMA node1 CPU(s):     18-35,54-71\n"
    )
    assert machine.cpus_by_node() == {0: (*range(18), *range(36, 54)), 1: (*range(18, 36), *range(54, 72))}
    assert cores(machine)[0] == (0, 36)
    assert any(note.startswith("two threads a core, CPUs 0 and 36") for note in assumed(machine))


def test_without_numa_lines_each_socket_is_a_node_which_is_said() -> None:
    """As x86 numbers CPUs: first one thread of each core, 0-1 of one socket and 2-3 of the other, then 4-7."""
    machine = machine_of("".join(line for line in OLD.splitlines(keepends=True) if "NUMA" not in line))
    assert machine.cpus_by_node() == BY_NODE
    assert cores(machine) == CORES
    assert "NUMA nodes are not told: one a socket" in assumed(machine)


def test_threads_in_a_row_are_told_by_nodes_that_they_would_straddle() -> None:
    """Two nodes 0-3 and 4-7 of two threads a core: CPUs 0 and 4 are on two nodes, so 0 and 1 are a core."""
    machine = machine_of("Thread(s) per core: 2\nNUMA node0 CPU(s): 0-3\nNUMA node1 CPU(s): 4-7\n")
    assert cores(machine) == [(0, 1), (2, 3), (4, 5), (6, 7)]


def test_threads_are_told_by_two_runs_though_numbers_between_are_missing() -> None:
    machine = machine_of("Thread(s) per core: 2\nNUMA node0 CPU(s): 0-3,16-19\nNUMA node1 CPU(s): 4-7,20-23\n")
    assert cores(machine) == [(cpu, cpu + 16) for cpu in range(8)]


def test_threads_that_the_nodes_do_not_allow_are_one_a_core_which_is_said() -> None:
    machine = machine_of("Thread(s) per core: 4\nNUMA node0 CPU(s): 0-2\nNUMA node1 CPU(s): 3-5\n")
    assert cores(machine) == [(cpu,) for cpu in range(6)]
    assert "one thread a core: the CPUs of the NUMA nodes do not make cores of 4 threads" in assumed(machine)


def test_two_kinds_of_cores_are_told_by_their_number() -> None:
    """20 CPUs of 14 cores: 6 cores have two threads, 8 have one."""
    machine = machine_of(
        "CPU(s): 20\nThread(s) per core: 2\nCore(s) per socket: 14\nSocket(s): 1\nNUMA node0 CPU(s): 0-19\n"
    )
    assert cores(machine) == [*((cpu, cpu + 1) for cpu in range(0, 12, 2)), *((cpu,) for cpu in range(12, 20))]
    assert any("6 cores with two threads (CPUs 0-11) and 8 with one" in note for note in assumed(machine))


def test_sockets_of_one_node_share_its_cores() -> None:
    """Two sockets as one node, as with node interleaving in the firmware."""
    machine = machine_of("Thread(s) per core: 1\nCore(s) per socket: 2\nSocket(s): 2\nNUMA node0 CPU(s): 0-3\n")
    assert [cpu.package for cpu in machine.cpus] == [0, 0, 1, 1]


def test_sockets_of_an_arm_machine_that_does_not_tell_are_its_nodes() -> None:
    machine = machine_of(
        "Architecture: aarch64\nCPU(s): 4\nThread(s) per core: 1\nCore(s) per cluster: 4\nSocket(s): -\n"
        "Cluster(s): 1\nNUMA node(s): 2\nNUMA node0 CPU(s): 0,1\nNUMA node1 CPU(s): 2,3\n"
    )
    assert [cpu.package for cpu in machine.cpus] == [0, 0, 1, 1]
    assert "each NUMA node is a socket: the text does not tell of sockets" in assumed(machine)


@pytest.mark.parametrize("missing", ["", "-"])
def test_a_node_without_cpus_has_none(missing: str) -> None:
    machine = machine_of(
        f"NUMA node(s): 3\nNUMA node0 CPU(s): 0-3\nNUMA node1 CPU(s): 4-7\nNUMA node2 CPU(s): {missing}\n"
    )
    assert machine.cpus_of(2) == ()


def test_a_node_that_is_not_told_has_none_where_others_have_all_cpus() -> None:
    machine = machine_of("CPU(s): 8\nNUMA node(s): 3\nNUMA node0 CPU(s): 0-3\nNUMA node1 CPU(s): 4-7\n")
    assert machine.cpus_by_node() == {0: (0, 1, 2, 3), 1: (4, 5, 6, 7), 2: ()}


def test_offline_cpus_are_left_out_which_is_said() -> None:
    machine = machine_of(
        "CPU(s): 8\nOn-line CPU(s) list: 0-2,4-7\nOff-line CPU(s) list: 3\nThread(s) per core: 2\n"
        "Core(s) per socket: 4\nSocket(s): 1\nNUMA node0 CPU(s): 0-2,4-7\n"
    )
    assert cores(machine) == [(0, 4), (1, 5), (2, 6), (7,)]
    assert "CPU 3: offline, and left out, as the text does not tell the NUMA node" in assumed(machine)


ROWS = """\
CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE    MAXMHZ   MINMHZ
  0    0      0    0 0:0:0:0          yes 3700.0000 800.0000
  1    1      1    1 1:1:1:1          yes 3700.0000 800.0000
  2    0      0    0 0:0:0:0          yes 3700.0000 800.0000
  3    1      1    1 1:1:1:1          yes 3700.0000 800.0000
  4    -      -    - -                 no         -        -
"""
PARSABLE = """\
# The following is the parsable format, which can be fed to other
# programs. Each different item in every column has an unique ID
# starting usually from zero.
# CPU,Core,Socket,Node,,L1d,L1i,L2,L3
0,0,0,0,,0,0,0,0
1,1,1,1,,1,1,1,1
2,0,0,0,,0,0,0,0
3,1,1,1,,1,1,1,1
"""


@pytest.mark.parametrize("text", [ROWS, PARSABLE], ids=["-e", "-p"])
def test_rows_tell_threads_sockets_and_who_shares_a_cache(text: str) -> None:
    machine = machine_of(text)
    assert machine.cpus_by_node() == {0: (0, 2), 1: (1, 3)}
    assert cores(machine) == [(0, 2), (1, 3)]
    assert [cpu.package for cpu in machine.cpus] == [0, 1, 0, 1]
    assert {cache.cpus for cache in machine.caches if cache.level == 3} == {(0, 2), (1, 3)}


JSON = """\
{
   "lscpu": [
      {
         "field": "CPU(s):",
         "data": "4",
         "children": [
            {
               "field": "On-line CPU(s) list:",
               "data": "0-3"
            }
         ]
      },{
         "field": "NUMA:",
         "data": null,
         "children": [
            {
               "field": "NUMA node(s):",
               "data": "2"
            },{
               "field": "NUMA node0 CPU(s):",
               "data": "0,1"
            },{
               "field": "NUMA node1 CPU(s):",
               "data": "2,3"
            }
         ]
      }
   ]
}
"""


def test_json_below_headings_is_read() -> None:
    assert machine_of(JSON).cpus_by_node() == {0: (0, 1), 1: (2, 3)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Architecture: x86_64\nSocket(s): 2\n", "tells of no CPUs"),
        ("NUMA node(s): 2\n", "tells of no CPUs"),
        ("NUMA node0 CPU(s): -\n", "tells of no CPUs"),
        ("CPU(s): 100000\n", "100000 CPUs: a machine has from 1 to 8192"),
        ("NUMA node0 CPU(s): 0-999999999\n", "CPU 999999999: ids lie in 0-8191"),
        ("NUMA node0 CPU(s): 0-3\nNUMA node1 CPU(s): 2-5\n", "CPU 2: is on NUMA node 0 and on 1"),
    ],
)
def test_what_cannot_be_a_machine_is_refused_in_a_line(text: str, words: str) -> None:
    assert words in refusal(text)


@pytest.mark.parametrize("text", [*FORMS.values(), ROWS, PARSABLE, JSON])
def test_any_prefix_is_a_machine_or_refused(text: str) -> None:
    assert survives_every_prefix(text) > 0
