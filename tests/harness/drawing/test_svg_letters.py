"""Widths of texts: what Chromium measures of DejaVu Sans at 12 px must fit."""

import pytest

from numaproof.harness.drawing.svg_letters import fitted, text_width, wrapped

# A text -> its width in normal and in semibold letters, by canvas.measureText.
MEASURED = {
    "ijlI": (13.6, 16.8),
    "ft()r": (23.0, 27.9),
    "0123456789": (76.4, 83.5),
    "abcdefghknopqrsuvxyz": (139.6, 156.8),
    "mw": (21.5, 23.6),
    "ABCDEFGHKLNOPRSTUVXYZ": (171.0, 191.4),
    "MW@%": (45.7, 49.2),
}


@pytest.mark.parametrize("words", MEASURED)
def test_no_text_is_wider_than_thought_nor_much_narrower(words: str) -> None:
    normal, bold = MEASURED[words]
    assert normal <= text_width(words) <= 1.25 * normal
    assert bold <= text_width(words, bold=True) <= 1.35 * bold
    assert text_width(words, 24) == pytest.approx(2 * text_width(words))


def test_a_text_that_does_not_fit_is_cut_to_what_does() -> None:
    words = "default/a-pod-with-a-name"
    assert fitted(words, text_width(words)) == words
    for width in range(15, int(text_width(words))):
        short = fitted(words, width)
        assert short.endswith("…")
        assert text_width(short) <= width
        assert words.startswith(short[:-1])


def test_words_go_into_lines_that_fit() -> None:
    words = "wants 30 CPUs, 24 free; 150 GiB of memory would be there"
    lines = wrapped(words, 120)
    assert " ".join(lines) == words
    assert all(text_width(line) <= 120 for line in lines)
    assert len(lines) > 2
    assert [len(line) > 1 for line in wrapped("x" * 100 + " y", 120)] == [True, False]
