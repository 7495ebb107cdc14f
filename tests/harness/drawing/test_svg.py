"""The picture as browsers get it: what is in it, where it lies, and that no foreign word is more than a word."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from numaproof.fake_sysfs.alter import without_cpus
from numaproof.fake_sysfs.catalogue import preset
from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.harness.drawing.marks import letters
from numaproof.harness.drawing.scene import DeviceMark, Holding, Scene, Wish
from numaproof.harness.drawing.svg import draw_svg
from tests.harness.drawing.scenes import HOSTILE, PRESETS, SCENES, plain_machine, with_pods

SVG = "{http://www.w3.org/2000/svg}"
WIDTHS = (320, 440, 700, 1000, 1600)


class Placed(NamedTuple):
    """An element, and where its groups have moved it."""

    element: ElementTree.Element
    x: float
    y: float

    @property
    def kinds(self) -> list[str]:
        return self.element.get("class", "").split()

    def number(self, name: str) -> float:
        return float(self.element.get(name, "0"))

    @property
    def corners(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom of a rectangle."""
        x, y = self.x + self.number("x"), self.y + self.number("y")
        return x, y, x + self.number("width"), y + self.number("height")


def placed(element: ElementTree.Element, x: float = 0, y: float = 0) -> Iterator[Placed]:
    """Every element within one."""
    moved = re.fullmatch(r"translate\(([-\d.]+) ([-\d.]+)\)", element.get("transform", "translate(0 0)"))
    assert moved is not None
    x, y = x + float(moved[1]), y + float(moved[2])
    yield Placed(element, x, y)
    for inner in element:
        yield from placed(inner, x, y)


def drawn(scene: Scene, width: int = 1000) -> ElementTree.Element:
    return ElementTree.fromstring(draw_svg(scene, width=width))


def texts(within: ElementTree.Element) -> list[str]:
    return [one.text or "" for one in within.iter(f"{SVG}text")]


