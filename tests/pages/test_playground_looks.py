"""The playground in a real browser: every width and scheme, the keyboard alone, paper, and no scripts."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from numaproof.harness.serve.page import examples
from tests.pages.browser import needs_browser, shown
from tests.pages.playground import choose, faults, faults_of, given, playground, says_what_explain_says, settled
from tests.pages.serving import Server

pytestmark = needs_browser


@pytest.mark.parametrize("width", [1280, 2560])
def test_verdicts_and_drawing_are_seen_at_once(browser: Browser, server: Server, width: int) -> None:
    with shown(browser, server.address, width=width) as seen:
        seen.page.set_viewport_size({"width": width, "height": 1300})
        settled(seen.page)
        for part in (".answer .verdict", ".matrix", "#answer .drawing svg", "#amounts input"):
            box = seen.page.locator(part).first.bounding_box()
            assert box is not None
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= 1300, part
            assert box["x"] + box["width"] <= width, part
        # Each side scrolls by itself: the page stays where it is.
        assert seen.page.evaluate("document.documentElement.scrollHeight") == 1300


FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex='0']"

# What can be used now, each with a number of its own.
NUMBERED = f"""() => [...document.querySelectorAll("{FOCUSABLE}")].filter(one => one.checkVisibility() && !one.disabled)
  .map((one, number) => one.dataset.number = String(number))"""

# What has the focus: whether its ring shows, and whether the middle of what is not scrolled away is not covered.
FOCUSED = """() => {
  const one = document.activeElement, style = getComputedStyle(one), own = one.getBoundingClientRect();
  const box = {left: Math.max(own.left, 0), top: Math.max(own.top, 0)};
  Object.assign(box, {right: Math.min(own.right, innerWidth), bottom: Math.min(own.bottom, innerHeight)});
  const around = (one.closest('.given, .told') ?? document.documentElement).getBoundingClientRect();
  Object.assign(box, {top: Math.max(box.top, around.top), bottom: Math.min(box.bottom, around.bottom)});
  const there = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
  return one === document.body ? null : {
    number: one.dataset.number,
    ring: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2,
    seen: box.bottom - box.top > 4 && one.contains(there),
    what: one.outerHTML.slice(0, 100),
  };
}"""


@pytest.mark.parametrize("width", [480, 1280])
@pytest.mark.parametrize("key", ["Tab", "Shift+Tab"])
def test_tab_reaches_everything_visibly_and_leaves_again(
    browser: Browser, server: Server, width: int, key: str
) -> None:
    with playground(browser, server, width=width) as seen:
        page = seen.page
        page.evaluate("() => { for (const one of document.querySelectorAll('details')) one.open = true; }")
        wanted = page.evaluate(NUMBERED)
        assert len(wanted) > 30
        reached: list[str] = []
        page.keyboard.press(key)
        while (now := page.evaluate(FOCUSED)) is not None and now["number"] not in reached:
            assert now["ring"], now["what"]
            assert now["seen"], now["what"]
            reached.append(now["number"])
            page.keyboard.press(key)
        assert sorted(reached, key=int) == wanted
        assert faults_of(seen) == []


def test_it_is_used_by_the_keyboard_alone(browser: Browser, server: Server, tmp_path: Path) -> None:
    with playground(browser, server) as seen:
        page = seen.page
        page.locator("#example").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        settled(page)
        assert given(page)["machine"] == examples()[2]["machine"]
        page.locator("#settings").get_by_label("topology policy").focus()
        page.keyboard.type("best")
        settled(page)
        assert says_what_explain_says(page, tmp_path)["policy"] == "best-effort"
        fold = page.locator(".matrix summary").first
        fold.focus()
        page.keyboard.press("Enter")
        expect(page.locator(".matrix details").first).to_have_attribute("open", "")
        # What is open and focused stays so when the answer is another one.
        page.evaluate("document.querySelector('#machine').value = 'xeon-2s'")
        page.evaluate("document.querySelector('#machine').dispatchEvent(new Event('input', {bubbles: true}))")
        settled(page)
        expect(page.locator(".matrix details").first).to_have_attribute("open", "")
        expect(page.locator(".matrix summary").first).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [480, 1280, 2560])
def test_it_can_be_used_by_all_in_every_width_and_scheme(
    browser: Browser, server: Server, width: int, scheme: str
) -> None:
    wide = "document.documentElement.scrollWidth"
    largest = max(range(len(examples())), key=lambda number: len(examples()[number]["machine"]) > 20)
    with playground(browser, server, width=width, scheme=scheme) as seen:
        page = seen.page
        for number in (0, 1, largest, 8):
            choose(page, number)
            for fold in page.locator("summary").all():
                if fold.evaluate("one => !one.parentElement.open"):
                    fold.click()
            assert page.evaluate(wide) == width, number
            assert seen.serious() == [], number
        page.fill("#pod", "kind: Pod\nspec: [" + "x" * 300)
        page.fill("#machine", "y" * 300)
        settled(page)
        assert len(faults(page)) == 2
        assert page.evaluate(wide) == width
        assert seen.serious() == []
        assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == (
            "rgb(255, 255, 255)" if scheme == "light" else "rgb(13, 17, 23)"
        )
        assert faults_of(seen) == []


def test_on_the_narrowest_screen_controls_stay_in_their_place(browser: Browser, server: Server) -> None:
    outside = """() => [...document.querySelectorAll("#given input, #given select, #given textarea")]
      .filter((one) => one.getBoundingClientRect().right > one.parentElement.getBoundingClientRect().right)
      .map((one) => one.id)"""
    with playground(browser, server, width=320) as seen:
        assert seen.page.evaluate("document.documentElement.scrollWidth") == 320
        assert seen.page.evaluate(outside) == []


@pytest.mark.parametrize("width", [700, 1280, 2560])
def test_the_answer_alone_is_printed_as_wide_as_the_paper(browser: Browser, server: Server, width: int) -> None:
    with playground(browser, server, width=width) as seen:
        page = seen.page
        expect(page.locator(".remedies .apply").first).to_be_visible()
        page.emulate_media(media="print")
        assert page.locator("#answer").evaluate("one => one.getBoundingClientRect().width") == width
        for hidden in ("#given", "#undo", ".remedies .apply >> nth=0"):
            expect(page.locator(hidden)).to_be_hidden()
        # A heading is on the page of what is below it.
        assert page.locator("#answer h2").first.evaluate("one => getComputedStyle(one).breakAfter") == "avoid"


def test_the_drawing_is_as_wide_as_its_place_from_the_start(browser: Browser, server: Server) -> None:
    with playground(browser, server, width=2560) as seen:
        page = seen.page
        first = page.locator("#answer .drawing svg").get_attribute("viewBox")
        page.locator("#pod").press("Control+End")
        page.keyboard.type("\n")
        settled(page)
        assert page.locator("#answer .drawing svg").get_attribute("viewBox") == first


def test_on_a_small_screen_a_bar_says_the_verdict_and_leads_to_it(browser: Browser, server: Server) -> None:
    with playground(browser, server, width=480) as seen:
        bar = seen.page.locator("#verdict")
        expect(bar).to_be_in_viewport()
        expect(bar).to_contain_text("REFUSED: TopologyAffinityError")
        expect(seen.page.locator(".answer .verdict")).not_to_be_in_viewport()
        bar.press("Enter")
        expect(seen.page.locator("#answer")).to_be_focused()
        expect(seen.page.locator(".answer .verdict")).to_be_in_viewport()


def test_without_scripts_it_says_what_to_use(browser: Browser, server: Server) -> None:
    with shown(browser, server.address, java_script_enabled=False) as seen:
        expect(seen.page.locator("noscript")).to_be_visible()
        assert "numaproof explain does the same in a terminal" in seen.page.content()
