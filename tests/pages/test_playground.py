"""The playground in a real browser, at a real server: whatever it is given, it says what `numaproof explain` says."""

import contextlib
import io
import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Locator, Page, Route, expect

from numaproof.harness.cli import main
from numaproof.harness.intake.pasted import Texts
from numaproof.harness.report.pages.render import inlined
from numaproof.harness.serve.page import examples
from numaproof.harness.serve.saved import MARK
from numaproof.harness.vocabulary import POLICIES, SCOPES
from tests.fake_sysfs.texts.test_read_lscpu import HEADINGS as LSCPU
from tests.harness.serve.commands import typed
from tests.harness.serve.links import deflated, link_part
from tests.pages.browser import Seen, chromium, needs_browser, shown
from tests.pages.serving import ENDED, Server, serving
from tests.waiting import wait_until

pytestmark = needs_browser

READY = "body[data-state=ready][data-remedies=ready]"
FIELDS = ("machine", "config", "plugins", "running", "pod", "semantics")
WORDS = "2 nodes x 8 CPUs, 64Gi"
FLAGS = "--topology-manager-policy=restricted --cpu-manager-policy=static --reserved-cpus=0\n"
HOSTILE = "<img src=x onerror=alert(1)>"


def pod(name: str, cpu: int | str, **more: int) -> str:
    """A manifest as people write it."""
    limits = ", ".join(f"{key}: {value}" for key, value in {"cpu": cpu, "memory": "1Gi"}.items())
    limits += "".join(f", example.com/{key}: {value}" for key, value in more.items())
    return (
        f"kind: Pod\nmetadata: {{name: {name}}}\nspec:\n  containers:\n"
        f"  - name: app\n    resources: {{limits: {{{limits}}}}}\n"
    )


def config(policy: str, **more: str) -> str:
    settings = {"topologyManagerPolicy": policy, "cpuManagerPolicy": "static", "reservedSystemCPUs": '"0"', **more}
    head = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}
    return "".join(f"{name}: {value}\n" for name, value in {**head, **settings}.items())


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as one:
        yield one


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


@pytest.fixture
def seen(browser: Browser, server: Server) -> Iterator[Seen]:
    """The page as it opens; whatever a test does on it, no script fails and nobody but the server is asked."""
    with playground(browser, server) as opened:
        yield opened
        assert faults_of(opened) == []
        assert elsewhere(opened, server) == []


@contextlib.contextmanager
def playground(browser: Browser, server: Server, texts: Texts | None = None, **more: Any) -> Iterator[Seen]:
    """The page, when the first answer is whole; with these texts, by a link."""
    with shown(browser, server.address + (link_part(texts) if texts else ""), **more) as seen:
        settled(seen.page)
        yield seen


def settled(page: Page) -> None:
    """The answer to all that was given is there, and what would help, too."""
    page.wait_for_selector(READY)


def faults_of(seen: Seen) -> list[str]:
    """What went wrong on the page; that a text could not be read, or a search was given up, a browser tells as well."""
    expected = ("422 (Unprocessable Entity)", "/page/remedies: net::ERR_ABORTED")
    return [one for one in seen.errors if not any(text in one for text in expected)]


def elsewhere(seen: Seen, server: Server) -> list[str]:
    return [one for one in seen.requests if not one.startswith((server.address, "data:", f"blob:{server.address}"))]


def given(page: Page) -> dict[str, str]:
    """What the page's fields hold."""
    return {name: page.input_value(f"#{name}") for name in FIELDS}


def explained(place: Path, texts: dict[str, str]) -> dict[str, Any]:
    """What `numaproof explain --json` says of the same texts."""
    place.mkdir(exist_ok=True)
    arguments = ["explain", str(place / "pod"), "--json", "--semantics", texts["semantics"]]
    for name in ("machine", "config", "plugins", "running", "pod"):
        (place / name).write_text(texts[name])
        if name != "pod" and texts[name].strip():
            is_long = name != "machine" or "\n" in texts[name].strip()
            arguments += [f"--{name}", str(place / name) if is_long else texts[name].strip()]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(arguments)
    assert code in (0, 1), err.getvalue()
    found: dict[str, Any] = json.loads(out.getvalue())
    assert found["verdict"]["admitted"] is (code == 0)
    return found


