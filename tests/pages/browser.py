"""A real browser for tests of pages: Debian's chromium, driven by Playwright; what the page says goes wrong is kept."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium")
# Without them chromium asks hosts of its maker at every start.
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Of axe-core's impacts, those that keep somebody from using a page.
_SERIOUS = ("serious", "critical")
AXE = Path(__file__).parent.parent.parent / "node_modules/axe-core/axe.min.js"

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here (Debian: apt install chromium)")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser of its own, gone at the end with its profile."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_QUIET))
        try:
            yield browser
        finally:
            browser.close()


@dataclass(slots=True)
class Seen:
    """A page that is shown, and what went wrong on it."""

    page: Page
    errors: list[str] = field(default_factory=list)  # of the console, of scripts, and requests that failed
    requests: list[str] = field(default_factory=list)  # every address that was asked for

    def serious(self) -> list[str]:
        """What axe-core finds seriously wrong, a line each: the rule, and the first element."""
        self.page.evaluate(_axe())  # no script tag: a page may forbid those of others
        found: dict[str, Any] = self.page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}"
            for one in found["violations"]
            if one["impact"] in _SERIOUS
        ]


@contextmanager
def shown(browser: Browser, address: str, *, width: int = 1280, scheme: str = "light", **more: Any) -> Iterator[Seen]:
    """A page at an address, in a window so wide, `light` or `dark`."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **more)  # type: ignore[arg-type]
    try:
        page = context.new_page()
        seen = Seen(page)
        page.on("console", lambda said: seen.errors.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: seen.errors.append(str(error)))
        page.on("requestfailed", lambda asked: seen.errors.append(f"{asked.url}: {asked.failure}"))
        page.on("request", lambda asked: seen.requests.append(asked.url))
        page.goto(address)
        yield seen
    finally:
        context.close()


@cache
def _axe() -> str:
    if not AXE.is_file():
        pytest.skip("axe-core is not here (npm install axe-core)")
    return AXE.read_text(encoding="utf-8")
