"""The playground in a real browser, as tests use it; `numaproof explain` says what it has to say."""

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect

from numaproof.harness.cli import main
from numaproof.harness.intake.pasted import Texts
from numaproof.harness.vocabulary import SCOPES
from tests.harness.serve.links import link_part
from tests.pages.browser import Seen, shown
from tests.pages.serving import Server

READY = "body[data-state=ready][data-remedies=ready]"
FIELDS = ("machine", "config", "plugins", "running", "pod", "semantics")
WORDS = "2 nodes x 8 CPUs, 64Gi"


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


def faults(page: Page) -> dict[str, str]:
    """What is said to be wrong, by field."""
    found = {}
    for name in FIELDS[:-1]:
        told = page.locator(f"#{name}-fault").inner_text() if page.locator(f"#{name}-fault").is_visible() else ""
        assert (page.locator(f"#{name}").get_attribute("aria-invalid") == "true") is bool(told)
        if told:
            found[name] = told
    return found