def outcome(verdict: dict[str, Any] | None) -> str:
    """A verdict in the first words of a cell."""
    if verdict is None:
        return "the node would not start so"
    return "admitted" if verdict["admitted"] else f"refused: {verdict['reason']}"


def cells(page: Page) -> dict[tuple[str, str], str]:
    """By policy and scope, the whole text of its cell."""
    found = {}
    for row in page.locator(".matrix tbody tr").all():
        policy = row.locator("th").inner_text()
        for cell in row.locator("td").all():
            scope = cell.get_attribute("data-scope")
            for one in SCOPES if scope == "both" else (str(scope),):
                found[policy, one] = cell.inner_text()
    return found


def says_what_explain_says(page: Page, place: Path) -> dict[str, Any]:
    """The verdict, every policy and scope, and who gets which CPUs, are those of the command; what that says."""
    settled(page)
    told = explained(place, given(page))
    verdict = told["verdict"]
    headline = page.locator(".answer .verdict").inner_text()
    assert headline.startswith("ADMITTED" if verdict["admitted"] else f"REFUSED: {verdict['reason']}")
    expect(page.locator(".answer")).to_contain_text(f"policy {told['policy']}, scope {told['scope']}")
    found = cells(page)
    assert found.keys() == {(one["policy"], one["scope"]) for one in told["matrix"]}
    for one in told["matrix"]:
        text = found[one["policy"], one["scope"]]
        assert outcome(one["verdict"]) in text.splitlines()[-1], (one["policy"], one["scope"], text)
    for container in (told["placement"] or {}).values() if verdict["admitted"] else ():
        if container["cpus_by_numa"]:
            assert f" {container['cpus']}" in str(page.locator("#answer .drawing svg desc").first.text_content())
    assert remedies(page) == [one["change"] for one in told["remedies"]]
    return told


def remedies(page: Page) -> list[str]:
    return [one.inner_text().removesuffix("Apply").strip() for one in page.locator(".remedies li").all()]


def choose(page: Page, number: int) -> None:
    page.select_option("#example", str(number))
    settled(page)


def field_of_cpus(page: Page) -> Locator:
    return page.locator("#amounts").get_by_label("cpu", exact=True).first


def test_it_opens_with_an_answer_and_asks_nobody_else(browser: Browser, server: Server, tmp_path: Path) -> None:
    with playground(browser, server) as seen:
        told = says_what_explain_says(seen.page, tmp_path)
        # As docs/explain.md tells the story: 2 CPUs are free on one NUMA node and 3 on the other, 5 are wanted.
        assert told["verdict"]["reason"] == "TopologyAffinityError"
        assert seen.page.title() == "REFUSED: TopologyAffinityError - numaproof playground"
        assert seen.errors == []
        assert elsewhere(seen, server) == []


def test_the_script_knows_no_word_of_the_engine() -> None:
    script = inlined("playground.js")
    words = [*POLICIES, *SCOPES, "TopologyAffinityError", "UnexpectedAdmissionError", "cpu", "memory", "hugepages"]
    # `container` is also a part of other words: as a text of its own it would be the scope.
    assert [word for word in words if re.search(rf"[\"'`]{word}[\"'`]|{word}(?=-numa|Policy)", script)] == []
    assert not re.search(r"hint|affinit|numa[_ -]?node|topologyManager|cpuManager|memoryManager", script, re.IGNORECASE)


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


