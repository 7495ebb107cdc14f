"""Pages of the files and folders that the documentation names, so that what it says of the code is a link to it."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from docs_pages.markdown import cell

FOLDER = "source"  # of the site, where these pages are
_NAMED = re.compile(r"`((?:numaproof|harness|fake_sysfs|plugins_mock|suites|tests|benchmarks|docs|tools)/[\w./-]*)`")
_FENCES = re.compile(r"^(```+|~~~+)[^\n]*\n.*?^\1\s*?$", re.MULTILINE | re.DOTALL)
_LANGUAGES = {".py": "python", ".yaml": "yaml", ".proto": "protobuf", ".toml": "toml", ".md": "markdown"}
_HIDDEN = "---\nsearch:\n  exclude: true\nhide: [navigation]\n---\n"


def named(text: str, repository: Path) -> set[str]:
    """The files and folders of the repository that a page names as code, folders with a slash at the end."""
    names = (name for part, is_code in _parts(text) if not is_code for name in _NAMED.findall(part))
    return {found for name in names if (found := _existing(name, repository))}


def with_links(text: str, page: str, repository: Path) -> str:
    """A page in which the names of files and folders lead to their pages; `page` is its own name below docs/."""
    up = "../" * page.count("/")

    def linked(match: re.Match[str]) -> str:
        found = _existing(match[1], repository)
        return f"[`{match[1]}`]({up}{page_of(found)})" if found else match[0]

    return "".join(part if is_code else _NAMED.sub(linked, part) for part, is_code in _parts(text))


def pages(names: Collection[str], repository: Path) -> Mapping[str, str]:
    """A page for each file and folder."""
    return {
        page_of(name): _folder(name, names, repository) if name.endswith("/") else _file(name, repository)
        for name in names
    }


def page_of(name: str) -> str:
    """The page of a file or folder, below docs/."""
    return f"{FOLDER}/{name}index.md" if name.endswith("/") else f"{FOLDER}/{name}.md"


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """A page in its order: what is prose, and what is a block of code."""
    last = 0
    for fence in _FENCES.finditer(text):
        yield text[last : fence.start()], False
        yield fence[0], True
        last = fence.end()
    yield text[last:], False


def _existing(name: str, repository: Path) -> str | None:
    """The name of a file that has a page, or of a folder with a slash at its end; None: there is nothing to show."""
    path = repository / name
    if path.is_dir():
        return f"{name.rstrip('/')}/"
    return name if path.is_file() and path.suffix in _LANGUAGES else None


def _file(name: str, repository: Path) -> str:
    path = repository / name
    text = path.read_text()
    fence = "~" * (max((len(found) for found in re.findall("~{3,}", text)), default=2) + 1)
    language = _LANGUAGES[path.suffix]
    return f'{_HIDDEN}# {name}\n\n{fence} {{ .{language} linenums="1" }}\n{text.rstrip()}\n{fence}\n'


def _folder(name: str, known: Collection[str], repository: Path) -> str:
    rows = []
    for path in sorted((repository / name).iterdir()):
        if path.name.startswith(("_", ".")) or path.stem.endswith(("_pb2", "_pb2_grpc")):
            continue
        inner = f"{path.name}/" if path.is_dir() else path.name
        leads = f"{inner}index.md" if path.is_dir() else f"{inner}.md"
        title = f"[`{inner}`]({leads})" if f"{name}{inner}" in known else f"`{inner}`"
        rows.append(f"| {title} | {cell(_about(path))} |")
    return f"{_HIDDEN}# {name}\n\n" + "\n".join(["| | |", "|---|---|", *rows, ""])


def _about(path: Path) -> str:
    """What a file or folder says of itself, in a sentence."""
    path = path / "__init__.py" if path.is_dir() else path
    if not path.is_file() or path.suffix not in (".py", ".yaml"):
        return ""
    text = path.read_text()
    if path.suffix == ".py":
        return (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")[0]
    named = re.search(r"^name: (.*)$", text, re.MULTILINE)
    return named[1] if named else text.partition("\n")[0].lstrip("# ")
