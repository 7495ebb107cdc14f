"""The playground in a real browser, at a real server: whatever it is given, it says what `numaproof explain` says."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from numaproof.harness.report.pages.render import inlined
from numaproof.harness.serve.page import examples
from numaproof.harness.vocabulary import POLICIES, SCOPES
from tests.fake_sysfs.texts.test_read_lscpu import HEADINGS as LSCPU
from tests.pages.browser import Seen, needs_browser
from tests.pages.playground import (
    FIELDS,
    WORDS,
    choose,
    config,
    elsewhere,
    faults,
    faults_of,
    field_of_cpus,
    given,
    playground,
    pod,
    says_what_explain_says,
    settled,
)
from tests.pages.serving import Server, serving

pytestmark = needs_browser

FLAGS = "--topology-manager-policy=restricted --cpu-manager-policy=static --reserved-cpus=0\n"
HOSTILE = "<img src=x onerror=alert(1)>"


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