def test_a_slider_changes_the_pod_and_every_verdict(seen: Seen, tmp_path: Path) -> None:
    page = seen.page
    slider = page.locator("#amounts input[type=range]").first
    slider.focus()
    page.keyboard.press("ArrowLeft")
    settled(page)
    page.keyboard.press("ArrowLeft")
    settled(page)
    assert "cpu: 3," in page.input_value("#pod")
    expect(field_of_cpus(page)).to_have_value("3")
    told = says_what_explain_says(page, tmp_path)
    assert told["placement"]["app"]["cpus_by_numa"] == {"1": 3}  # the only NUMA node with 3 that are free
    expect(page.locator("#answer .drawing svg")).to_contain_text("default/half (asked about)")
    expect(slider).to_be_focused()


def test_a_number_that_is_typed_changes_the_pod(seen: Seen, tmp_path: Path) -> None:
    page = seen.page
    field_of_cpus(page).fill("2")
    assert says_what_explain_says(page, tmp_path)["verdict"]["admitted"]
    assert "cpu: 2," in page.input_value("#pod")
    # A field that is empty says nothing; once it is left it says again what is in force.
    field_of_cpus(page).fill("")
    page.keyboard.press("Tab")
    expect(field_of_cpus(page)).to_have_value("2")
    assert "cpu: 2," in page.input_value("#pod")
    page.locator("#amounts").get_by_label("memory, GiB", exact=True).fill("40")
    told = says_what_explain_says(page, tmp_path)
    assert "memory: 40Gi" in page.input_value("#pod")
    assert told["verdict"]["admitted"]  # memory is nobody's concern where the memory manager is None


def test_typing_in_the_manifest_changes_the_verdicts_and_the_numbers(seen: Seen, tmp_path: Path) -> None:
    page = seen.page
    page.locator("#pod").focus()
    page.keyboard.press("Control+End")
    for _ in "5, memory: 1Gi}}\n":
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Delete")
    page.keyboard.type("2")
    assert "limits: {cpu: 2, memory" in page.input_value("#pod")
    assert says_what_explain_says(page, tmp_path)["verdict"]["admitted"]
    expect(field_of_cpus(page)).to_have_value("2")
    expect(page.locator("#pod")).to_be_focused()


def test_settings_are_chosen_switched_and_typed(seen: Seen, tmp_path: Path) -> None:
    page = seen.page
    settings = page.locator("#settings")
    settings.get_by_label("topology policy").select_option("best-effort")
    assert says_what_explain_says(page, tmp_path)["policy"] == "best-effort"
    assert "topologyManagerPolicy: best-effort" in page.input_value("#config")
    settings.get_by_label("scope").select_option("pod")
    assert says_what_explain_says(page, tmp_path)["scope"] == "pod"
    settings.get_by_label("reserved CPUs").fill("0-1")
    page.keyboard.press("Enter")
    settled(page)
    assert "0-1" in page.input_value("#config")
    says_what_explain_says(page, tmp_path)
    settings.get_by_text("Options of the policies").click()
    settings.get_by_label("strict-cpu-reservation").check()
    settled(page)
    assert "strict-cpu-reservation" in page.input_value("#config")
    expect(settings.get_by_label("strict-cpu-reservation")).to_be_visible()
    says_what_explain_says(page, tmp_path)
    # What is typed into the text is what the controls say.
    page.fill("#config", config("single-numa-node"))
    settled(page)
    expect(settings.get_by_label("topology policy")).to_have_value("single-numa-node")
    expect(settings.get_by_label("scope")).to_have_value("container")
    expect(settings.get_by_label("strict-cpu-reservation")).not_to_be_checked()


