"""The playground in a browser: from a number that is changed to the new drawing on screen."""

import sys
from statistics import median

from playwright.sync_api import Browser, Page

from benchmarks.timing import judge
from numaproof.harness.intake.pasted import Texts
from tests.harness.serve.links import link_part
from tests.pages.browser import CHROMIUM, chromium, shown
from tests.pages.serving import serving

CHANGES = 40
ROUNDS = 3  # of the same changes: what others on a busy machine take from one of them is not counted as ours
LIMIT = 150  # ms: what a person takes for at once, where a hand moves something
MACHINES = ("xeon-2s", "dgx-h100")
POD = """\
kind: Pod
metadata: {name: asked}
spec:
  containers:
  - name: app
    resources: {limits: {cpu: 24, memory: 16Gi, example.com/gpu: 1}}
"""
# With them a pod fits on one NUMA node, then on two, then nowhere, while its number is raised.
RUNNING = """\
kind: Pod
metadata: {name: beside}
spec:
  containers:
  - name: app
    resources: {limits: {cpu: 10, memory: 8Gi, example.com/gpu: 1}}
"""
PLUGINS = "example.com/gpu: {0: 2, 1: 2}"
# From the event to the frame that shows the answer; the answer's whole content is replaced once for each.
WATCH = """() => {
  let begun = 0;
  window.took = [];
  addEventListener('input', event => { begun = event.timeStamp; }, true);
  new MutationObserver(() => requestAnimationFrame(() => setTimeout(() => took.push(performance.now() - begun))))
    .observe(document.querySelector('#answer'), {childList: true});
}"""
READY = "body[data-state=ready][data-remedies=ready]"


def main() -> int:
    """Whether every machine is drawn anew quickly enough, when each change waits for all of the answer and when not."""
    if CHROMIUM is None:
        print("skipped: there is no chromium here (Debian: apt install chromium)")
        return 0
    good = True
    with serving() as server, chromium() as browser:
        for machine in MACHINES:
            for patient in (True, False):
                rounds = [_redraws(browser, server.address, machine, patient=patient) for _ in range(ROUNDS)]
                took = [min(times) for times in zip(*rounds, strict=True)]
                how = "with pauses" if patient else "one behind the other"
                good &= judge(f"{machine}, {CHANGES} changes {how}: median", median(took), LIMIT, " ms")
                good &= judge(f"{machine}, {CHANGES} changes {how}: worst", max(took), LIMIT, " ms")
    return 0 if good else 1


def _redraws(browser: Browser, address: str, machine: str, *, patient: bool) -> list[float]:
    """The milliseconds of each redraw while the arrow keys move the slider of CPUs up and down again.

    `patient`: a change comes when what would help is found, too; else as soon as the one before is drawn.
    """
    texts = Texts(machine, plugins=PLUGINS, running=RUNNING, pod=POD)
    with shown(browser, address + link_part(texts)) as seen:
        page = seen.page
        page.wait_for_selector(READY)
        page.evaluate(WATCH)
        page.locator("#amounts input[type=range]").first.focus()
        for number in range(CHANGES):
            asked = 24 + min(number + 1, CHANGES - number - 1)
            page.keyboard.press("ArrowRight" if number < CHANGES // 2 else "ArrowLeft")
            page.wait_for_function("count => took.length >= count", arg=number + 1)
            _check(page, number + 1, asked)
            if patient:
                page.wait_for_selector(READY)
        found: list[float] = page.evaluate("took")
        return found


def _check(page: Page, count: int, asked: int) -> None:
    """What was measured is one new drawing, of the pod as it is now."""
    assert page.evaluate("took.length") == count
    assert f"cpu: {asked}," in page.input_value("#pod")
    assert page.locator("#answer .drawing svg").is_visible()


if __name__ == "__main__":
    sys.exit(main())
