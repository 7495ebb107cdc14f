"""The picture of a layered graph: what is in it, small and large, whatever names there are."""

import re
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numaproof.harness.cost.costs import Costs, Entry, Report
from numaproof.harness.report.cost_answer import Answer, answer
from numaproof.harness.report.cost_layout import LINE, MOST_CHOSEN, Drawing, Rectangle, layout, text_width
from numaproof.harness.report.cost_svg import svg

SVG = "{http://www.w3.org/2000/svg}"


def graph(sizes: Mapping[str, int], wanted: Mapping[str, int], name: str = "{resource}{number}") -> Answer:
    """An answer over instances that all cost something else: 100, 99.9, ... so that each is a vertex of its own.

    One reporter tells each pair in one direction, and its largest is 100: what is remapped is what was told.
    """
    everything = [
        (resource, name.format(resource=resource.rpartition("/")[2], number=number))
        for resource, size in sizes.items()
        for number in range(size)
    ]
    entries = [
        Entry(one[0], (one[1],), other[0], (other[1],), 100 - Fraction(place, 10) % 100)
        for place, (one, other) in enumerate(combinations(everything, 2))
    ]
    instances = {resource: tuple(one for of, one in everything if of == resource) for resource in sizes}
    return answer(Costs(instances, (Report("test", tuple(entries)),)), wanted, 1)


SMALL = {"cpu": 2, "example.com/gpu": 3, "example.com/nic": 3}
LARGE = {"cpu": 60, "memory": 20, "example.com/gpu": 60, "example.com/nic": 60}


def elements(picture: str, tag: str, *classes: str) -> list[ElementTree.Element]:
    """The elements of a tag that have all of some classes, but for the legend's."""
    drawn = ElementTree.fromstring(picture).find(f"{SVG}g")
    assert drawn is not None
    return [one for one in drawn.iter(f"{SVG}{tag}") if set(classes) <= set(one.get("class", "").split())]


