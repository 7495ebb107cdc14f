"""Tables of `nvidia-smi topo -m` of several generations, as people paste them, and the devices that they tell."""

import random
from collections.abc import Mapping, Sequence

import pytest

from numaproof.errors import UserError
from numaproof.harness.intake.nvidia_topo import NvidiaTopo, read_nvidia_topo
from numaproof.harness.providers.devices import Device

CPUS = {0: range(16), 1: range(16, 32)}
OLD, MIDDLE = ("CPU Affinity",), ("CPU Affinity", "NUMA Affinity")
NEW = (*MIDDLE, "GPU NUMA ID")
LEGEND = """
Legend:

  X    = Self
  SYS  = Connection between NUMA nodes
  PIX  = Connection through one PCIe bridge
  NV#  = Connection of # NVLinks

NIC Legend:

"""


def table(titles: Sequence[str], *rows: str, legend: Sequence[str] = ()) -> str:
    """The table as nvidia-smi draws it, with tabs, of rows such as `GPU0 X SYS|0-15|0|N/A`."""
    names = [row.split()[0] for row in rows]
    lines = ["\t".join(("", *names, *titles))]
    for row in rows:
        connections, *rest = row.split("|")
        name, *cells = connections.split()
        lines.append("\t".join((name, *(" X " if cell == "X" else cell for cell in cells), *rest)))
    nics = "".join(f"  NIC{number}: {name}\n" for number, name in enumerate(legend))
    return "\n".join(lines) + "\n" + LEGEND + nics


def read(text: str, cpus: Mapping[int, Sequence[int]] | None = CPUS) -> NvidiaTopo:
    found = read_nvidia_topo(text, "f", cpus)
    assert found is not None
    return found


def refusal(text: str) -> str:
    with pytest.raises(UserError) as caught:
        read_nvidia_topo(text, "f", CPUS)
    assert "\n" not in str(caught.value)
    return str(caught.value)


TWO = table(NEW, "GPU0 X SYS|0-15|0|N/A", "GPU1 SYS X|16-31|1|N/A")
APART = (Device("GPU0", (0,)), Device("GPU1", (1,)))


def without_first(text: str) -> str:
    return text.partition("\n")[2]


# The same two GPUs, in the forms in which people have their table.
SAME = {
    "of a new driver": TWO,
    "of one that tells NUMA nodes since recently": table(MIDDLE, "GPU0 X SYS|0-15|0", "GPU1 SYS X|16-31|1"),
    "with two tabs before the last column": TWO.replace("\tN/A", "\t\tN/A"),
    "with blanks": TWO.expandtabs(8),
    "with one blank between words": "\n".join(" ".join(line.split()) for line in TWO.splitlines()),
    "with the header at the margin": TWO.expandtabs(8).lstrip(),
    "underlined": TWO.replace("GPU0\tGPU1", "\x1b[4mGPU0\tGPU1", 1).replace("ID\n", "ID\x1b[0m\n", 1),
    "with what is left of underlines": TWO.replace("GPU0\tGPU1", "[4mGPU0\tGPU1", 1).replace("ID\n", "ID[0m\n", 1),
    "with underlines as an editor shows them": TWO.replace("GPU0", "^[[4mGPU0", 1).replace("ID\n", "ID^[[0m\n", 1),
    "quoted": "".join(f"> {line}\n" for line in TWO.expandtabs(8).splitlines()),
    "below a prompt, in a fence": f"```\nroot@node:~# nvidia-smi topo -m\n{TWO}```\n",
    "after other output": "GPU 0: a GPU (UUID: GPU-1)\nGPU 1: a GPU (UUID: GPU-2)\n" + TWO,
    "from another system": TWO.replace("\n", "\r\n"),
    "without its header": without_first(TWO),
    "without its legend": TWO.partition("\n\n")[0],
    "with a line left out": TWO.replace("GPU1\tSYS", "...\nGPU1\tSYS"),
    "wrapped in the last column": TWO.replace("\tN/A\n", "\nN/A\n").replace("\tGPU NUMA ID\n", "\nGPU NUMA ID\n"),
    "wrapped in a title": TWO.expandtabs(8).replace("CPU Affinity", "CPU\nAffinity", 1),
    "wrapped before the affinities": TWO.replace("\t0-15", "\n0-15").replace("\t16-31", "\n16-31"),
    "as a table of Markdown": "| | GPU0 | GPU1 | CPU Affinity | NUMA Affinity |\n|---|---|---|---|---|\n"
    "| GPU0 | X | SYS | 0-15 | 0 |\n| GPU1 | SYS | X | 16-31 | 1 |\n",
}


