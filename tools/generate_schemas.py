#!/usr/bin/env python3
"""Write docs/schemas from the readers of our files; with --check say which schemas are out of date, and exit 1."""

import argparse
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from numaproof.harness.commands.editor_schema import KINDS  # noqa: E402
from numaproof.harness.commands.schema import schema_text  # noqa: E402

SCHEMAS = Path("docs/schemas")


def main() -> int:
    """Write the schemas, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a schema is out of date")
    check = parser.parse_args().check
    wanted = {f"{kind}.schema.json": schema_text(kind) for kind in KINDS}
    present = {path.name: path.read_text(encoding="utf-8") for path in (REPOSITORY / SCHEMAS).glob("*.json")}
    stale = sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))
    for name in stale:
        if check:
            print(f"{SCHEMAS / name}: out of date; run tools/generate_schemas.py", file=sys.stderr)
        elif name in wanted:
            (REPOSITORY / SCHEMAS).mkdir(exist_ok=True)
            (REPOSITORY / SCHEMAS / name).write_text(wanted[name], encoding="utf-8")
        else:
            (REPOSITORY / SCHEMAS / name).unlink()
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
