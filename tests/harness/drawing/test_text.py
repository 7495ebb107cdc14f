"""The drawing in a terminal: its width, its signs, its colours, and outputs that know few characters."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from numaproof.fake_sysfs.catalogue import preset
from numaproof.harness.drawing.marks import letters
from numaproof.harness.drawing.scene import DeviceMark, Holding, Scene, Wish
from numaproof.harness.drawing.text import draw_text, to_ascii, to_encoding
from tests.harness.drawing.scenes import HOSTILE, SCENES, plain_machine, with_pods

WIDTHS = (24, 25, 33, 40, 57, 79, 80, 81, 120, 200)
ESCAPES = re.compile(r"\x1b\[[0-9;]+m")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SCENES)
def test_no_line_is_wider_than_asked(name: str, width: int) -> None:
    lines = draw_text(SCENES[name], width)
    assert max(map(len, lines)) <= width
    assert all(line == line.rstrip() and line.isprintable() for line in lines)


def test_a_width_of_which_nobody_can_make_anything_is_kept_all_the_same() -> None:
    lines = draw_text(SCENES["dgx-h100, 10 pods"], 9)
    assert max(map(len, lines)) == 9
    # What is cut says so.
    assert [line for line in lines if len(line) == 9 and line.endswith("…")]


def cells(lines: list[str]) -> Counter[str]:
    """How many CPUs have which sign: in the rows of cores, a number and then groups of signs."""
    rows = [one[1] for line in lines if (one := re.fullmatch(r"[│┊] +\d+ ([A-Zrx.*/ ]+)", line))]
    signs = [sign for row in rows for sign in re.findall(r"[A-Z]{2}(?=[/ ]|$)|[A-Zrx.*]" if "/" in row else ".", row)]
    return Counter(sign for sign in signs if sign not in " /")


@pytest.mark.parametrize("width", [40, 80, 160])
@pytest.mark.parametrize("pods", [0, 5, 26])
@pytest.mark.parametrize("name", ["laptop", "xeon-2s", "dgx-h100", "epyc-7742-nps4", "gb200", "power9-ac922"])
def test_every_cpu_is_a_sign(name: str, pods: int, width: int) -> None:
    machine = preset(name)
    scene = with_pods(machine, pods) if pods else Scene(machine)
    expected = Counter({letters(pod): len(holding.cpus) for pod, holding in enumerate(scene.holdings)})
    expected |= Counter({"r": len(scene.reserved_cpus)})
    expected["x"] = sum(not cpu.online for cpu in machine.cpus)
    expected["."] = len(machine.cpus) - expected.total()
    assert cells(draw_text(scene, width)) == +expected


def test_signs_of_two_letters_are_told_from_two_signs() -> None:
    machine = plain_machine(nodes=1, cores=3, threads=2)
    holders = {0: 0, 1: 26, 2: 26, 3: 0, 4: 26}  # CPU -> pod; the 27th is AA
    holdings = tuple(
        Holding(f"p{pod}", frozenset(cpu for cpu, holder in holders.items() if holder == pod)) for pod in range(27)
    )
    lines = draw_text(Scene(machine, holdings))
    assert "│ 0 A /AA AA/A  AA/." in lines


def test_the_bars_of_big_machines_tell_a_from_aa() -> None:
    """Bars of 8 columns for 64 CPUs: 16 of a pod are two columns, 32 are four."""
    machine = plain_machine(nodes=17, cores=64)
    held = {0: range(16), 26: range(64, 80), 27: range(128, 160)}
    holdings = tuple(Holding(f"p{pod}", frozenset(held.get(pod, ()))) for pod in range(28))
    bars = re.findall(r"\[[^\]]{8}\] \d+/64", "\n".join(draw_text(Scene(machine, holdings))))
    assert sorted(bars)[-3:] == ["[A=......] 48/64", "[AA......] 48/64", "[AB==....] 32/64"]


def test_a_piece_that_is_narrower_than_its_sign_is_no_other_pods() -> None:
    machine = plain_machine(nodes=17, cores=64)
    holdings = tuple(Holding(f"p{pod}", frozenset({26: range(8)}.get(pod, ()))) for pod in range(27))
    assert "[#.......] 56/64" in "\n".join(draw_text(Scene(machine, holdings)))


def test_a_refused_request_is_told_on_the_nodes_where_it_nearly_fits() -> None:
    wish = Wish("default/late", (1,), "wants 9 CPUs, 8 free")
    lines = draw_text(Scene(plain_machine(nodes=3, cores=8), wish=wish))
    assert "refused: default/late: lacks least on NUMA node 1: wants 9 CPUs, 8 free" in lines
    at = lines.index("┊ refused here: wants 9 CPUs, 8 free")
    assert lines[at - 1].startswith("┊ NUMA node 1 ")
    assert sum("refused here" in line for line in lines) == 1
    tiles = draw_text(replace(SCENES["big-64"], wish=replace(wish, nodes=(5, 63))))
    assert [line for line in tiles if "! 5 " in line]
    assert [line for line in tiles if "! 63 " in line]
    assert "! NUMA node 63: wants 9 CPUs, 8 free" in tiles


def test_colour_lies_on_top_of_the_same_text() -> None:
    for name in ("dgx-h100, 10 pods", "big-64, 70 pods", "laptop"):
        plain, coloured = draw_text(SCENES[name]), draw_text(SCENES[name], colour=True)
        assert [ESCAPES.sub("", line).rstrip() for line in coloured] == plain
        assert not any("\x1b" in line for line in plain)
        # Whatever is switched on is switched off in the same line.
        assert all(len(re.findall(r"\x1b\[0m", line)) * 2 == line.count("\x1b") for line in coloured)
    assert any("\x1b" in line for line in draw_text(SCENES["dgx-h100, 10 pods"], colour=True))


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_foreign_text_keeps_to_its_line(hostile: str) -> None:
    scene = Scene(
        plain_machine(),
        (Holding(hostile, frozenset((0,)), {0: 1 << 20}, frozenset((hostile,))),),
        (DeviceMark(f"example.com/{hostile}", hostile, (0,)), DeviceMark(hostile, "b", (7,), healthy=False)),
        wish=Wish(hostile, (1,), hostile),
        title=hostile,
    )
    for width in (24, 80):
        lines = draw_text(scene, width)
        assert len(lines) < 60
        assert all(line.isprintable() and len(line) <= width for line in lines)


@pytest.mark.parametrize("name", ["gb200", "dgx-h100, 10 pods", "big-64, 70 pods"])
def test_an_output_that_knows_ascii_alone(name: str) -> None:
    lines = draw_text(SCENES[name])
    plain = to_ascii(lines)
    assert all(line.isascii() for line in plain)
    assert [len(line) for line in plain] == [len(line) for line in lines]
    assert "?" not in "".join(plain)  # every sign of ours has another


def test_other_encodings_keep_the_letters_that_they_have() -> None:
    scene = Scene(plain_machine(), (Holding("caf\u00e9/\u0434", frozenset((0,))),))
    told = {encoding: "\n".join(to_encoding(draw_text(scene), encoding)) for encoding in ("latin-1", "cp437", "utf-8")}
    assert "A caf\u00e9/?  1 CPU 0" in told["latin-1"]
    assert "+ NUMA node 0 ---" in told["latin-1"]
    assert "\u250c NUMA node 0 \u2500\u2500\u2500" in told["cp437"]
    assert told["utf-8"] == "\n".join(draw_text(scene))


def test_4096_cpus_fit_on_a_screen() -> None:
    # 64 nodes in at least two columns, and a handful of lines around them.
    assert len(draw_text(SCENES["big-64"])) < 40
    # With 70 pods: a legend of 60, and for each node a line, and one for its devices.
    assert len(draw_text(SCENES["big-64, 70 pods"], 120)) < 60 + 2 * 64 + 20