def test_a_policy_that_no_kubelet_has_is_offered_where_it_is_in_force(seen: Seen) -> None:
    page = seen.page
    offered = page.locator("#settings").get_by_label("topology policy")
    page.fill("#config", config("strict"))
    settled(page)
    expect(offered).to_have_value("strict")
    page.fill("#config", config("none"))
    settled(page)
    expect(offered).to_have_value("none")


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param({"machine": LSCPU, "pod": pod("small", 2)}, id="lscpu"),
        pytest.param({"machine": "numa:4 core:4 pu:2", "pod": pod("large", 12)}, id="hwloc"),
        pytest.param({"pod": pod("gpu", 4, gpu=2), "plugins": "example.com/gpu: {0: 1, 1: 1}"}, id="plugins"),
        pytest.param({"pod": pod("odd", 3), "config": FLAGS}, id="flags"),
        pytest.param({"pod": pod("late", 4), "running": "---\n".join(pod(f"p{n}", 3) for n in range(4))}, id="pods"),
        pytest.param({"pod": pod("late", 4), "semantics": "kep", "config": config("restricted")}, id="kep"),
    ],
)
def test_what_is_pasted_is_read_as_the_command_reads_it(seen: Seen, tmp_path: Path, texts: dict[str, str]) -> None:
    page = seen.page
    for name in ("machine", "config", "plugins", "running", "pod"):
        page.fill(f"#{name}", texts.get(name, WORDS if name == "machine" else ""))
    page.select_option("#semantics", texts.get("semantics", "current"))
    told = says_what_explain_says(page, tmp_path)
    assert told["pod"].endswith(re.findall(r"name: (\w+)}", texts["pod"])[0])
    assert faults(page) == {}


def test_pods_of_several_manifests_are_drawn_each(seen: Seen) -> None:
    page = seen.page
    page.fill("#running", "---\n".join(pod(f"p{number}", 3) for number in range(4)))
    settled(page)
    for number in range(4):
        expect(page.locator("#answer .drawing svg")).to_contain_text(f"default/p{number}")


def test_a_preset_is_chosen_and_named_only_while_it_is_the_machine(seen: Seen, tmp_path: Path) -> None:
    page = seen.page
    page.fill("#preset", "dgx-a10")
    expect(page.locator("#machine")).to_have_value(WORDS)
    page.fill("#preset", "dgx-a100")
    expect(page.locator("#machine")).to_have_value("dgx-a100")
    says_what_explain_says(page, tmp_path)
    page.fill("#machine", WORDS)
    expect(page.locator("#preset")).to_have_value("")
    page.fill("#preset", "nothing")
    page.keyboard.press("Tab")
    expect(page.locator("#preset")).to_have_value("")