def every_text(picture: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def test_eight_vertices_show_every_edge_and_every_cost() -> None:
    """2 + 3 + 3 vertices have 28 edges: 6 + 9 between neighbours, 1 + 3 + 3 within, 6 beyond, and 2 from the start."""
    picture = svg(graph(SMALL, dict.fromkeys(SMALL, 1)))
    counts = [len(elements(picture, "path", kind)) for kind in ("red", "green", "black", "start")]
    assert counts == [15, 7, 6, 2]
    told = Counter(every_text(picture))
    expected = [f"{100 - place / 10:g}" for place in range(28)]
    assert [told[cost] for cost in expected] == [1] * 28
    assert not elements(picture, "path", "faint")
    assert "only the cheapest edge" not in picture


def test_the_chosen_path_is_emphasised() -> None:
    """One of each of three layers: an edge from the start, two red ones, a black one."""
    found = graph(SMALL, dict.fromkeys(SMALL, 1))
    picture = svg(found)
    chosen = [len(elements(picture, "path", kind, "chosen")) for kind in ("start", "red", "black", "green")]
    assert chosen == [1, 2, 1, 0]
    boxes = [group for group in elements(picture, "g") if group.find(f"{SVG}rect[@class='box taken']") is not None]
    inside = {text.text for group in boxes for text in group.iter(f"{SVG}text")}
    assert {one for ids in found.solution.chosen.values() for one in ids} <= inside


def test_several_of_a_layer_are_joined_by_green_edges() -> None:
    picture = svg(graph(SMALL, {"cpu": 1, "example.com/gpu": 3}))
    assert len(elements(picture, "path", "green", "chosen")) == 3
    assert len(elements(picture, "path", "red", "chosen")) == 3


def test_two_hundred_vertices_show_the_costs_of_chosen_edges_and_say_so() -> None:
    """4 chosen: 6 edges. Each of 140 vertices below the first layer keeps an edge upwards; two of these are chosen."""
    picture = svg(graph(LARGE, dict.fromkeys(LARGE, 1)))
    assert len(elements(picture, "rect", "box")) == 201  # and the start
    assert len(elements(picture, "path", "chosen")) == 7
    assert len(elements(picture, "rect", "cost")) == 6
    assert 137 <= len(elements(picture, "path", "faint")) <= 140
    assert any("only the cheapest edge to the layer above is drawn" in text for text in every_text(picture))


def test_where_too_many_are_chosen_the_dearest_edges_are_drawn_and_the_legend_says_so() -> None:
    """20 vertices of one layer: 190 edges."""
    picture = svg(graph({"cpu": 20}, {"cpu": 20}))
    assert len(elements(picture, "path", "green", "chosen")) == MOST_CHOSEN
    assert f"{190 - MOST_CHOSEN} cheaper edges between chosen vertices are not drawn" in every_text(picture)


def rectangles(drawing: Drawing) -> list[Rectangle]:
    """All that must not lie on anything else: boxes, costs, the start, the names of layers."""
    labels = [line.label.place for line in drawing.lines if line.label is not None]
    titles = [
        Rectangle(title.x, title.y - LINE, max(map(text_width, title.lines)), len(title.lines) * LINE)
        for title in drawing.titles
    ]
    return [drawing.start, *(box.place for box in drawing.boxes), *labels, *titles]


def check(drawing: Drawing) -> None:
    places = rectangles(drawing)
    assert [pair for pair in combinations(places, 2) if pair[0].overlaps(pair[1])] == []
    assert all(one.x >= 0 and one.x + one.width <= drawing.width for one in places)
    assert all(one.y >= 0 and one.y + one.height <= drawing.height for one in places)
    for box in drawing.boxes:
        assert max(map(text_width, box.lines)) <= box.place.width
        assert len(box.lines) * LINE <= box.place.height


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(1, 14), st.integers(1, 6)), min_size=1, max_size=5),
    st.sampled_from(["{number}", "{resource}{number}", "a-very-long-name-of-an-instance-{number}-with-an-end"]),
)
def test_nothing_overlaps_and_every_cost_is_told(layers: list[tuple[int, int]], name: str) -> None:
    sizes = {f"example.com/r{place}": size for place, (size, _) in enumerate(layers)}
    wanted = {f"example.com/r{place}": min(layer) for place, layer in enumerate(layers)}
    found = graph(sizes, wanted, name)
    drawing = layout(found)
    check(drawing)
    shown = [line for line in drawing.lines if line.kind != "start" and (line.chosen or drawing.whole)]
    assert len([line for line in shown if line.label is not None]) + len(drawing.listed) == len(shown)


def test_two_hundred_vertices_do_not_overlap() -> None:
    check(layout(graph(LARGE, {"cpu": 8, "memory": 1, "example.com/gpu": 4, "example.com/nic": 2})))


@pytest.mark.parametrize("sizes", [SMALL, LARGE], ids=["small", "large"])
def test_text_is_never_small_and_nothing_comes_from_elsewhere(sizes: Mapping[str, int]) -> None:
    picture = svg(graph(sizes, dict.fromkeys(sizes, 1)))
    root = ElementTree.fromstring(picture)
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"  # not scaled down
    assert all(int(size) >= 9 for size in re.findall(r"(\d+)px", picture))
    assert "scale" not in picture
    assert not re.search(r"href|url\(|@import|<script|<image", picture)
    assert re.findall(r"https?://[^\"]*", picture) == ["http://www.w3.org/2000/svg"]


def test_a_screen_reader_is_told_what_it_shows() -> None:
    root = ElementTree.fromstring(svg(graph(SMALL, {"cpu": 1, "example.com/gpu": 1})))
    title, desc = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert desc is not None
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
    assert title.text == "Layered graph of cpu=1,example.com/gpu=1"
    assert (desc.text or "").startswith("chosen: cpu cpu")


NAMES = ("<b>&\"'{number}]]>", "\x00\x1b[31m\ufffe{number}", "GPU-名前-{number}")


@pytest.mark.parametrize("name", NAMES, ids=["markup", "control", "wide"])
def test_whatever_a_name_holds_the_picture_is_well_formed(name: str) -> None:
    sizes = {'example.com/<&">': 3, "example.com/\x07bell": 2}
    found = graph(sizes, dict.fromkeys(sizes, 1), name)
    check(layout(found))
    picture = svg(found)
    assert len(elements(picture, "rect", "box")) == 6
    assert all(text.isprintable() for text in every_text(picture))
