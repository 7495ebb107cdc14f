"""What a command's output can show."""

import io
import sys

import pytest

from numaproof.harness.commands.terminal import print_drawing, wants_colour


class Terminal(io.StringIO):
    """An output that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "colour"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colours_are_for_terminals_that_have_them(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], colour: bool
) -> None:
    for name, usual in (("NO_COLOR", ""), ("TERM", "xterm")):
        monkeypatch.setenv(name, environment.get(name, usual))
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert wants_colour() is colour
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert not wants_colour()


@pytest.mark.parametrize(
    ("encoding", "line"), [("ascii", "+ NUMA ~?"), ("latin-1", "+ NUMA ~\u00e9"), ("utf-8", "\u250c NUMA \u2026\u00e9")]
)
def test_a_drawing_is_printed_in_what_the_output_has(monkeypatch: pytest.MonkeyPatch, encoding: str, line: str) -> None:
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding=encoding))
    print_drawing(["\u250c NUMA \u2026\u00e9"])
    sys.stdout.flush()
    assert output.getvalue().decode(encoding) == f"{line}\n"
