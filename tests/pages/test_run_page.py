"""The page of a run in a real browser: what is read first, filters, search, links, keys, details, hostile words."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from numaproof.harness.report.matrix import InstanceResult
from numaproof.harness.report.run_page import run_page
from numaproof.harness.report.run_report import RunReport
from numaproof.harness.scenario.record import (
    DecisionRecord,
    DeviceRecord,
    HeldRecord,
    HintRecord,
    InstanceRecord,
    StepRecord,
    WishRecord,
)
from tests.pages.browser import chromium, needs_browser, shown
from tests.pages.run_records import run_of

pytestmark = needs_browser

MEGABYTE = 1 << 20
# What a name might hold to become markup, to end a script, to turn the direction, or not to be Unicode.
HOSTILE = "</script><img src=x onerror=alert(1)>\"'`{{7*7}}&amp;\u202eltr\udce9]]>"
TELLING = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


@pytest.fixture(scope="module")
def run() -> RunReport:
    return run_of(250)


@pytest.fixture(scope="module")
def address(run: RunReport, tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(run, tmp_path_factory.mktemp("page"))


def written(run: RunReport, folder: Path) -> str:
    path = folder / "run.html"
    path.write_text(run_page(run), encoding="utf-8")
    return path.as_uri()


def visible(page: Page) -> list[str]:
    """The ids of the instances that the list shows."""
    found: list[str] = page.evaluate(
        "() => [...document.querySelectorAll('#list > li')].filter(one => !one.hidden).map(one => one.dataset.id)"
    )
    return found


def opened(page: Page) -> list[str]:
    found: list[str] = page.evaluate(
        "() => [...document.querySelectorAll('#list > li > details[open]')].map(one => one.parentElement.dataset.id)"
    )
    return found


def ids(run: RunReport, **words: str) -> list[str]:
    """The ids of the results with these words."""
    return sorted(
        one.words["id"] for one in run.results if words.items() <= {**one.words, "outcome": one.outcome}.items()
    )


def of_outcome(run: RunReport, outcome: str) -> InstanceResult:
    return next(one for one in run.results if one.outcome == outcome)


def resource_of(result: InstanceResult) -> str:
    """What the first plugin of an instance offers."""
    devices = [device for step in (result.record.steps if result.record else ()) for device in step.devices]
    return devices[0].resource if devices else ""


def row_of(page: Page, instance: str) -> str:
    return f"#list > li[data-id='{instance}'] > details"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [480, 1280])
def test_nothing_is_wrong_with_it(browser: Browser, address: str, run: RunReport, width: int, scheme: str) -> None:
    instance = next(one for one in run.results if one.record and len(one.record.steps) > 2).words["id"]
    with shown(browser, f"{address}#i={instance}", width=width, scheme=scheme) as seen:
        seen.page.wait_for_selector("[data-filled=whole]")
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        assert seen.serious() == []
        assert seen.errors == []
        assert [one for one in seen.requests if not one.startswith("data:")] == [address]


def test_the_headline_and_failures_come_first(browser: Browser, address: str, run: RunReport) -> None:
    failed = ids(run, outcome="failed")
    with shown(browser, address) as seen:
        expect(seen.page.locator("h1")).to_have_text(f"FAILED {len(failed)} of {len(run.results)} instances failed")
        headings = seen.page.locator("h2").all_inner_texts()
        assert headings[:3] == ["Failures", "Machines, policies and scopes", "Instances"]
        assert sorted(seen.page.locator(".failure > summary code").all_inner_texts()) == failed
        first = seen.page.locator(".failure").first
        result = next(one for one in run.results if one.words["id"] == failed[0])
        for words in (result.name, result.source, result.differences[0], f"{result.path}:20"):
            expect(first).to_contain_text(words)


def test_what_the_node_said_of_a_failure_is_told_once(browser: Browser, tmp_path: Path) -> None:
    run = run_of(6, failing=3)
    failed = of_outcome(run, "failed")
    assert failed.record is not None
    told = ("expected admission", "the node: too little is free")
    step = replace(failed.record.steps[0], differences=told, why=("too little is free",))
    of_node = replace(failed, differences=told, record=replace(failed.record, steps=(step,)))
    with shown(browser, written(replace(run, results=(of_node,)), tmp_path)) as seen:
        seen.page.locator("#list > li summary").first.click()
        seen.page.wait_for_selector("[data-filled=whole]")
        for place in (".failure", "[data-filled=whole]"):
            words = seen.page.locator(place).inner_text()
            assert words.count("expected admission") == 1, words
            assert words.count("too little is free") == 1, words


def test_a_run_without_failures_says_so(browser: Browser, tmp_path: Path) -> None:
    run = run_of(20, failing=0)
    passed = len(ids(run, outcome="passed"))
    assert passed == 19
    with shown(browser, written(run, tmp_path)) as seen:
        expect(seen.page.locator("h1")).to_have_text("PASSED 19 of 20 instances passed")
        assert "Failures" not in seen.page.locator("h2").all_inner_texts()


def test_failures_and_matrix_without_javascript(browser: Browser, address: str, run: RunReport) -> None:
    with shown(browser, address, java_script_enabled=False) as seen:
        expect(seen.page.locator(".failure .differs").first).to_be_visible()
        expect(seen.page.locator(".matrix")).to_contain_text("xeon-2s")
        expect(seen.page.locator("noscript")).to_be_visible()
        expect(seen.page.locator("#filters")).to_be_hidden()
        assert seen.page.locator("#list > li").count() == len(run.results)


def test_a_cell_filters_the_list_and_back_takes_it_back(browser: Browser, address: str, run: RunReport) -> None:
    wanted = ids(run, policy="best-effort", scope="container", machine="xeon-8s")
    assert wanted
    with shown(browser, address) as seen:
        page = seen.page
        cell = page.locator("td a[data-policy=best-effort][data-scope=container][data-machine=xeon-8s]")
        cell.focus()
        page.keyboard.press("Enter")
        assert visible(page) == wanted
        assert page.url.endswith("#policy=best-effort&scope=container&machine=xeon-8s")
        expect(page.locator("#count")).to_have_text(f"{len(wanted)} of {len(run.results)} instances")
        expect(cell).to_have_attribute("aria-current", "true")
        page.locator("th a[data-machine=xeon-4s]").click()
        assert visible(page) == ids(run, machine="xeon-4s")
        page.go_back()
        assert visible(page) == wanted
        page.go_back()
        assert len(visible(page)) == len(run.results)
        page.go_forward()
        assert visible(page) == wanted
        cell.click()
        assert len(visible(page)) == len(run.results)


@pytest.mark.parametrize(
    ("key", "value"),
    [("outcome", "failed"), ("policy", "restricted"), ("scope", "pod"), ("machine", "gb200"), ("theme", "cost")],
)
def test_controls_filter_and_links_lead_there(
    browser: Browser, address: str, run: RunReport, key: str, value: str
) -> None:
    with shown(browser, address) as seen:
        seen.page.select_option(f"select[name={key}]", value)
        assert visible(seen.page) == ids(run, **{key: value})
        link = seen.page.url
    assert link == f"{address}#{key}={value}"
    with shown(browser, link) as seen:
        assert visible(seen.page) == ids(run, **{key: value})
        assert seen.page.input_value(f"select[name={key}]") == value


def test_the_matrix_counts_what_other_filters_leave(browser: Browser, address: str, run: RunReport) -> None:
    with shown(browser, f"{address}#theme=cost&machine=gb200") as seen:
        for machine in ("gb200", "xeon-4s"):
            number = seen.page.locator(f"td.sum a[data-machine={machine}] .passed b")
            expect(number).to_have_text(str(len(ids(run, theme="cost", machine=machine, outcome="passed"))))
        number = seen.page.locator(".themes a[data-theme=affinity] .passed b")
        expect(number).to_have_text(str(len(ids(run, theme="affinity", machine="gb200", outcome="passed"))))


def test_search_looks_into_stories_and_resources(browser: Browser, address: str, run: RunReport) -> None:
    one = next(one for one in run.results if len(one.why.split()) > 8)
    rare = max(one.why.replace("`", "").split(), key=len).strip(".,:;()").upper()
    with shown(browser, address) as seen:
        page = seen.page
        page.keyboard.press("/")
        page.keyboard.type(rare)
        expect(page.locator("#count")).to_contain_text(" of ")
        assert one.words["id"] in visible(page)
        assert len(visible(page)) < len(run.results)
        offering = {one.words["id"] for one in run.results if resource_of(one) == "example.com/gpu"}
        machine = next(one.words["machine"] for one in run.results if one.words["id"] in offering)
        page.fill("input[name=q]", f"example.com/gpu {machine}")
        expect(page).to_have_url(re.compile(f"{machine}$"))
        found = visible(page)
        assert {one for one in offering if machine in one} <= set(found)
        assert all(machine in one for one in found)
        page.fill("input[name=q]", "no such thing anywhere")
        expect(page.locator("#nothing")).to_be_visible()
        page.locator("#clear-too").click()
        assert len(visible(page)) == len(run.results)
        assert "#" not in page.url


def test_a_link_opens_an_instance_with_steps_and_drawings(browser: Browser, address: str, run: RunReport) -> None:
    result = next(
        one
        for one in run.results
        if one.record
        and [step.verdict for step in one.record.steps][:2] == ["admitted", "admitted"]
        and one.record.steps[0].calls
    )
    record, instance = result.record, result.words["id"]
    assert record is not None
    with shown(browser, f"{address}#i={instance}") as seen:
        page = seen.page
        page.wait_for_selector("[data-filled=whole]")
        assert opened(page) == [instance]
        body = page.locator(f"{row_of(page, instance)} > .body")
        assert body.locator(".steps > li").count() == len(record.steps)
        first = body.locator(".steps > li").first
        for words in ("Hints and merge", "cpu", "the policy admits", "Allocate", "aligned: each container"):
            expect(first).to_contain_text(words, ignore_case=True)
        pod = record.steps[0].held[0].pod
        expect(first.locator(".after svg")).to_contain_text(pod)
        expect(first.locator(".before svg")).not_to_contain_text(pod)
        # What stands before the second step is what stood after the first.
        after = first.locator(".after .drawing").inner_html()
        assert body.locator(".steps > li").nth(1).locator(".before .drawing").inner_html() == after
        expect(body).to_contain_text(result.source)
        body.get_by_text("The node's log").click()
        expect(body.locator("pre").last).to_contain_text("line 59")


def test_on_a_small_screen_a_button_shows_the_drawing_before(browser: Browser, address: str, run: RunReport) -> None:
    result = next(one for one in run.results if one.record and one.record.steps and one.record.steps[0].held)
    with shown(browser, f"{address}#i={result.words['id']}", width=480) as seen:
        pair = seen.page.locator("[data-filled=whole] .pair").first
        expect(pair.locator(".after svg")).to_be_visible()
        expect(pair.locator(".before svg")).to_be_hidden()
        pair.get_by_role("button", name="Before").press("Enter")
        expect(pair.locator(".before svg")).to_be_visible()
        expect(pair.locator(".after svg")).to_be_hidden()


def test_opening_is_a_step_that_back_takes_back(browser: Browser, address: str, run: RunReport) -> None:
    first, second = [one.words["id"] for one in sorted(run.results, key=lambda one: one.words["id"])][:2]
    with shown(browser, address) as seen:
        page = seen.page
        page.locator(f"{row_of(page, first)} > summary").click()
        expect(page).to_have_url(f"{address}#i={first}")
        page.locator(f"{row_of(page, second)} > summary").click()
        expect(page).to_have_url(f"{address}#i={second}")
        assert opened(page) == [first, second]
        page.go_back()
        assert opened(page) == [first]
        page.go_back()
        assert opened(page) == []


def test_a_failure_leads_to_its_drawings(browser: Browser, address: str, run: RunReport) -> None:
    instance = ids(run, outcome="failed")[0]
    with shown(browser, f"{address}#outcome=skipped") as seen:
        seen.page.get_by_role("link", name="Drawings, all steps").first.click()
        seen.page.wait_for_selector("[data-filled=whole]")
        assert opened(seen.page) == [instance]


def test_an_instance_that_is_not_there(browser: Browser, address: str) -> None:
    with shown(browser, f"{address}#i=no/such[thing]") as seen:
        expect(seen.page.locator("#unknown")).to_have_text("This run has no instance no/such[thing].")


def test_by_keyboard_alone(browser: Browser, address: str, run: RunReport) -> None:
    order = sorted(one.words["id"] for one in run.results)
    focused = "document.activeElement.closest('li').dataset.id"
    with shown(browser, address) as seen:
        page = seen.page
        page.keyboard.press("j")
        assert page.evaluate(focused) == order[0]
        page.keyboard.press("j")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("k")
        assert page.evaluate(focused) == order[1]
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-filled=whole]")
        assert opened(page) == [order[1]]
        page.keyboard.press("?")
        expect(page.locator("#keys")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#keys")).to_be_hidden()
        page.keyboard.press("/")
        page.keyboard.type("jk/?c")
        assert page.input_value("input[name=q]") == "jk/?c"
        expect(page).to_have_url(re.compile("#q="))
        page.keyboard.press("Escape")
        page.keyboard.press("c")
        assert len(visible(page)) == len(run.results)
        # Tab alone gets from the search to the controls and into the list.
        page.focus("input[name=q]")
        for name in ("outcome", "policy", "scope", "machine", "theme"):
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.name") == name
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "help"
        page.keyboard.press("Tab")
        assert page.evaluate(focused) == order[0]


def hostile_run() -> RunReport:
    """A run whose every word that comes from elsewhere is hostile."""
    plain = run_of(6, failing=3)
    hint = HintRecord((0,), preferred=True)
    step = StepRecord(
        0,
        7,
        HOSTILE,
        "refused",
        HOSTILE,
        HOSTILE,
        (HOSTILE,),
        (DecisionRecord(HOSTILE, (WishRecord(HOSTILE, (hint,)),), hint, admitted=False, lines=(HOSTILE,)),),
        {HOSTILE: HOSTILE},
        (HOSTILE,),
        {HOSTILE: {HOSTILE: 2}},
        (HeldRecord(HOSTILE, "2-3", {0: 1 << 30}, (HOSTILE,)),),
        (DeviceRecord(HOSTILE, HOSTILE, (0,)),),
        (HOSTILE,),
    )
    record = InstanceRecord((step,), "0-1", {}, HOSTILE, (HOSTILE,))
    machine = next(iter(plain.machines.values()))
    results = []
    for number, outcome in enumerate(("failed", "passed", "skipped")):
        words = {"id": f"a{HOSTILE}{number}", "machine": HOSTILE, "theme": HOSTILE, "policy": HOSTILE, "scope": HOSTILE}
        words["semantics"] = HOSTILE
        texts = (HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE)
        results.append(InstanceResult(words, outcome, 1.0, *texts, (HOSTILE,), record))
    named = replace(machine, name=HOSTILE)
    return RunReport(tuple(results), HOSTILE, HOSTILE, datetime(2030, 1, 1, tzinfo=UTC), 1, HOSTILE, {HOSTILE: named})


def test_hostile_words_stay_words(browser: Browser, tmp_path: Path) -> None:
    with shown(browser, written(hostile_run(), tmp_path)) as seen:
        page = seen.page
        page.locator("#list > li > details > summary").first.click()
        page.wait_for_selector("[data-filled=whole]")
        assert page.locator("img, [onerror], main script").count() == 0
        body = page.locator("[data-filled=whole]").inner_text()
        assert body.count(TELLING) > 12
        expect(page.locator(".failure").first).to_contain_text(TELLING)
        expect(page.locator(".matrix")).to_contain_text(TELLING)
        # What is clicked comes back out of the address as it went in.
        page.locator(".themes a").first.click()
        assert len(visible(page)) == 3
        page.reload()
        assert len(visible(page)) == 3
        assert page.locator(".themes a[aria-current=true]").count() == 1
        assert seen.errors == []
        assert {one for one in seen.requests if not one.startswith("data:")} == {page.url.partition("#")[0]}


def test_an_instance_that_never_had_a_node(browser: Browser, tmp_path: Path) -> None:
    run = run_of(6, failing=3)
    broken = [replace(one, record=None) if one.outcome == "failed" else one for one in run.results]
    with shown(browser, written(replace(run, results=tuple(broken), did_not_run=3), tmp_path)) as seen:
        expect(seen.page.locator(".failure").first).to_contain_text("aligned: expected container")
        expect(seen.page.locator("header")).to_contain_text("3 instances did not run")
        seen.page.locator("#list > li[data-outcome=failed] summary").first.click()
        expect(seen.page.locator("[data-filled=whole]")).to_contain_text("aligned: expected container")
        assert seen.errors == []


def test_a_run_that_was_ended_has_not_passed(browser: Browser, run: RunReport, tmp_path: Path) -> None:
    passed = tuple(one for one in run.results if one.outcome == "passed")[:20]
    for results, title in ((passed, "20 of 272 instances passed"), ((), "0 of 252 instances passed")):
        with shown(browser, written(replace(run, results=results, did_not_run=252), tmp_path)) as seen:
            expect(seen.page.locator("h1")).to_have_text(f"INTERRUPTED {title}")
            expect(seen.page.locator("h1 .badge")).to_have_class("badge warn")
            expect(seen.page.locator("header")).to_contain_text("252 instances did not run")


def test_many_failures_are_told_in_full_only_so_far(browser: Browser, tmp_path: Path) -> None:
    with shown(browser, written(run_of(120, failing=1, skipping=0), tmp_path)) as seen:
        assert seen.page.locator(".failure").count() == 100
        seen.page.get_by_role("link", name="all in the list").click()
        assert len(visible(seen.page)) == 120


def test_on_paper_there_are_all_failures_and_the_matrix(browser: Browser, address: str) -> None:
    with shown(browser, address) as seen:
        seen.page.emulate_media(media="print")
        seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        for failure in seen.page.locator(".failure .brief").all():
            expect(failure).to_be_visible()
        expect(seen.page.locator(".matrix")).to_be_visible()
        expect(seen.page.locator("#list")).to_be_hidden()


def test_on_paper_a_long_failure_begins_below_its_heading(browser: Browser, address: str) -> None:
    def computed(of: Locator, style: str) -> Any:
        return of.first.evaluate("(one, style) => getComputedStyle(one)[style]", style)

    with shown(browser, address) as seen:
        seen.page.emulate_media(media="print")
        assert computed(seen.page.locator("#failures"), "breakAfter") == "avoid"
        assert computed(seen.page.locator(".failure > summary"), "breakAfter") == "avoid"
        # Else each that is longer than what is left of a page leaves that empty.
        assert computed(seen.page.locator(".failure"), "breakInside") == "auto"
        assert computed(seen.page.locator(".failure .brief > li"), "breakInside") == "auto"


def test_paper_is_light_whatever_the_screen_is(browser: Browser, address: str, run: RunReport) -> None:
    instance = next(one for one in run.results if one.record).words["id"]
    with shown(browser, f"{address}#i={instance}", scheme="dark") as seen:
        seen.page.wait_for_selector("[data-filled=whole]")
        colours = """() => [document.documentElement, document.querySelector('#list svg text')].map(one => {
          const {backgroundColor, fill} = getComputedStyle(one);
          return [backgroundColor, fill];
        })"""
        dark = seen.page.evaluate(colours)
        seen.page.emulate_media(media="print", color_scheme="light")
        light = seen.page.evaluate(colours)
        seen.page.emulate_media(media="print", color_scheme="dark")
        assert seen.page.evaluate(colours) == light
        assert [one != other for one, other in zip(dark, light, strict=True)] == [True, True]


def test_a_thousand_instances_are_one_small_file() -> None:
    run = run_of(1000)
    assert len({one.words["machine"] for one in run.results}) == 17
    assert len(run_page(run).encode()) < 15 * MEGABYTE
