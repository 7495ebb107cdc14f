"""The page of `numaproof check` in a real browser: of a plugin that breaks rules, and prints what no page may hold."""

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from numaproof.harness.conformance.about import About
from numaproof.harness.conformance.catalogue import CATALOGUE
from numaproof.harness.conformance.run import Settings, check_command
from numaproof.harness.conformance.stage import Pace
from numaproof.harness.conformance.subject import CommandSubject
from numaproof.harness.report.conformance_html import html
from numaproof.harness.runtimes.local import ProcessRuntime
from tests.pages.browser import Seen, chromium, needs_browser, shown

pytestmark = needs_browser

REPOSITORY = str(Path(__file__).parents[2])
# Markup, a script, escapes of a terminal, control characters, bytes that are not UTF-8, a line of a megabyte, 10 MB.
HOSTILE = r"""
import os, sys
out = sys.stdout.buffer
out.write(b"<script>document.title = 'taken'</script><img src=x onerror=alert(1)></pre></main>\n")
out.write(b"\x1b[31mred\x1b[0m \x1b]0;title\x07 \x00\x01\x9b\xff {{ 7 * 7 }} &amp; \xe2\x80\xae\n")
out.write(b"x" * 1_000_000 + b"\n")
out.write(b"<b>flood</b>\n" * 700_000)
out.flush()
os.execv(sys.executable, [sys.executable, "-m", "numaproof.plugins_mock", *sys.argv[1:]])
"""
FAULTS = ("ListAndWatch=bad-health:<OK>", "Allocate=accept-empty", "Allocate=common-env")
KNOWN = ("dp/allocate/7",)
FAILED, WARNED = "dp/list/3", "dp/allocate/3"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page's address."""
    words = ["generic", "--count", "2", "--dir", "{dir}", *(word for one in FAULTS for word in ("--fault", one))]
    command = (sys.executable, "-c", HOSTILE, *words)
    subject = CommandSubject(command, ProcessRuntime(), environment={"PYTHONPATH": REPOSITORY})
    about = About("./my-plugin --dir '{dir}'", "1.2 <beta>", runtime="process", command=("./my-plugin",))
    settings = Settings(pace=Pace(watch=0.5, early=0.5, death=0.2), seed=7, about=about)
    report = check_command(subject, settings)
    assert report.violated() == (FAILED, WARNED, *KNOWN)
    place = tmp_path_factory.mktemp("page") / "check.html"
    place.write_text(html(report, KNOWN), encoding="utf-8")
    return place.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def seen(browser: Browser, page: str) -> Iterator[Seen]:
    """The page at its usual width; whatever a test does on it, nothing goes wrong and nobody is asked for anything."""
    with shown(browser, page) as opened:
        yield opened
        assert opened.errors == []
        assert opened.requests == [page] * len(opened.requests)


def visible(seen: Seen) -> list[str]:
    """The ids of the checks that can be seen, in their order."""
    return [str(one.get_attribute("id")) for one in seen.page.locator(".check").all() if one.is_visible()]


def test_the_headline_says_what_was_checked_and_what_came_of_it(seen: Seen) -> None:
    head = seen.page.locator("header").inner_text()
    for words in ("example.com/device", "not conformant", FAILED, "./my-plugin --dir '{dir}'", "1.2 <beta>", "process"):
        assert words in head
    assert "1 fail" in head
    assert "2 warn" in head
    assert seen.page.title() == "numaproof check: example.com/device"


def test_failures_come_first_with_the_exchange_and_what_the_plugin_printed_beside_it(seen: Seen) -> None:
    assert visible(seen) == [FAILED, WARNED]
    failure = seen.page.locator(f"[id='{FAILED}']")
    told = failure.inner_text()
    [wanted] = [one for one in CATALOGUE if one.id == FAILED]
    for words in (wanted.why, wanted.remedy, "'<OK>'", "fail", "MUST"):
        assert words.replace("`", "") in told
    exchange, printed = (one.inner_text() for one in failure.locator("pre").all())
    assert 'health: "<OK>"' in exchange
    # The plugin says by which name it registers; what it said before, and by the megabyte, is not beside it.
    assert "registered example.com/device" in printed
    boxes = [one.bounding_box() for one in failure.locator("pre").all()]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]


def test_what_a_plugin_prints_is_text_and_bounded(seen: Seen) -> None:
    seen.page.locator("details.output > summary").click()
    text = seen.page.locator("details.output").inner_text()
    assert "<script>document.title = 'taken'</script><img src=x onerror=alert(1)></pre></main>" in text
    assert "red  \\x00\\x01" in text
    assert "{{ 7 * 7 }} &amp; \\u202e" in text
    assert "lines left out" in text
    assert "x" * 1000 + " ..." in text
    assert len(seen.page.content()) < 3_000_000
    assert seen.page.locator("main img, main script").count() == 0


