"""How reports name files, so that whoever shows them finds the file in the user's repository."""

from pathlib import Path

import numaproof

_INSTALLED = Path(numaproof.__file__).parent.parent


def within(path: Path, root: Path) -> str | None:
    """A file's path from a repository's root; None: it is not in there."""
    path, root = path.resolve(), root.resolve()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else None


def shown(path: Path, root: Path) -> str:
    """A file's path from a repository's root; one of ours as it is installed; of any other file the whole path."""
    if (inside := within(path, root)) is not None:
        return inside
    absolute = path.absolute()
    return (absolute.relative_to(_INSTALLED) if absolute.is_relative_to(_INSTALLED) else absolute).as_posix()
