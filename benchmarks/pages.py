"""The page of a run of 1,000 instances on 17 machines: to write it; in a browser to open, filter and search it."""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page

from benchmarks.timing import judge
from numaproof.harness.report.run_page import run_page
from tests.pages.browser import CHROMIUM, chromium, shown
from tests.pages.run_records import run_of

INSTANCES = 1000
ROUNDS = 5
LIMIT = 1000  # ms: what a person takes for at once
# From a change to the frame that shows it.
SHOWN = """change => new Promise(done => {
  const begun = performance.now();
  eval(change);
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
})"""
CHANGES = {
    "filter by a link": "location.hash = '#policy=restricted&scope=pod'; dispatchEvent(new Event('hashchange'))",
    "filter by a cell": "document.querySelector('td a[data-machine=xeon-2s][data-policy=restricted]').click()",
}
CLEARING = "document.querySelector('#clear').click()"
SEARCH = """word => new Promise(done => {
  const field = document.forms.filters.q, count = document.querySelector('#count');
  const begun = performance.now();
  new MutationObserver(() => setTimeout(() => done(performance.now() - begun))).observe(count, {childList: true});
  field.value = word;
  field.dispatchEvent(new Event('input', {bubbles: true}));
})"""
OPENING = """() => new Promise(done => {
  const fold = document.querySelector('#list > li:nth-child(500) > details');
  const begun = performance.now();
  const whole = new MutationObserver(() => {
    if (fold.lastElementChild.dataset.filled === 'whole') setTimeout(() => done(performance.now() - begun));
  });
  whole.observe(fold.lastElementChild, {attributes: true});
  fold.open = true;
})"""


def main() -> int:
    """Whether the page is small enough, and everything on it quick enough."""
    if CHROMIUM is None:
        print("skipped: there is no chromium here (Debian: apt install chromium)")
        return 0
    run = run_of(INSTANCES)
    begun = time.process_time()
    text = run_page(run)
    good = judge("to write the page", time.process_time() - begun, 10, " s")
    good &= judge("its size", len(text.encode()) / 1e6, 15, " MB")
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        path = Path(folder) / "run.html"
        path.write_text(text, encoding="utf-8")

        def least(measured: Callable[[Page], float]) -> float:
            found = []
            for _ in range(ROUNDS):
                with shown(browser, path.as_uri(), bypass_csp=True) as seen:
                    found.append(measured(seen.page))
            return min(found)

        good &= judge("to open it", least(_opened), LIMIT, " ms")
        for name, change in CHANGES.items():
            good &= judge(f"to {name}", least(lambda page, change=change: page.evaluate(SHOWN, change)), LIMIT, " ms")  # type: ignore[misc]
        good &= judge("to clear the filters", least(_cleared), LIMIT, " ms")
        good &= judge(
            "to search, from the key to the count", least(lambda page: page.evaluate(SEARCH, "nic")), LIMIT, " ms"
        )
        good &= judge("to open an instance with its drawings", least(lambda page: page.evaluate(OPENING)), LIMIT, " ms")
    return 0 if good else 1


def _cleared(page: Page) -> float:
    page.evaluate(SHOWN, CHANGES["filter by a cell"])
    found: float = page.evaluate(SHOWN, CLEARING)
    return found


def _opened(page: Page) -> float:
    """From the start of the navigation to the end of the script, and to what was painted first."""
    found: float = page.evaluate(
        "() => Math.max(performance.getEntriesByType('navigation')[0].loadEventEnd,"
        " ...performance.getEntriesByName('first-contentful-paint').map(one => one.startTime))"
    )
    return found


if __name__ == "__main__":
    sys.exit(main())
