#!/usr/bin/env python3
"""Writes the catalogue's part of docs/conformance.md; with --check it only tells whether the page is up to date."""

import argparse
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from numaproof.harness.conformance.catalogue import CATALOGUE  # noqa: E402
from numaproof.harness.conformance.checks.check import Check  # noqa: E402

PAGE = REPOSITORY / "docs/conformance.md"
BEGIN = "<!-- generated from the catalogue by tools/generate_conformance_docs.py: everything below -->\n"


def section(check: Check) -> str:
    """A check as a part of the page."""
    words = [check.level.value.upper(), f"kubelet {check.since} and later" if check.since else "no kubelet asks yet"]
    if check.feature:
        words.append(f"if the plugin offers: {check.feature}")
    return (
        f"### {check.id}: {check.title}\n\n{check.requirement} *({', '.join(words)})*\n\n"
        f"- Why: {check.why}\n- What to do: {check.remedy}\n"
    )


def page(now: str) -> str:
    """The page with the part that is generated as it must be."""
    before, marker, _ = now.partition(BEGIN)
    if not marker:
        raise SystemExit(f"{PAGE}: has no line {BEGIN.strip()!r}; put it where the checks begin")
    areas = list(dict.fromkeys(check.area for check in CATALOGUE))
    parts = [
        f"\n## {area}\n\n" + "\n".join(section(check) for check in CATALOGUE if check.area == area) for area in areas
    ]
    return before + BEGIN + "".join(parts)


def main() -> int:
    """Write the page, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the page is out of date")
    args = parser.parse_args()
    now = PAGE.read_text()
    wanted = page(now)
    if args.check and now != wanted:
        print(f"{PAGE.relative_to(REPOSITORY)} is out of date: run tools/generate_conformance_docs.py", file=sys.stderr)
        return 1
    if not args.check:
        PAGE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
