"""The pages of the site that are made from the code, and the check that a built site needs nothing from elsewhere.

The site itself is built by `tox -e docs`, strictly.
"""

import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import numaproof
from numaproof.harness.commands.catalogue import COMMANDS
from numaproof.harness.conformance.catalogue import CATALOGUE
from numaproof.harness.scenario.steps.kinds import KINDS
from numaproof.harness.vocabulary import POLICIES
from numaproof.plugins_mock.faults import FAULTS
from tests.harness.parsers import parsers

REPOSITORY = Path(__file__).parent.parent
DOCS = REPOSITORY / "docs"
CHECK = REPOSITORY / "tools/check_site.py"


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """What makes the pages, as MkDocs loads it."""
    monkeypatch.syspath_prepend(str(REPOSITORY / "tools"))
    return importlib.import_module("docs_pages.site")


@pytest.fixture
def pages(site: ModuleType) -> dict[str, str]:
    return dict(site.generated(DOCS))


def headings(text: str) -> set[str]:
    return set(re.findall(r"^#+ (\S+)", text, re.MULTILINE))


def test_the_reference_has_everything(pages: dict[str, str]) -> None:
    commands = set(re.findall(r"^#+ (numaproof.*)$", pages["reference/cli.md"], re.MULTILINE))
    assert {f"numaproof {name}" for name in COMMANDS} <= commands
    assert {"numaproof", "numaproof machine show", "numaproof node bind", "numaproof cost solve"} <= commands
    examples = {line for parser in parsers().values() for line in parser.examples}
    assert {line for line in examples if f"\n  {line}\n" not in pages["reference/cli.md"]} == set()
    for check in CATALOGUE:
        for said in (check.requirement, check.why, check.remedy):
            assert said in pages["reference/conformance.md"], check.id
    assert KINDS.keys() <= headings(pages["reference/scenario.md"])
    assert set(FAULTS) <= headings(pages["reference/faults.md"])
    action = yaml.safe_load((REPOSITORY / "action.yml").read_text())
    template = next(yaml.safe_load_all((DOCS / "examples/ci/gitlab.yml").read_text()))
    for told in (action["inputs"], action["outputs"], template["spec"]["inputs"]):
        assert all(f"| `{name}` |" in pages["reference/ci.md"] for name in told)
    assert all(f"| `{name}` |" in pages["reference/policies.md"] for name in POLICIES)
    assert {name for name in numaproof.__all__ if not name.startswith("__")} <= headings(pages["reference/python.md"])


def test_every_call_and_field_of_the_protocols_is_told(pages: dict[str, str]) -> None:
    page = pages["reference/interfaces.md"]
    for proto in (REPOSITORY / "harness/api").glob("*.proto"):
        text = proto.read_text()
        assert f"## {proto.name}\n" in page
        for name in re.findall(r"^ *rpc (\w+)|^  [\w.<>, ]+ (\w+) = \d+;", text, re.MULTILINE):
            assert f"| `{''.join(name)}` |" in page, (proto.name, name)
    assert "Decide about a pod, and keep what it was given until it is removed." in page


def test_the_gallery_has_every_machine_in_both_colours(pages: dict[str, str]) -> None:
    names = {
        path.stem for folder in ("fake_sysfs/presets", "suites/machines") for path in (REPOSITORY / folder).iterdir()
    }
    assert names <= headings(pages["reference/gallery.md"])
    for name in names:
        light, dark = (pages[f"reference/machines/{name}.{colours}.svg"] for colours in ("light", "dark"))
        assert light != dark
        assert "prefers-color-scheme" not in light + dark


def test_code_that_a_page_names_is_a_link_to_it(site: ModuleType, pages: dict[str, str]) -> None:
    text = "The rule is in `harness/topology/policies.py`; see `harness/topology/` and `harness/no_such.py`.\n"
    block = "```yaml\n# `harness/topology/policies.py`\n```\n"
    assert site.finished(text + block, "reference/one.md", DOCS) == (
        "The rule is in [`harness/topology/policies.py`](../source/harness/topology/policies.py.md); see "
        "[`harness/topology/`](../source/harness/topology/index.md) and `harness/no_such.py`.\n" + block
    )
    assert (REPOSITORY / "harness/topology/policies.py").read_text().strip() in pages[
        "source/harness/topology/policies.py.md"
    ]


def test_pictures_follow_the_colours_of_the_page(site: ModuleType, pages: dict[str, str]) -> None:
    shown = site.finished("![What](figures/hints.svg)\n", "one.md", DOCS)
    assert "(figures/hints.light.svg#only-light)" in shown
    assert "(figures/hints.dark.svg#only-dark)" in shown
    assert {"figures/hints.light.svg", "figures/hints.dark.svg"} <= pages.keys()


def test_every_figure_says_what_it_shows() -> None:
    for path in (DOCS / "figures").glob("*.svg"):
        text = path.read_text()
        assert re.search(r"<title[^>]*>[^<]+</title>", text), path.name
        if path.name != "favicon.svg":
            assert re.search(r"<desc[^>]*>[^<]+</desc>", text), path.name


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        (
            '<script src="https://cdn.example.com/x.js"></script>',
            "loads https://cdn.example.com/x.js, from another host",
        ),
        ('<link rel="stylesheet" href="//fonts.example.com/a.css">', "from another host"),
        ('<img srcset="own.png 1x, http://example.com/b.png 2x">', "loads http://example.com/b.png"),
        ("<style>@import 'https://example.com/c.css';</style>", "from another host"),
        ('<p style="background: url(https://example.com/d.png)">', "from another host"),
        ('<img src="missing.png">', "index.html: loads missing.png, which is not there"),
        ('<a href="https://example.com/">a link</a><link rel="canonical" href="https://example.com/">', ""),
        ('<img src="own.png"><img src="data:image/png;base64,AA=="><link rel="stylesheet" href="own.css?1#a">', ""),
    ],
)
def test_a_site_that_loads_something_from_elsewhere_is_refused(tmp_path: Path, page: str, complaint: str) -> None:
    (tmp_path / "index.html").write_text(page)
    (tmp_path / "own.png").write_bytes(b"")
    (tmp_path / "own.css").write_text("a { background: url(own.png) }")
    done = subprocess.run([sys.executable, CHECK, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == (1 if complaint else 0), done.stdout + done.stderr
    assert complaint in done.stdout


def test_a_folder_that_is_not_a_site_is_told(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, CHECK, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == f"{tmp_path}: is not a built site; run mkdocs build first\n"