@pytest.mark.parametrize("form", SAME)
def test_numa_nodes_are_read(form: str) -> None:
    assert read(SAME[form]) == NvidiaTopo(APART, (), ())
    assert read(SAME[form], None).gpus == APART


def test_an_old_driver_tells_cpus_only() -> None:
    old = table(OLD, "GPU0 X SOC|0-15", "GPU1 SOC X|16-31")
    found = read(old)
    assert found.gpus == APART
    assert found.notes == ("f: GPU0, GPU1: the NUMA node is that of the CPU Affinity",)
    # Without the machine's CPUs nobody knows.
    found = read(old, None)
    assert found.gpus == (Device("GPU0", None), Device("GPU1", None))
    assert found.notes == ("f: GPU0, GPU1: nvidia-smi tells no NUMA Affinity; taken as a device without a NUMA node",)


@pytest.mark.parametrize("numa", ["N/A", "-1", "-", ""])
def test_what_is_not_told_is_no_numa_node(numa: str) -> None:
    found = read(table(NEW, f"GPU0 X SYS|0-31|{numa}|N/A", f"GPU1 SYS X|N/A|{numa}|N/A"))
    assert found.gpus == (Device("GPU0", None), Device("GPU1", None))
    assert found.notes == (
        "f: GPU0: the CPU Affinity is that of every NUMA node; taken as a device without a NUMA node",
        "f: GPU1: nvidia-smi tells no NUMA Affinity; taken as a device without a NUMA node",
    )


# Row by row: the NUMA node without the CPUs, and the CPUs without the NUMA node.
MISSING = {
    "with tabs": table(NEW, "GPU0 X SYS||1|N/A", "GPU1 SYS X|16-31||0"),
    "with blanks": """\
        GPU0    GPU1    CPU Affinity    NUMA Affinity   GPU NUMA ID
GPU0     X      SYS                     1               N/A
GPU1    SYS      X      16-31                           0
""",
}


@pytest.mark.parametrize("form", MISSING)
def test_what_is_missing_does_not_move_what_follows(form: str) -> None:
    assert read(MISSING[form], None).gpus == (Device("GPU0", (1,)), Device("GPU1", None))


def test_a_line_longer_than_any_table_is_none_of_it() -> None:
    assert read("GPU2 X " + "SYS " * 5000 + "\n" + TWO).gpus == APART


def test_on_a_machine_of_one_numa_node_the_cpus_tell_it() -> None:
    found = read(table(NEW, "GPU0 X|0-7|N/A|N/A"), {0: range(8)})
    assert found.gpus == (Device("GPU0", (0,)),)


def test_cpus_of_no_numa_node() -> None:
    assert read(table(OLD, "GPU0 X|64-95")).notes == (
        "f: GPU0: the CPU Affinity is that of no NUMA node; taken as a device without a NUMA node",
    )


