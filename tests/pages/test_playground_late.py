"""The playground in a real browser: answers that come late or never, and servers that end."""

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Error, Page, Route, expect

from tests.harness.serve.slow import SLOW
from tests.pages.browser import Seen, needs_browser
from tests.pages.playground import (
    READY,
    choose,
    field_of_cpus,
    given,
    playground,
    pod,
    says_what_explain_says,
    settled,
)
from tests.pages.serving import ENDED, Server, serving
from tests.waiting import wait_until

pytestmark = needs_browser


def test_a_server_that_is_gone_is_said_and_found_again(browser: Browser, tmp_path: Path) -> None:
    with serving() as server, playground(browser, server) as seen:
        page = seen.page
        choose(page, 0)
        assert server.end() == ENDED
        field_of_cpus(page).fill("3")
        settled(page)
        said = page.locator("#other")
        expect(said).to_contain_text("The server does not answer. Start it again")
        expect(said).to_contain_text(f"numaproof serve --port {server.port}")
        expect(page.locator("#old")).to_be_visible()
        page.fill("#pod", pod("typed", 4))
        settled(page)
        expect(said).to_contain_text("The server does not answer")
        page.click("#page")
        expect(page.locator("#note")).to_contain_text("The server does not answer")
        assert page.input_value("#pod") == pod("typed", 4)
        with serving("--port", server.port):
            page.evaluate("dispatchEvent(new Event('focus'))")  # as when somebody comes back to the window
            expect(said).to_be_empty()
            says_what_explain_says(page, tmp_path)


def test_a_server_that_is_gone_while_it_looks_for_what_would_help(browser: Browser) -> None:
    with serving() as server, playground(browser, server) as seen:
        page = seen.page
        page.route("**/page/remedies", lambda route: route.abort("connectionrefused"))
        page.fill("#pod", pod("other", 6))
        settled(page)
        expect(page.locator("#remedies")).to_contain_text("The server does not answer")


class Held:
    """Answers to the first questions of a kind, held back until they are let go; later ones pass."""

    def __init__(self, page: Page, kind: str, count: int = 1) -> None:
        self._page, self._count = page, count
        self._waiting: list[Callable[[], None]] = []
        page.route(f"**/page/{kind}", self._hold)

    def _hold(self, route: Route) -> None:
        if self._count == 0:
            route.continue_()
            return
        self._count -= 1
        response = route.fetch()
        self._waiting.append(lambda: route.fulfill(response=response))

    def wait(self) -> None:
        """Until an answer is held; the page's requests come to us while it waits, too."""

        def is_held() -> bool:
            self._page.wait_for_timeout(10)
            return bool(self._waiting)

        wait_until(is_held, "an answer to hold back")

    def let_go(self) -> None:
        """The oldest."""
        with contextlib.suppress(Error):  # the page may have given up the question
            self._waiting.pop(0)()


def turn(page: Page) -> None:
    """Until the page has done what it had planned by now: its timers are shorter than one that is set after them."""
    page.evaluate("() => new Promise(done => setTimeout(() => requestAnimationFrame(done), 500))")


def test_a_late_answer_does_not_take_the_place_of_a_newer_one(seen: Seen, tmp_path: Path) -> None:
    page = seen.page
    held = Held(page, "show")
    page.fill("#pod", pod("early", 1))
    held.wait()
    page.fill("#pod", pod("newest", 6))
    turn(page)
    held.let_go()
    told = says_what_explain_says(page, tmp_path)
    assert told["pod"] == "default/newest"
    assert not told["verdict"]["admitted"]
    expect(page.locator("#answer")).not_to_contain_text("early")


def test_a_late_answer_to_a_change_leaves_texts_that_took_its_place(seen: Seen, tmp_path: Path) -> None:
    page = seen.page
    before = given(page)
    held = Held(page, "show")
    page.locator("#settings").get_by_label("topology policy").select_option("none")
    held.wait()
    page.click("#undo")
    turn(page)
    held.let_go()
    assert says_what_explain_says(page, tmp_path)["policy"] == "restricted"
    assert given(page) == before


def test_what_is_typed_while_a_change_is_answered_stays(seen: Seen, tmp_path: Path) -> None:
    page = seen.page
    held = Held(page, "show")
    page.locator("#settings").get_by_label("topology policy").select_option("none")
    held.wait()
    page.fill("#pod", pod("typed", 6))
    turn(page)
    held.let_go()
    told = says_what_explain_says(page, tmp_path)
    assert (told["pod"], told["policy"]) == ("default/typed", "none")


def test_a_slider_that_moves_on_is_not_pulled_back(seen: Seen, tmp_path: Path) -> None:
    page = seen.page
    slider = page.locator("#amounts input[type=range]").first
    held = Held(page, "show", 2)
    slider.focus()
    page.keyboard.press("ArrowLeft")
    held.wait()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    held.let_go()
    held.wait()  # the second answer: the first one is shown
    expect(slider).to_have_value("2")
    expect(field_of_cpus(page)).to_have_value("2")
    held.let_go()
    says_what_explain_says(page, tmp_path)
    expect(slider).to_have_value("2")
    assert "cpu: 2," in page.input_value("#pod")


def test_late_remedies_of_another_pod_are_not_shown(seen: Seen, tmp_path: Path) -> None:
    page = seen.page
    held = Held(page, "remedies")
    page.fill("#pod", pod("refused", 6))
    held.wait()
    page.fill("#pod", pod("fits", 1))
    page.wait_for_selector(READY)
    held.let_go()
    turn(page)
    assert says_what_explain_says(page, tmp_path)["remedies"] == []
    expect(page.locator("#remedies")).to_be_empty()


def workers(server: Server) -> set[int]:
    """The processes that compute answers."""
    found = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
    return set(map(int, found.split()))


def computed(process: int) -> float:
    """The seconds for which a process has computed by now."""
    told = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def test_a_page_that_is_closed_while_it_waits_leaves_the_server_well(browser: Browser, tmp_path: Path) -> None:
    with serving("--time-limit", "3600") as server:  # so that no limit ends what nobody waits for
        with playground(browser, server) as seen:
            seen.page.fill("#machine", SLOW["machine"])
            settled(seen.page)
            before = {process: computed(process) for process in workers(server)}
            seen.page.fill("#pod", SLOW["pod"])
            # More than it takes to tidy up after the answers before.
            asked = wait_until(
                lambda: next((one for one, then in before.items() if computed(one) > then + 1), None), "an order"
            )
        # Nobody waits any more: the process that was asked is ended, and another one takes its place.
        wait_until(lambda: len(found := workers(server)) == len(before) and asked not in found, "another process")
        with playground(browser, server) as seen:
            says_what_explain_says(seen.page, tmp_path)


def test_ctrl_c_ends_the_server_while_a_page_is_open(browser: Browser) -> None:
    with serving() as server, playground(browser, server):
        server.process.send_signal(signal.SIGINT)
        out, errors = server.process.communicate(timeout=300)
        assert (out, errors) == ("", ENDED.replace("SIGTERM", "Ctrl-C"))
        assert server.process.returncode == 128 + signal.SIGINT
