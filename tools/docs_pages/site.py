"""All pages of the site that no file of docs/ is."""

import re
from collections.abc import Mapping
from pathlib import Path

from docs_pages import ci, command_line, conformance, faults, files, gallery, interfaces, library, policies, sources
from docs_pages.pictures import by_scheme, shown
from numaproof.harness.commands.editor_schema import KINDS

_PICTURE = re.compile(r"!\[([^\]]*)\]\(([\w./-]+\.svg)\)")


def generated(docs: Path) -> Mapping[str, str]:
    """Pages and pictures by their names below docs/: the reference, the gallery, the home page, and sources."""
    repository = docs.parent
    found = {
        "index.md": _home(repository / "README.md"),
        "changes.md": (repository / "CHANGELOG.md").read_text(),
        "contributing.md": (repository / "CONTRIBUTING.md").read_text(),
        "reference/cli.md": command_line.page(),
        "reference/conformance.md": conformance.page(),
        **{f"reference/{kind}.md": files.page(kind) for kind in KINDS},
        "reference/policies.md": policies.page(),
        "reference/faults.md": faults.page(),
        "reference/interfaces.md": interfaces.page(repository),
        "reference/python.md": library.page(),
        "reference/ci.md": ci.page(repository),
        **{f"reference/{name}": text for name, text in gallery.pages(repository).items()},
    }
    for path in sorted(docs.rglob("*.svg")):
        found |= by_scheme(str(path.relative_to(docs)), path.read_text())
    texts = [path.read_text() for path in docs.rglob("*.md")]
    texts += [text for name, text in found.items() if name.endswith(".md")]
    names = {name for text in texts for name in sources.named(text, repository)}
    return {**found, **sources.pages(names, repository)}


def finished(text: str, page: str, docs: Path) -> str:
    """A page as it is shown: pictures for light and dark, links to the code that it names."""
    text = _PICTURE.sub(lambda match: shown(match[2], match[1]), text)
    return text if page.startswith(f"{sources.FOLDER}/") else sources.with_links(text, page, docs.parent)


def _home(readme: Path) -> str:
    """The README as the site's first page: what it calls docs/x.md is x.md there, and so on."""
    text = readme.read_text().replace("](docs/", "](").replace("](CONTRIBUTING.md)", "](contributing.md)")
    return text.replace("](CHANGELOG.md)", "](changes.md)")