def with_attribute(within: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [one for one in within.iter() if one.get(name) is not None]


@pytest.mark.parametrize("name", SCENES)
def test_every_cpu_is_in_it_once(name: str) -> None:
    scene = SCENES[name]
    found = []
    for node in with_attribute(drawn(scene), "data-nodes"):
        cells = [int(one.get("data-cpu", "")) for one in with_attribute(node, "data-cpu")]
        if not cells:
            ids = parse_cpulist(node.get("data-nodes", ""))
            counted = sum(int(one.get("data-cpus", "")) for one in with_attribute(node, "data-cpus"))
            assert counted == sum(cpu.node in ids for cpu in scene.machine.cpus)
            cells = [cpu.id for cpu in scene.machine.cpus if cpu.node in ids]
        found += cells
    assert sorted(found) == [cpu.id for cpu in scene.machine.cpus]


@pytest.mark.parametrize("name", SCENES)
def test_every_numa_node_is_in_it_once(name: str) -> None:
    scene = SCENES[name]
    nodes = with_attribute(drawn(scene), "data-nodes")
    found = [int(one) for node in nodes for one in node.get("data-nodes", "").split(",")]
    assert sorted(found) == list(scene.machine.node_ids)


def test_what_a_pod_holds_has_its_sign_and_its_colour() -> None:
    scene = with_pods(preset("dgx-h100"), 12)
    cells = {int(one.get("data-cpu", "")): one for one in with_attribute(drawn(scene), "data-cpu")}
    holders = {cpu: pod for pod, holding in enumerate(scene.holdings) for cpu in holding.cpus}
    assert len(holders) == 168  # three quarters of 224
    for cpu, cell in cells.items():
        kinds = cell.get("class", "").split()
        if cpu in holders:
            assert texts(cell) == [letters(holders[cpu])]
            # The ninth pod has the first one's colour, and a rim.
            assert kinds == [f"np-pod{holders[cpu] % 8}"] + ["np-again"] * (holders[cpu] >= 8)
        else:
            assert texts(cell) == ["r"] * (cpu in scene.reserved_cpus)
            assert kinds == ["np-reserved" if cpu in scene.reserved_cpus else "np-free"]


def test_memory_and_devices_that_a_pod_holds_have_its_sign() -> None:
    scene = replace(with_pods(plain_machine(nodes=2, cores=20), 3), wish=None)
    picture = drawn(scene, 1600)
    pieces = with_attribute(picture, "data-bytes")
    of_pods = [one for one in pieces if "np-pod" in one.get("class", "")]
    # Of each node's 8 GiB, each of the three pods has a fifth.
    assert [int(one.get("data-bytes", "")) for one in of_pods] == [(8 << 30) // 5] * 6
    assert [texts(one) for one in of_pods] == [["A"], ["B"], ["C"]] * 2
    assert sum(int(one.get("data-bytes", "")) for one in pieces) == 16 << 30
    chips = [texts(one) for one in with_attribute(picture, "data-devices")]
    assert sorted(chips) == [["gpu gpu0 A"], ["gpu gpu1 B"], ["gpu gpu2 C"], ["gpu gpu3"], ["gpu gpu4"]]


def test_offline_cpus_and_those_of_two_pods_are_marked() -> None:
    scene = Scene(
        without_cpus(plain_machine(cores=4), (3,)),
        (Holding("a", frozenset((0, 1))), Holding("b", frozenset((1, 2)))),
    )
    cells = {int(one.get("data-cpu", "")): texts(one) for one in with_attribute(drawn(scene), "data-cpu")}
    assert [cells[cpu] for cpu in range(5)] == [["A"], ["*"], ["B"], ["x"], []]


@pytest.mark.parametrize("machine", ["xeon-2s", "big-64"])
def test_a_refused_request_is_shown_where_it_nearly_fits(machine: str) -> None:
    wish = Wish("default/late", (1,), "wants 90 CPUs, 60 free")
    picture = drawn(Scene(preset(machine), wish=wish))
    framed = [
        one for one in with_attribute(picture, "data-nodes") if one.find(f".//{SVG}rect[@class='np-wish']") is not None
    ]
    assert [one.get("data-nodes") for one in framed] == ["1"]
    assert "refused: wants 90 CPUs, 60 free" in (framed[0].findtext(f".//{SVG}title") or "")
    told = " ".join(texts(picture))
    assert "refused: default/late: lacks least on NUMA node 1: wants 90 CPUs, 60 free" in told


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SCENES)
def test_nothing_lies_outside_and_no_box_on_another(name: str, width: int) -> None:
    picture = drawn(SCENES[name], width)
    _, _, right, bottom = map(float, picture.get("viewBox", "").split())
    assert right == width
    boxes = []
    for one in placed(picture):
        if one.element.tag == f"{SVG}rect":
            left, top, end, foot = one.corners
            assert 0 <= left <= end <= right, one
            assert 0 <= top <= foot <= bottom, one
            boxes += [one.corners] if "np-box" in one.kinds else []
        elif one.element.tag == f"{SVG}text":
            x, y = one.x + one.number("x"), one.y + one.number("y")
            assert 8 <= y <= bottom, one.element.text
            left, end = reach(one, x)
            assert 0 <= left <= end <= right, one.element.text
    for (a, b, c, d), (e, f, g, h) in combinations(boxes, 2):
        assert c <= e or g <= a or d <= f or h <= b


def reach(text: Placed, x: float) -> tuple[float, float]:
    """Where a text begins and ends, if a letter is half as wide as it is high, which most are."""
    size = 17 if "np-title" in text.kinds else 10 if {"np-small", "np-sign"} & {*text.kinds} else 12
    width = len(text.element.text or "") * size / 2
    if "np-end" in text.kinds:
        return x - width, x
    return (x - width / 2, x + width / 2) if {"np-mid", "np-sign"} & {*text.kinds} else (x, x + width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SCENES)
def test_what_a_node_has_lies_in_its_box(name: str, width: int) -> None:
    frames: list[tuple[float, float, float, float]] = []
    for group in placed(drawn(SCENES[name], width)):
        if group.element.get("data-nodes") is None:
            continue
        # The group's own place is in x and y already, but not what moves within it.
        inside = [one for child in group.element for one in placed(child, group.x, group.y)]
        [box] = [one.corners for one in inside if "np-box" in one.kinds]
        frames.append(box)
        for one in inside:
            if one.element.tag == f"{SVG}rect":
                left, top, right, bottom = one.corners
                assert box[0] <= left <= right <= box[2], one.element.attrib
                assert box[1] <= top <= bottom <= box[3], one.element.attrib
            elif one.element.tag == f"{SVG}text":
                left, right = reach(one, one.x + one.number("x"))
                assert box[0] <= left <= right <= box[2], one.element.text
    assert frames


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_foreign_text_is_a_text(hostile: str) -> None:
    machine, one_line = plain_machine(), hostile.replace("\n", " ").strip() or "none"
    scene = Scene(
        replace(machine, name=one_line, cpu_model=one_line),
        (Holding(hostile, frozenset((0,)), {0: 1 << 20}, frozenset((hostile,))),),
        (DeviceMark(f"example.com/{hostile}", hostile, (0,)), DeviceMark(hostile, "b", (7,), healthy=False)),
        wish=Wish(hostile, (1,), hostile),
        title=hostile,
    )
    usual = Scene(
        machine, (Holding("a", frozenset((0,)), {0: 1 << 20}, frozenset(("a",))),), scene.devices, wish=scene.wish
    )
    for width in WIDTHS:
        text = draw_svg(scene, width=width)
        picture = ElementTree.fromstring(text.encode())
        assert {one.tag for one in picture.iter()} <= {one.tag for one in drawn(usual).iter()}
        assert len(text) < 20_000
        assert all(one.isprintable() for one in texts(picture))


@pytest.mark.parametrize("name", ["laptop", "big-64, 10 pods"])
def test_it_needs_nothing_from_elsewhere(name: str) -> None:
    text = draw_svg(SCENES[name])
    assert re.findall(r"""(?:href|src|url|import|script)\W{0,3}""", text) == []
    assert re.findall(r"https?://[^\s\"]*", text) == ["http://www.w3.org/2000/svg"]


def test_a_page_may_hold_other_things() -> None:
    style = drawn(SCENES["laptop"]).findtext(f"{SVG}style") or ""
    rules = re.sub(r"@media[^{]*\{|\}\s*\}", "}", style)
    selectors = [one.strip() for one in re.findall(r"([^{}]+)\{", rules)]
    assert len(selectors) > 20
    assert all(one.startswith(".np-map") for selector in selectors for one in selector.split(","))


def test_4096_cpus_are_folded() -> None:
    # One element of 100 characters for each CPU would be 400 kB.
    assert len(draw_svg(SCENES["big-64"])) < 100_000
    assert len(draw_svg(SCENES["big-64, 70 pods"])) < 400_000


def test_pods_of_which_each_has_too_little_to_be_shown_are_one_piece() -> None:
    """70 pods on each of 64 nodes: 7 pieces at most are told apart, with what is free and reserved."""
    for name in ("cpus", "bytes"):
        picture = drawn(SCENES["big-64, 70 pods"])
        for node in with_attribute(picture, "data-nodes"):
            pieces = with_attribute(node, f"data-{name}")
            assert len(pieces) == 8
            assert len([one for one in pieces if one.get("class") == "np-mixed"]) == 1


def test_more_pods_than_a_legend_can_hold_are_counted() -> None:
    told = texts(drawn(SCENES["laptop, 70 pods"]))
    assert "default/pod-59" in told
    assert "default/pod-60" not in told
    assert "and 10 more pods" in told


def test_the_presets_are_all_here() -> None:
    assert len(PRESETS) >= 17
