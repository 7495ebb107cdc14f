"""An explanation as a page: whole, valid, self-contained, and no word of others is markup."""

import re
from html.parser import HTMLParser

import pytest

from numaproof.harness.drawing.svg import draw_svg
from numaproof.harness.explain.beside import Beside
from numaproof.harness.explain.explanation import Explanation
from numaproof.harness.providers.devices import Device
from numaproof.harness.report.explain_html import NARROW, explanation_page
from numaproof.harness.report.explain_scene import scene_of
from numaproof.harness.vocabulary import KUBELET_POLICIES, SCOPES
from tests.harness.drawing.scenes import HOSTILE
from tests.harness.report.explained import GPU, MACHINE, explained, pod

# Of HTML 5, those that have no end.
VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """The elements of a page, each closed in its turn, and the texts in them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self.open[-1], data.strip()))

    def of(self, tag: str) -> list[str]:
        return [text for where, text in self.texts if where == tag]


def page(found: Explanation, machine: str = "m", assumptions: tuple[str, ...] = ()) -> str:
    scene = scene_of(found, MACHINE)
    return explanation_page(found, machine, Beside((), assumptions), draw_svg(scene), draw_svg(scene, width=NARROW))


REFUSED = explained(pod("asked", 6, gpu=2), pod("a", 5))


def test_a_refused_pod_has_a_whole_page() -> None:
    found = Page(page(REFUSED, "two-nodes", ("the kubelet's version",)))
    assert found.of("h1") == ["default/asked on two-nodes"]
    assert found.of("title")[0] == "default/asked on two-nodes"
    assert found.of("h2") == [
        "Why",
        "What would help (each was tried)",
        "Known",
        "Under every policy and scope",
        "The node",
        "Assumed",
    ]
    told = found.of("li")
    assert "the kubelet's version" in told
    assert any(GPU in line for line in told)
    [verdict] = [text for text in found.of("p") if text.startswith("REFUSED")]
    assert "TopologyAffinityError" in verdict


def test_an_admitted_pod_is_told_what_it_gets() -> None:
    found = Page(page(explained(pod("asked", 2, gpu=1))))
    assert found.of("h2")[0] == "What it gets"
    assert found.of("li")[0] == f"container app: CPUs 1-2; 1 GiB of memory from NUMA 0; {GPU} g0 (NUMA 0)"
    assert "ADMITTED" in found.of("p")


def test_every_policy_and_scope_has_a_cell_and_the_nodes_own_is_marked() -> None:
    text = page(REFUSED)
    told, own = [], []
    for row in re.findall(r"<tr>\s*<th scope=\"row\">(.*?)</tr>", text, re.DOTALL):
        policy = row.partition("<")[0]
        for scope, kind in re.findall(r'<td[^>]* data-scope="(\w+)" class="([^"]*)"', row):
            # Where both scopes come to the same, one cell is for both.
            told += [(policy, one) for one in (SCOPES if scope == "both" else (scope,))]
            own += [(policy, scope)] if "own" in kind.split() else []
    assert told == [(policy, scope) for policy in KUBELET_POLICIES for scope in SCOPES]
    [(policy, scope)] = own
    assert (policy, scope in ("container", "both")) == ("single-numa-node", True)


def test_every_cell_says_why_where_somebody_opens_it() -> None:
    found = Page(page(REFUSED))
    summaries = [index for index, (where, _) in enumerate(found.texts) if where == "summary"]
    assert len(summaries) >= len(KUBELET_POLICIES)
    for index in summaries:
        where, line = found.texts[index + 1]
        assert where == "li", line


def test_nothing_comes_from_elsewhere() -> None:
    text = page(REFUSED)
    parsed = Page(text)
    assert not {"script", "img", "iframe", "object"} & {tag for tag, _ in parsed.elements}
    names = {name for _, attributes in parsed.elements for name in attributes}
    assert not {name for name in names if name in {"src", "srcset", "style"} or name.startswith("on")}
    # A place on the page, and an icon that is empty.
    assert {attributes["href"] for _, attributes in parsed.elements if "href" in attributes} == {"#main", "data:,"}
    [policy] = [one["content"] for tag, one in parsed.elements if tag == "meta" and "http-equiv" in one]
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert not re.search(r"url\(|@import", text)
    assert set(re.findall(r"https?://[^\s\"'<]*", text)) == {"http://www.w3.org/2000/svg"}


def test_it_is_made_for_light_and_dark_for_paper_and_for_narrow_screens() -> None:
    text = page(REFUSED)
    for words in ("color-scheme: light dark", "prefers-color-scheme: dark", "@media print", "@media (max-width"):
        assert words in text
    assert [
        attributes["name"] for tag, attributes in Page(text).elements if tag == "meta" and "name" in attributes
    ] == ["viewport", "generator"]
    assert sorted(re.findall(r'<svg [^>]* width="(\d+)"', text)) == ["1000", "440"]


def test_without_a_narrow_drawing_the_wide_one_is_there_and_without_any_none() -> None:
    svg = draw_svg(scene_of(REFUSED, MACHINE))
    assert explanation_page(REFUSED, "m", svg=svg).count("<svg ") == 1
    assert "<svg" not in explanation_page(REFUSED, "m")
    assert "The node" not in Page(explanation_page(REFUSED, "m")).of("h2")


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_word_of_others_is_markup(hostile: str) -> None:
    """What machines, files and devices are called; the names of pods and resources are checked where they are read."""
    usual = explained(pod("asked", 2, gpu=1))
    found = explained(pod("asked", 2, gpu=1), devices={GPU: (Device(hostile or "none", (0,)), Device("g2", (1,)))})
    text = page(found, hostile, (hostile,))
    assert {tag for tag, _ in Page(text).elements} == {tag for tag, _ in Page(page(usual, "m", ("x",))).elements}
    assert "<script" not in text
    text.encode()  # what is half a pair of surrogates cannot be written
