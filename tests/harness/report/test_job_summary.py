"""The summary of a job, of annotations made by hand: that all is there, and that no word of a program is markup."""

import re
from html import unescape
from pathlib import Path

from numaproof.harness.report.annotations import Annotation, Severity
from numaproof.harness.report.job_summary import job_summary

ROOT = Path("/builds/group/project")


def summary(*annotations: Annotation) -> str:
    return job_summary("numaproof run: failed", False, ["machine  scope", "<laptop> | pod"], annotations, ROOT)


def test_a_failure_is_told_with_its_place_and_its_text() -> None:
    text = "expected: `a`\n\n# was <b>\n</pre></details>\x1b[31m"
    made = summary(Annotation(Severity.ERROR, "r", "theme/story\n(2 instances)", text, ROOT / "a/b.yaml", 7))
    assert made.startswith("## ❌ numaproof run: failed\n\n<pre>machine  scope\n&lt;laptop&gt; | pod</pre>\n\n")
    assert "<summary>❌ <strong>theme/story (2 instances)</strong> <code>a/b.yaml:7</code></summary>\n\n<pre>" in made
    shown = re.findall(r"<pre>(.*?)</pre>", made, re.DOTALL)
    assert [unescape(one) for one in shown][1] == text.replace("\x1b", "?")
    assert made.count("</details>") == made.count("<details") == 1


def test_a_warning_has_no_place_if_it_has_no_file() -> None:
    assert "<summary>⚠️ <strong>t</strong></summary>" in summary(Annotation(Severity.WARNING, "r", "t", "x"))
    assert job_summary("h", True, [], [], ROOT) == "## ✅ h\n\n<pre></pre>\n\n"


def test_it_has_room_for_every_run() -> None:
    many = [Annotation(Severity.ERROR, f"r{n}", f"t{n}", '"' * 100_000) for n in range(1000)]
    made = summary(*many)
    assert len(made.encode()) < 1 << 20
    assert "970 more are in the results." in made
    assert made.count("<details open>") == 3
