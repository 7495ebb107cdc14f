"""What texts of the code need before they stand in a page."""

import re

_PLACEHOLDER = re.compile(r"<(?=[A-Za-z/!])")


def prose(text: str) -> str:
    """A text of the code as a paragraph: nothing in it is taken for a tag."""
    return _PLACEHOLDER.sub("&lt;", text)


def cell(text: str) -> str:
    """A text of the code in one line of a table."""
    return prose(" ".join(text.split())).replace("|", "\\|").replace("*", "\\*")
