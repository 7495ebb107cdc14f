"""How wide texts are in an SVG picture, which has nobody to ask: as in the widest of the usual fonts, DejaVu Sans."""

from numaproof.harness.drawing.words import ELLIPSIS, cut

_SIZE = 12  # px, for which the widths are
_WIDTHS = (
    ("ijlI'", 3.6),
    (" ft()[]r.,:;!|/-", 5.0),
    ("mw", 11.2),
    ("MW@%&", 12.0),
    ("ABCDEFGHJKLNOPQRSTUVXYZ_+=<>~#*?", 8.9),
)
_USUAL = 7.65  # of the other letters and of figures
_FOREIGN = 12.0  # of a character beyond ASCII
_BOLD = 1.18
_OF = {letter: width for letters, width in _WIDTHS for letter in letters}


def text_width(words: str, size: float = _SIZE, *, bold: bool = False) -> float:
    """No less than a text takes, in px."""
    width = sum(_OF.get(letter, _USUAL if letter.isascii() else _FOREIGN) for letter in words)
    return width * size / _SIZE * (_BOLD if bold else 1)


def fitted(words: str, width: float, size: float = _SIZE, *, bold: bool = False) -> str:
    """A text that is cut where it would be wider; an ellipsis says so."""
    if text_width(words, size, bold=bold) <= width:
        return words
    # The half that fits is halved again; the texts of a drawing are short.
    low, high = 0, len(words) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if text_width(words[:middle] + ELLIPSIS, size, bold=bold) <= width:
            low = middle
        else:
            high = middle - 1
    return cut(words, low + 1)


def wrapped(words: str, width: float, *, bold: bool = False) -> list[str]:
    """A text in lines that fit, broken between words; a word that is too long is cut."""
    lines = [""]
    for word in words.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, bold=bold) > width:
            lines.append("")
            longer = word
        lines[-1] = fitted(longer, width, bold=bold)
    return lines
