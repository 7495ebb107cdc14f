"""Pictures for light and dark pages: a file for each, as a reader may choose another one than the screen's."""

from collections.abc import Mapping

_ASKED = "(prefers-color-scheme:dark)"


def by_scheme(name: str, svg: str) -> Mapping[str, str]:
    """An SVG that asks for the screen's colours, as a file that is light and one that is dark; `name` ends in .svg."""
    svg = svg.replace("(prefers-color-scheme: dark)", _ASKED).replace(f"screen and {_ASKED}", _ASKED)
    stem = name.removesuffix(".svg")
    return {f"{stem}.light.svg": svg.replace(_ASKED, "not all"), f"{stem}.dark.svg": svg.replace(_ASKED, "all")}


def shown(name: str, alternative: str) -> str:
    """Markdown of both files, of which the page shows the one of its colours; `name` is the name of before."""
    stem = name.removesuffix(".svg")
    return "".join(f"![{alternative}]({stem}.{one}.svg#only-{one}){{ loading=lazy }}" for one in ("light", "dark"))
