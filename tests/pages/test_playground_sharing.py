"""The playground in a real browser: links, files, pages and commands have everything in them, or say what they lack."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from numaproof.harness.intake.pasted import Texts
from numaproof.harness.serve.saved import MARK
from tests.fake_sysfs.texts.test_read_lscpu import HEADINGS as LSCPU
from tests.harness.serve.commands import typed
from tests.harness.serve.links import deflated, link_part
from tests.pages.browser import Seen, needs_browser, shown
from tests.pages.playground import (
    cells,
    config,
    elsewhere,
    explained,
    faults_of,
    given,
    playground,
    pod,
    says_what_explain_says,
    settled,
)
from tests.pages.serving import Server, serving

pytestmark = needs_browser


def test_a_link_that_can_be_read_takes_the_place_of_a_damaged_one(browser: Browser, server: Server) -> None:
    with shown(browser, server.address + "#p1=AAAA") as seen:
        note = seen.page.locator("#note")
        expect(note).to_contain_text("The link is damaged")
        seen.page.goto(server.address + link_part(WHOLE))
        expect(note).to_have_text("")
        settled(seen.page)
        assert given(seen.page) == WHOLE.as_dict()


WHOLE = Texts(
    machine="# Zwölf 東京\nnuma:2 core:6 pu:1\n",
    config=config("restricted"),
    plugins="example.com/nic: {1: 2}\n",
    running=pod("first", 2),
    pod=pod("asked", 4, nic=1),
    semantics="kep",
)


def test_a_link_has_everything_in_it_and_tells_the_server_nothing(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    with playground(browser, server, permissions=["clipboard-read", "clipboard-write"]) as seen:
        page = seen.page
        for name, text in WHOLE.as_dict().items():
            (page.select_option if name == "semantics" else page.fill)(f"#{name}", text)
        page.fill("#machine", "numa:2 core:6 pu:1")
        settled(page)
        expected = {**WHOLE.as_dict(), "machine": "numa:2 core:6 pu:1"}
        assert given(page) == expected
        page.click("#link")
        expect(page.locator("#note")).to_contain_text("Copied: a link")
        link = page.evaluate("navigator.clipboard.readText()")
        assert link == page.url
        answer = page.locator("#answer").inner_text()
        with shown(browser, link) as other:
            settled(other.page)
            assert given(other.page) == expected
            assert other.page.locator("#answer").inner_text() == answer
            assert elsewhere(other, server) == []
            says_what_explain_says(other.page, tmp_path)
        # The command opens it, too.
        with serving(link) as again, shown(browser, again.address) as third:
            settled(third.page)
            assert given(third.page) == expected


NO_TEXTS = [MARK + deflated(content) for content in (b"[]", b'{"machine": 5}', b'{"pod": {"kind": "Pod"}}')]


@pytest.mark.parametrize("part", ["#p1", "#p2=AAAA", "#p1=", "#p1=AAAA", "#p1=%00", "#p1=q1Yq", "#p1=i-3D", *NO_TEXTS])
def test_a_damaged_link_is_said_and_the_first_example_shown(browser: Browser, server: Server, part: str) -> None:
    with playground(browser, server) as plain, shown(browser, server.address + part) as seen:
        settled(seen.page)
        assert given(seen.page) == given(plain.page)
        expect(seen.page.locator("#note")).to_have_text("The link is damaged, or not whole: copy it again.")
        assert seen.errors == []


def saved(page: Page, button: str, place: Path) -> Path:
    with page.expect_download() as waiting:
        page.click(button)
    path = place / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_a_file_has_everything_in_it_for_the_page_and_the_command(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    expected = {**WHOLE.as_dict(), "machine": "numa:2 core:6 pu:1"}
    with playground(browser, server, Texts(**expected)) as seen:  # type: ignore[arg-type]
        file = saved(seen.page, "#save", tmp_path)
        answer = seen.page.locator("#answer").inner_text()
    with playground(browser, server) as seen:
        before = given(seen.page)
        seen.page.set_input_files("#file", file)
        expect(seen.page.locator("#note")).to_have_text("Opened: playground.json")
        settled(seen.page)
        assert given(seen.page) == expected
        assert seen.page.locator("#answer").inner_text() == answer
        seen.page.click("#undo")
        settled(seen.page)
        assert given(seen.page) == before
        assert faults_of(seen) == []
    with serving(str(file)) as again, playground(browser, again) as seen:
        assert given(seen.page) == expected
        assert seen.page.locator("#answer").inner_text() == answer


PARTLY_TEXTS = '{"numaproof": "playground 1", "machine": "dgx-a100", "pod": {"kind": "Pod"}}'


@pytest.mark.parametrize("content", ["", "null", "{}", '{"numaproof": "playground 2"}', "kind: Pod\n", PARTLY_TEXTS])
def test_a_file_of_something_else_is_said_and_nothing_changes(seen: Seen, tmp_path: Path, content: str) -> None:
    before = given(seen.page)
    (tmp_path / "other.json").write_text(content)
    seen.page.set_input_files("#file", tmp_path / "other.json")
    expect(seen.page.locator("#note")).to_contain_text("other.json: is not a file that the playground saved")
    assert given(seen.page) == before


def test_the_answer_is_kept_as_a_page(browser: Browser, seen: Seen, tmp_path: Path) -> None:
    file = saved(seen.page, "#page", tmp_path)
    told = explained(tmp_path / "given", given(seen.page))
    with shown(browser, file.as_uri()) as kept:
        expect(kept.page.locator(".verdict")).to_contain_text(told["verdict"]["reason"])
        assert cells(kept.page).keys() == cells(seen.page).keys()
        assert kept.errors == []
        assert [one for one in kept.requests if not one.startswith("data:")] == [file.as_uri()]


def test_the_command_that_is_shown_says_the_same(seen: Seen, tmp_path: Path) -> None:
    page = seen.page
    page.fill("#machine", LSCPU)
    page.fill("#pod", pod("small", 3))
    page.fill("#running", pod("first", 2))
    settled(page)
    told = explained(tmp_path / "given", given(page))
    found = json.loads(typed(f"{str(page.locator('#command').text_content()).rstrip()} --json", tmp_path).stdout)
    assert found["verdict"] == told["verdict"]
    assert found["matrix"] == told["matrix"]
