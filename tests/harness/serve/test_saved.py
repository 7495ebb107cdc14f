"""What somebody saved or shares holds all texts as they were; what is damaged is told in a line."""

import json
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaproof.errors import UserError
from numaproof.harness.cli import main
from numaproof.harness.intake.pasted import Texts
from numaproof.harness.serve.inputs import LARGEST_BODY
from numaproof.harness.serve.saved import opened
from tests.harness.serve.asking import serve_command
from tests.harness.serve.links import deflated, link_part

LINES = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\n\r\t\"'\\ #:-</"), max_size=200)
TEXTS = st.builds(
    Texts, *[LINES | st.lists(LINES, max_size=5).map("\n".join)] * 5, semantics=st.sampled_from(["current", "kep"])
)
FULL = Texts("laptop", "a: 1\nb: 2\n", "gpu: {0: 1}", "", "kind: Pod  # \u00e9 \U0001f642\n", "kep")


def saved(texts: Texts, *, indent: int | None = 2) -> bytes:
    """A file as the page writes it."""
    return json.dumps({"numaproof": "playground 1", **texts.as_dict()}, indent=indent, ensure_ascii=False).encode()


def link(texts: Texts, level: int = 6) -> str:
    return f"http://127.0.0.1:8000/{link_part(texts, level)}"


@given(texts=TEXTS)
def test_a_file_holds_everything(texts: Texts) -> None:
    with TemporaryDirectory() as place:
        path = Path(place) / "playground.json"
        path.write_bytes(saved(texts))
        assert opened(str(path)) == texts


@given(texts=TEXTS, level=st.integers(0, 9))
def test_a_link_holds_everything(texts: Texts, level: int) -> None:
    assert opened(link(texts, level)) == texts


def test_the_largest_link() -> None:
    told = b'{"pod": "x"}'
    assert opened(f"#p1={deflated(told.ljust(LARGEST_BODY))}") == Texts(pod="x")


def test_a_link_without_its_address() -> None:
    assert opened(link(FULL).removeprefix("http://127.0.0.1:8000/")) == FULL


def test_a_file_without_its_first_line_or_texts() -> None:
    """As somebody writes it by hand."""
    with TemporaryDirectory() as place:
        path = Path(place) / "mine.json"
        path.write_text('{"machine": "laptop"}')
        assert opened(str(path)) == Texts(machine="laptop")


@given(content=st.binary(max_size=300), at=st.integers(0, len(saved(FULL))), length=st.integers(0, 40))
def test_a_damaged_file_is_told_in_a_line(content: bytes, at: int, length: int) -> None:
    """Anything in place of a part of it; what can still be read may be another text."""
    whole = saved(FULL)
    with TemporaryDirectory() as place:
        path = Path(place) / "damaged.json"
        path.write_bytes(whole[:at] + content + whole[at + length :])
        assert_read_or_told(str(path))


@given(st.text(max_size=40), st.integers(0, len(link(FULL))), st.integers(0, 40))
def test_a_damaged_link_is_told_in_a_line(text: str, at: int, length: int) -> None:
    whole = link(FULL)
    letters = whole.partition("#p1=")[2]
    assert_read_or_told("#p1=" + letters[:at] + text + letters[at + length :])


def assert_read_or_told(argument: str) -> None:
    told = ""
    try:
        opened(argument)
    except UserError as error:
        told = str(error)
    assert told.isprintable()


@pytest.fixture(scope="module")
def port() -> Iterator[str]:
    """One that cannot be had: what should not be served is not, whatever goes wrong."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield str(taken.getsockname()[1])


REMEDY = "; give what the playground saved, or a link that it made"
FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", f": is not JSON{REMEDY}"),
    "another kind of file": (b"kind: Pod\n", f": is not JSON{REMEDY}"),
    "no text": (b"\xff\xfe\x00", f": is not JSON{REMEDY}"),
    "a part of one": (saved(FULL)[:-10], f": is not JSON{REMEDY}"),
    "a deep one": (b"[" * 100_000, f": is not JSON{REMEDY}"),
    "a list": (b"[]", f": holds no texts{REMEDY}"),
    "a later version": (b'{"numaproof": "playground 2"}', f": numaproof: 'playground 2' is not 'playground 1'{REMEDY}"),
    "no version": (b'{"numaproof": null}', f": numaproof: 'None' is not 'playground 1'{REMEDY}"),
    "an unknown field": (
        b'{"node": "x"}',
        ": 'node': unknown field; known are machine, config, plugins, running, pod, semantics",
    ),
    "a number": (b'{"pod": 1}', ": pod: is not a text; quote it"),
    "unknown semantics": (b'{"semantics": ["kep"]}', ": semantics: \"['kep']\" is unknown; write current or kep"),
    "a large one": (b" " * (LARGEST_BODY + 1), f": is larger than {LARGEST_BODY} bytes{REMEDY}"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_that_is_none_ends_the_command(
    case: str, port: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, told = FILES[case]
    path = tmp_path / "saved.json"
    path.write_bytes(content)
    assert main(["serve", "--port", port, str(path)]) == 2
    assert capsys.readouterr() == ("", f"numaproof: {path}{told}\n")


@pytest.mark.parametrize(("name", "why"), [("none.json", "No such file or directory"), ("", "Is a directory")])
def test_a_file_that_cannot_be_read_ends_the_command(
    name: str, why: str, port: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--port", port, str(tmp_path / name)]) == 2
    assert capsys.readouterr() == ("", f"numaproof: {tmp_path / name}: cannot be read ({why}){REMEDY}\n")


LINKS: dict[str, tuple[Callable[[], str], str]] = {
    "nothing": (lambda: "", "is not whole"),
    "letters of others": (lambda: "\u00e9", "is damaged, or not whole"),
    "letters that are no base64": (lambda: "a b", "is damaged, or not whole"),
    "no deflated text": (lambda: "____", "is damaged, or not whole"),
    "a part of one": (lambda: link(FULL).partition("=")[2][:-8], "is not whole"),
    "no JSON": (lambda: deflated(b"laptop"), "is not JSON"),
    "a large one": (lambda: deflated(b" " * (LARGEST_BODY + 1)), f"holds more than {LARGEST_BODY} bytes"),
}


@pytest.mark.parametrize("case", LINKS)
def test_a_link_that_is_none_ends_the_command(case: str, port: str, capsys: pytest.CaptureFixture[str]) -> None:
    letters, told = LINKS[case]
    assert main(["serve", "--port", port, f"http://127.0.0.1:1/#p1={letters()}"]) == 2
    assert capsys.readouterr() == ("", f"numaproof: link: {told}{REMEDY}\n")


@pytest.mark.parametrize("is_link", [True, False])
def test_the_page_starts_with_what_was_given(is_link: bool, tmp_path: Path) -> None:
    path = tmp_path / "playground.json"
    path.write_bytes(saved(FULL))
    with serve_command(link(FULL) if is_link else str(path)) as command:
        page = command.server.get("/").body.decode()
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert json.loads(data)["opened"] == FULL.as_dict()