def test_passes_and_skips_are_folded_and_open_by_the_keyboard_alone(seen: Seen) -> None:
    passed = seen.page.locator("details.part", has_text="Passed")
    passed.locator("> summary").focus()
    seen.page.keyboard.press("Enter")
    assert passed.locator("details.check").first.is_visible()
    seen.page.keyboard.press("Tab")
    seen.page.keyboard.press("Space")
    assert passed.locator("details.check[open] dd").first.is_visible()
    skipped = seen.page.locator("details.part", has_text="Skipped")
    skipped.locator("> summary").click()
    assert "it registers by itself, not by plugins_registry" in skipped.inner_text()


def test_filters_go_together_open_what_they_find_and_leave_it_as_it_was(seen: Seen) -> None:
    page = seen.page
    page.locator("button[value=skip]").click()
    assert page.locator("button[value=skip]").get_attribute("aria-pressed") == "true"
    skipped = visible(seen)
    assert "dp/watcher/1" in skipped
    assert FAILED not in skipped
    assert page.locator("#shown").inner_text() == f"{len(skipped)} of {len(CATALOGUE)} checks"
    page.locator("#area").select_option("draft")
    assert visible(seen) == ["dp/draft/1", "dp/draft/2", "dp/draft/3", "dp/draft/4"]
    page.locator("button[value=should]").click()
    assert visible(seen) == ["dp/draft/4"]
    page.locator("button[type=reset]").click()
    assert visible(seen) == [FAILED, WARNED]
    page.keyboard.press("/")
    page.keyboard.type("UNHEALTHY word")
    assert visible(seen) == [FAILED]
    page.keyboard.press("Escape")
    assert visible(seen) == [FAILED, WARNED]
    page.locator("#search").fill("no such words")
    assert visible(seen) == []
    assert page.locator("#shown").inner_text() == f"0 of {len(CATALOGUE)} checks"


def test_a_link_leads_to_its_check_wherever_that_is(seen: Seen) -> None:
    page = seen.page
    page.locator("#search").fill("health")
    page.evaluate("location.hash = 'dp/watcher/2'")  # folded away, and filtered out
    page.wait_for_function("document.activeElement.closest('.check')?.id === 'dp/watcher/2'")
    assert page.locator("[id='dp/watcher/2'] dd").first.is_visible()
    assert page.locator("#search").input_value() == ""
    page.locator(f"header a[href='#{FAILED}']").click()
    page.wait_for_function(f"document.activeElement.id === '{FAILED}'")
    # Not the address of anything; the page's own listener comes before this one.
    page.evaluate(
        "new Promise((done) => { addEventListener('hashchange', done); location.hash = '%E0%A4%A'; }).then(() => 0)"
    )


def test_the_command_of_one_check_alone_is_copied(browser: Browser, page: str) -> None:
    with shown(browser, page, permissions=["clipboard-read", "clipboard-write"]) as seen:
        seen.page.locator(f"[id='{FAILED}'] button.copy").focus()
        seen.page.keyboard.press("Enter")
        seen.page.locator("button.copy", has_text="Copied").wait_for()
        copied = seen.page.evaluate("navigator.clipboard.readText()")
        assert shlex.split(copied) == ["numaproof", "check", "--only", FAILED, "--seed", "7", "--", "./my-plugin"]
        assert seen.errors == []


def test_without_scripts_everything_but_the_filters_is_there(browser: Browser, page: str) -> None:
    with shown(browser, page, java_script_enabled=False) as seen:
        assert seen.page.locator(f"[id='{FAILED}'] pre").first.is_visible()
        assert not seen.page.locator(".filters").is_visible()
        assert not seen.page.locator("button.copy").first.is_visible()
        seen.page.locator("details.part", has_text="Passed").locator("> summary").click()
        assert seen.page.locator("[id='dp/list/2']").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [480, 1280, 2560])
def test_it_can_be_used_by_all_in_every_width_and_scheme(browser: Browser, page: str, width: int, scheme: str) -> None:
    with shown(browser, page, width=width, scheme=scheme) as seen:
        for summary in seen.page.locator("details.part > summary, details.output > summary").all():
            summary.click()
        assert seen.page.evaluate("document.documentElement.scrollWidth") == width
        assert seen.serious() == []
        assert seen.errors == []
        assert seen.requests == [page]


def test_printed_it_has_no_filters(browser: Browser, page: str) -> None:
    with shown(browser, page) as seen:
        seen.page.emulate_media(media="print")
        assert not seen.page.locator(".filters").is_visible()
        assert seen.page.locator(f"[id='{FAILED}'] pre").first.is_visible()


def test_printed_all_of_what_is_beside_a_failure_is_there(browser: Browser, page: str) -> None:
    with shown(browser, page) as seen:
        hidden = "boxes => boxes.map(one => one.scrollHeight - one.clientHeight).filter(rest => rest > 1)"
        assert seen.page.locator(".panel .log pre").evaluate_all(hidden) != []  # on a screen one scrolls
        seen.page.emulate_media(media="print")
        assert seen.page.locator(".panel .log pre").evaluate_all(hidden) == []