def faults(page: Page) -> dict[str, str]:
    """What is said to be wrong, by field."""
    found = {}
    for name in FIELDS[:-1]:
        told = page.locator(f"#{name}-fault").inner_text() if page.locator(f"#{name}-fault").is_visible() else ""
        assert (page.locator(f"#{name}").get_attribute("aria-invalid") == "true") is bool(told)
        if told:
            found[name] = told
    return found


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("machine", "dgx-a10", "dgx-a100"),
        ("config", "topologyManagerPolicy: restrictd\n", "restricted"),
        ("plugins", "example.com/gpu: {first: 1}\n", "first"),
        ("running", "kind: Pod\nspec: [\n", "YAML"),
        ("pod", pod("bad", "five"), "five"),
        ("pod", "", "pod"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field_until_it_is_mended(
    seen: Seen, tmp_path: Path, name: str, text: str, wanted: str
) -> None:
    page = seen.page
    before = page.input_value(f"#{name}")
    page.fill(f"#{name}", text)
    settled(page)
    told = faults(page)
    assert told.keys() == {name}
    assert wanted in told[name]
    assert told[name].startswith(name)
    assert "\n" not in told[name]
    # It is read out with its field, and in its sight.
    assert f"{name}-fault" in str(page.locator(f"#{name}").get_attribute("aria-describedby")).split()
    fault, field = page.locator(f"#{name}-fault").bounding_box(), page.locator(f"#{name}").bounding_box()
    assert fault is not None
    assert field is not None
    assert min(abs(field["y"] - fault["y"] - fault["height"]), abs(fault["y"] - field["y"] - field["height"])) < 80
    # The answer that is left is said to be an old one.
    expect(page.locator("#old")).to_be_visible()
    assert page.title().startswith("no answer")
    page.fill(f"#{name}", before)
    settled(page)
    assert faults(page) == {}
    expect(page.locator("#old")).to_be_hidden()
    says_what_explain_says(page, tmp_path)


def test_faults_of_several_fields_are_all_said(seen: Seen) -> None:
    page = seen.page
    page.fill("#machine", "dgx-a10")
    page.fill("#pod", "kind: Pot\n")
    settled(page)
    assert faults(page).keys() == {"machine", "pod"}


def test_a_change_that_cannot_be_made_is_said_and_not_kept(seen: Seen, tmp_path: Path) -> None:
    page = seen.page
    before = given(page)
    field_of_cpus(page).fill("-1")
    settled(page)
    assert "not changed" in faults(page)["pod"]
    assert given(page) == before
    expect(page.locator("#undo")).to_be_disabled()  # nothing was done
    page.keyboard.press("Tab")
    expect(field_of_cpus(page)).to_have_value("5")
    settings = page.locator("#settings")
    settings.get_by_label("topology policy").select_option("best-effort")
    settled(page)
    assert faults(page) == {}
    settings.get_by_label("reserved CPUs").fill("99")
    page.keyboard.press("Tab")
    settled(page)
    assert faults(page).keys() == {"config"}
    # What is in force: what was chosen before, not what the page opened with.
    expect(settings.get_by_label("topology policy")).to_have_value("best-effort")
    expect(settings.get_by_label("reserved CPUs")).to_have_value("0")
    field_of_cpus(page).fill("3")
    assert says_what_explain_says(page, tmp_path)["policy"] == "best-effort"
    assert faults(page) == {}


def test_a_remedy_that_is_applied_does_what_it_says(seen: Seen, tmp_path: Path) -> None:
    page = seen.page
    told = says_what_explain_says(page, tmp_path)
    for index, one in enumerate(told["remedies"]):
        choose(page, 1)
        choose(page, 0)
        page.locator(".remedies li").nth(index).get_by_role("button").press("Enter")
        now = says_what_explain_says(page, tmp_path)
        assert now["verdict"]["admitted"], one["change"]
        expect(page.locator("#note")).to_have_text(f"Applied: {one['change']}")
        # The button is gone; who used it by the keyboard is where it was, in the answer.
        expect(page.locator("#answer")).to_be_focused()


def test_what_is_said_of_a_step_goes_with_it(seen: Seen) -> None:
    page, note = seen.page, seen.page.locator("#note")
    leaving: list[Callable[[], None]] = [
        lambda: page.click("#undo"),
        lambda: field_of_cpus(page).fill("6"),
        lambda: page.fill("#pod", ""),
    ]
    for leave in leaving:
        choose(page, 1)
        choose(page, 0)
        page.locator(".remedies button").first.click()
        settled(page)
        expect(note).to_contain_text("Applied: ")
        leave()
        settled(page)
        expect(note).to_have_text("")


def test_a_link_that_can_be_read_takes_the_place_of_a_damaged_one(browser: Browser, server: Server) -> None:
    with shown(browser, server.address + "#p1=AAAA") as seen:
        note = seen.page.locator("#note")
        expect(note).to_contain_text("The link is damaged")
        seen.page.goto(server.address + link_part(WHOLE))
        expect(note).to_have_text("")
        settled(seen.page)
        assert given(seen.page) == WHOLE.as_dict()


def test_undo_goes_back_step_by_step(seen: Seen) -> None:
    page = seen.page
    steps = [given(page)]
    settings = page.locator("#settings")
    field_of_cpus(page).fill("3")
    settled(page)
    steps.append(given(page))
    settings.get_by_label("topology policy").select_option("none")
    settled(page)
    steps.append(given(page))
    page.select_option("#semantics", "kep")
    settled(page)
    steps.append(given(page))
    choose(page, 3)
    assert len({json.dumps(one) for one in [*steps, given(page)]}) == 5
    for before in reversed(steps):
        page.click("#undo")
        settled(page)
        assert given(page) == before
    expect(page.locator("#undo")).to_be_disabled()


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


@pytest.mark.parametrize("number", range(len(examples())), ids=lambda number: f"example {number}")
def test_every_example_opens_and_has_the_command_s_verdict(seen: Seen, tmp_path: Path, number: int) -> None:
    story = examples()[number]
    choose(seen.page, number)
    assert given(seen.page) == {name: story.get(name, "current" if name == "semantics" else "") for name in FIELDS}
    says_what_explain_says(seen.page, tmp_path)
    assert faults(seen.page) == {}
    expect(seen.page.locator("#note")).to_have_text(story["why"])
    # Once something is changed it is no example any more, and can be chosen again.
    seen.page.locator("#pod").press("Control+End")
    seen.page.keyboard.type("\n")
    expect(seen.page.locator("#example")).to_have_value("")


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
        """Until an answer is held."""
        while not self._waiting:
            self._page.wait_for_timeout(10)

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


def test_hostile_words_stay_words(browser: Browser, server: Server, tmp_path: Path) -> None:
    with playground(browser, server) as seen:
        page = seen.page
        for name in ("machine", "config", "plugins", "running", "pod"):
            page.fill(f"#{name}", f"{HOSTILE}: [{{'</textarea>{HOSTILE}': 1}}]\n")
        settled(page)
        assert any(HOSTILE in told for told in faults(page).values())
        page.fill("#pod", pod("asked", 1))
        page.fill("#machine", f'# {HOSTILE}\nname: "{HOSTILE}"\nnodes: 2\n')
        page.fill("#plugins", f"example.com/x: [{{id: '{HOSTILE}', numa: [0]}}]\n")
        page.fill("#config", "")
        page.fill("#running", "")
        settled(page)
        (tmp_path / "a.json").write_text(
            json.dumps({"numaproof": "playground 1", "pod": HOSTILE, "machine": "</script>"})
        )
        page.set_input_files("#file", tmp_path / "a.json")
        settled(page)
        assert page.locator("img, [onerror]").count() == 0
        assert faults_of(seen) == []
    with serving(str(tmp_path / "a.json")) as again, playground(browser, again) as seen:
        assert seen.page.input_value("#machine") == "</script>"
        assert faults_of(seen) == []


def test_without_scripts_it_says_what_to_use(browser: Browser, server: Server) -> None:
    with shown(browser, server.address, java_script_enabled=False) as seen:
        expect(seen.page.locator("noscript")).to_be_visible()
        assert "numaproof explain does the same in a terminal" in seen.page.content()


def workers(server: Server) -> set[int]:
    """The processes that compute answers."""
    found = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
    return set(map(int, found.split()))


def test_a_page_that_is_closed_while_it_waits_leaves_the_server_well(browser: Browser, tmp_path: Path) -> None:
    with serving() as server:
        with playground(browser, server) as seen:
            before = workers(server)
            for process in before:
                os.kill(process, signal.SIGSTOP)
            with seen.page.expect_request("**/page/show"):
                seen.page.fill("#pod", pod("waiting", 1))
            # Nobody waits any more: the process that was asked is ended, and another one takes its place.
        wait_until(lambda: len(workers(server)) == len(before) and workers(server) != before, "another process")
        for process in before & workers(server):
            os.kill(process, signal.SIGCONT)
        with playground(browser, server) as seen:
            says_what_explain_says(seen.page, tmp_path)


def test_ctrl_c_ends_the_server_while_a_page_is_open(browser: Browser) -> None:
    with serving() as server, playground(browser, server):
        server.process.send_signal(signal.SIGINT)
        out, errors = server.process.communicate()
        assert (out, errors) == ("", ENDED.replace("SIGTERM", "Ctrl-C"))
        assert server.process.returncode == 128 + signal.SIGINT