def test_numa_nodes_that_are_memory_of_gpus_are_left_out() -> None:
    # Two CPUs with two GPUs each, whose memory is NUMA nodes 2-9 and 10-17.
    text = table(NEW, "GPU0 X NV18|0-15|0,2-9|2", "GPU1 NV18 X|16-31|1,10-17|10")
    found = read(text, {**CPUS, **dict.fromkeys(range(2, 18), ())})
    assert found.gpus == APART
    assert found.notes == ("f: GPU0, GPU1: of its NUMA Affinity, the NUMA nodes that have CPUs are taken",)
    # Where nobody knows which have CPUs, and where all have some, it is all of them.
    assert read(text, None).gpus[0].numa == (0, *range(2, 10))
    both = read(table(NEW, "GPU0 X|0-31|0-1|N/A"))
    assert (both.gpus, both.notes) == ((Device("GPU0", (0, 1)),), ())


def test_eight_gpus_with_nvlinks_and_nics() -> None:
    """Four GPUs on each socket, all linked; NICs beside GPU 0 and GPU 4, and one that is as far from all of a node."""
    gpus = range(8)
    rows = []
    for i in gpus:
        cells = ["X" if i == j else "NV12" for j in gpus]
        near = [
            ("PXB" if i == 0 else "NODE") if i < 4 else "SYS",
            "PIX" if i == 4 else "SYS",
            "NODE" if i > 3 else "SYS",
        ]
        rows.append(f"GPU{i} {' '.join(cells + near)}|{'0-15' if i < 4 else '16-31'}|{i // 4}|N/A")
    columns = [[row.split("|")[0].split()[9 + nic] for row in rows] for nic in range(3)]
    for nic, column in enumerate(columns):
        own = ["X" if nic == other else "SYS" for other in range(3)]
        rows.append(f"NIC{nic} {' '.join(column + own)}")
    found = read(table(NEW, *rows, legend=("mlx5_0", "mlx5_1", "mlx5_bond_0")))
    assert found.gpus == tuple(Device(f"GPU{i}", (i // 4,)) for i in gpus)
    assert found.nics == (Device("mlx5_0", (0,)), Device("mlx5_1", (1,)), Device("mlx5_bond_0", (1,)))
    assert found.notes == ()


def test_nics_of_older_drivers_have_their_own_names() -> None:
    found = read(
        table(
            OLD, "GPU0 X SOC PHB SOC|0-15", "GPU1 SOC X SOC SOC|16-31", "mlx4_0 PHB SOC X SOC", "mlx5_0 SOC SOC SOC X"
        )
    )
    assert found.nics == (Device("mlx4_0", (0,)), Device("mlx5_0", None))
    assert "f: mlx5_0: no GPU of a known NUMA node is near; taken as a NIC without a NUMA node" in found.notes


def test_a_nic_between_numa_nodes() -> None:
    found = read(table(NEW, "GPU0 X SYS PHB|0-15|0|N/A", "GPU1 SYS X PHB|16-31|1|N/A", "NIC0 PHB PHB X"))
    assert found.nics == (Device("NIC0", None),)
    assert found.notes == ("f: NIC0: the nearest GPUs are on several NUMA nodes; taken as a NIC without a NUMA node",)


def test_a_line_that_is_cut_off_is_a_gpu_all_the_same() -> None:
    found = read("\n".join(TWO.splitlines()[:2]))
    assert found.gpus == (Device("GPU0", (0,)), Device("GPU1", None))
    assert found.notes == ("f: GPU1: the line is cut off; taken as a device without a NUMA node",)


def test_without_a_header_a_row_tells_its_column_by_its_x() -> None:
    text = table(NEW, "GPU0 X NV2 SYS|0-15|0|N/A", "GPU1 NV2 X SYS|0-15|0|N/A", "GPU2 SYS SYS X|16-31|1|N/A")
    lines = text.splitlines()
    found = read("\n".join(lines[2:4]))  # neither the header nor the line of GPU0
    assert [one.id for one in found.gpus] == ["GPU0", "GPU1", "GPU2"]
    assert found.notes == ("f: GPU0: the line is cut off; taken as a device without a NUMA node",)


def test_an_unknown_connection_is_said() -> None:
    found = read(table(NEW, "GPU0 X C2C|0-15|0|N/A", "GPU1 C2C X|16-31|1|N/A"))
    assert found.gpus == APART
    assert found.notes == ("f: C2C is a connection that is not known; taken as one that tells of no NUMA node",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "nvidia.com/gpu: [{id: GPU0, numa: [0]}]",
        "GPU0: broken",
        "GPU0",
        "\tGPU0\tGPU1\n GPU0\tX\tGNS\n GPU1\tGNS\tX\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n",  # topo -p2p
        LEGEND,
    ],
)
def test_what_is_no_such_table(text: str) -> None:
    assert read_nvidia_topo(text, "f", CPUS) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TWO + TWO, "f:14: a second table of nvidia-smi topo -m starts; give the one of this node"),
        (TWO.partition("\n")[0], "f: this nvidia-smi topo -m has no line of a GPU; copy the whole table"),
        (TWO.replace("SYS\t16-31", "SYS"), None),
        (TWO.replace(" X \tSYS", " X ", 1), "f:2: GPU0 has 1 connections below 2 names; copy whole lines"),
        (TWO.replace(" X \tSYS", "SYS\t X ", 1), "f:2: GPU0 has its X in the column of another device; copy the table"),
        (TWO.replace("GPU1\tSYS\t X ", "GPU0\t X \tSYS"), "f:3: GPU0 has two lines; give the table of one node"),
        (TWO.replace("GPU1\tSYS", "GPU1\tPHB"), "f:3: GPU1 and GPU0 are PHB here and SYS in the line of GPU0; copy"),
        (TWO.replace("GPU0\tGPU1", "GPU0\tGPU0", 1), "f: this nvidia-smi topo -m has a name twice in its header; copy"),
        (TWO.replace("\t0\tN/A", "\t64\tN/A"), "f:2: GPU0 is on NUMA node 64, and the kubelet's masks end at 63"),
        (TWO.replace("\t0\tN/A", "\t3-1\tN/A"), "f:2: GPU0: NUMA Affinity '3-1' is not a list such as 0-3,8; copy the"),
        (TWO.replace("\t0\tN/A", "\tnone\tN/A"), "f:2: GPU0: NUMA Affinity 'none' is not a list such as 0-3,8; copy"),
        (TWO.replace("GPU1\tCPU", "...\tCPU", 1), "f:1: cells are left out ('...'); copy whole lines"),
        (TWO.replace("SYS\t0-15", "[...]\t0-15"), "f:2: cells are left out ('[...]'); copy whole lines"),
        (
            table(NEW, "GPU0 X PIX PIX|0-15|0|N/A", "NIC0 PIX X PIX", "NIC1 PIX PIX X", legend=("mlx5_0", "mlx5_0")),
            "f: two NICs are named mlx5_0 in this nvidia-smi topo -m; copy its legend again",
        ),
        ("GPU0 X " + "SYS " * 256, "f: this nvidia-smi topo -m has 257 columns; 256 are the most"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_in_a_line(text: str, message: str | None) -> None:
    if message is None:
        assert read(text).gpus == APART
    else:
        assert refusal(text).startswith(message)


@pytest.mark.parametrize("form", SAME)
def test_any_beginning_and_any_damage_is_read_or_refused_in_a_line(form: str) -> None:
    text, dice = SAME[form], random.Random(form)
    damaged = [text[:length] for length in range(len(text))]
    for _ in range(200):
        start, end = sorted(dice.sample(range(len(text)), 2))
        damaged.append(text[:start] + dice.choice(("", "\n", " ", "...", "GPU1", "X", "\t")) + text[end:])
    for one in damaged:
        said: tuple[str, ...] = ()
        try:
            found = read_nvidia_topo(one, "f", CPUS)
            said = found.notes if found else ()
        except UserError as error:
            said = (str(error),)
        assert all(line.startswith("f") and "\n" not in line for line in said), one
