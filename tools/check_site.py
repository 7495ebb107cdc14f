#!/usr/bin/env python3
"""Whether a built site needs nothing from elsewhere: scripts, styles, fonts and pictures are files of its own."""

import argparse
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser loads by itself: element -> its attributes. Links that a reader may follow (a) are not among them.
LOADED = {
    "script": ("src",),
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "iframe": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "video": ("src", "poster"),
    "audio": ("src",),
    "track": ("src",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}
NOT_LOADED = {"canonical", "next", "prev", "alternate", "author", "license", "edit"}  # kinds of link that only tell
IN_STYLE = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")


class _Page(HTMLParser):
    """Collects the addresses that a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._in_style = tag == "style"
        for name in LOADED.get(tag, ()):
            if name in given:
                several = given[name].split(",") if name == "srcset" else [given[name]]
                self.found += [part.split()[0] for part in several if part.split()]
        if tag == "link" and not NOT_LOADED.intersection(given.get("rel", "").split()):
            self.found.append(given.get("href", ""))
        self.found += in_style(given.get("style", ""))

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.found += in_style(data)


def in_style(text: str) -> list[str]:
    """The addresses that a style sheet loads."""
    return [first or second for first, second in IN_STYLE.findall(text)]


def loaded(path: Path) -> list[str]:
    """What a file of the site loads."""
    text = path.read_text()
    if path.suffix == ".html":
        page = _Page()
        page.feed(text)
        return page.found
    return in_style(text)


def faults(site: Path) -> Iterator[str]:
    """A line for each address that is not a file of the site."""
    for path in sorted(one for one in site.rglob("*") if one.suffix in {".html", ".css", ".svg"}):
        for address in dict.fromkeys(loaded(path)):
            parts = urlsplit(address)
            if parts.scheme == "data" or address.startswith("#"):
                continue
            if parts.scheme or parts.netloc:
                yield f"{path.relative_to(site)}: loads {address}, from another host"
                continue
            base = site if parts.path.startswith("/") else path.parent
            if not (base / unquote(parts.path).lstrip("/")).is_file():
                yield f"{path.relative_to(site)}: loads {address}, which is not there"


def main() -> int:
    """Print what is wrong; exit code 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path, help="the folder of the built site")
    site = parser.parse_args().site
    if not (site / "index.html").is_file():
        print(f"{site}: is not a built site; run mkdocs build first", file=sys.stderr)
        return 2
    found = list(faults(site))
    print("\n".join(found) or f"{site}: loads nothing from elsewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
