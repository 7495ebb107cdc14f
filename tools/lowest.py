"""Write the oldest versions that pyproject.toml says we work with, as constraints for pip: see `tox -e lowest`."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENT = re.compile(r"([\w.-]+)>=([\w.]+)")


def constraints(requirements: list[str]) -> list[str]:
    """`name==version` for each `name>=version`; what has no lower bound would be whatever is newest, and is refused."""
    found = [(text, REQUIREMENT.match(text)) for text in requirements]
    if missing := [text for text, match in found if match is None]:
        raise SystemExit(f"pyproject.toml: dependencies: {missing[0]!r} has no lower bound; write name>=version")
    return [f"{match[1]}=={match[2]}" for _, match in found if match is not None]


def main() -> None:
    """`lowest.py FILE`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    Path(sys.argv[1]).write_text("\n".join(constraints(project["dependencies"])) + "\n")


if __name__ == "__main__":
    main()
