"""What somebody may have meant who wrote a name that is not known."""

import difflib
from collections.abc import Iterable

_LONGEST = 60  # characters that are compared: what is longer is not a slip of the finger
_LOOKED_AT = 3  # names that are as alike, or nearly so


def nearest(word: object, known: Iterable[str], alike: float = 0.6) -> str | None:
    """The known name that is most like a word, upper or lower case; None: none is as alike as that (0 to 1)."""
    names = {name.lower(): name for name in known}
    meant = str(word)[:_LONGEST].lower()
    # The end of a name for the whole: `gpu` for `nvidia.com/gpu`.
    whole = next((names[one] for one in names if meant and one.endswith(f"/{meant}")), None)
    if whole is not None and meant not in names:
        return whole
    near = difflib.get_close_matches(meant, names, _LOOKED_AT, alike)
    # Letters in another order are a slip of the finger, and count as more alike than a wrong one.
    return next((names[one] for one in near if sorted(one) == sorted(meant)), names[near[0]] if near else None)


def did_you_mean(word: object, known: Iterable[str], alike: float = 0.6) -> str:
    """What ends a message about an unknown name: `; did you mean xeon-2s?`, or nothing if none is like it."""
    near = nearest(word, known, alike)
    return f"; did you mean {near}?" if near else ""
