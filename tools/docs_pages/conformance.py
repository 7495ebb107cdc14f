"""The reference of conformance: every check of a device plugin."""

from numaproof.harness.conformance.catalogue import CATALOGUE
from numaproof.harness.conformance.checks.check import Check

_HEAD = """# Conformance checks

What [`numaproof check`](../conformance.md) judges a device plugin by. {must} are MUST: a violation fails the run.
{should} are SHOULD: a violation warns, and fails with `--strict`. Ids are stable: `--only`, `--exclude` and
`--known-failures` take them.
"""


def page() -> str:
    """The catalogue: a table of all checks, then each with its reason and its remedy."""
    levels = [check.level.value for check in CATALOGUE]
    rows = [f"| [`{one.id}`](#{_anchor(one)}) | {one.level.value.upper()} | {one.title} |" for one in CATALOGUE]
    parts = [
        _HEAD.format(must=levels.count("must"), should=levels.count("should")),
        "\n".join(["| Check | Level | About |", "|---|---|---|", *rows, ""]),
    ]
    for area in dict.fromkeys(check.area for check in CATALOGUE):
        parts += [f"## {area}\n", *(_section(check) for check in CATALOGUE if check.area == area)]
    return "\n".join(parts)


def _anchor(check: Check) -> str:
    return check.id.replace("/", "-")


def _section(check: Check) -> str:
    words = [check.level.value.upper(), f"kubelet {check.since} and later" if check.since else "no kubelet asks yet"]
    if check.feature:
        words.append(f"if the plugin offers: {check.feature}")
    return (
        f"### {check.id}: {check.title} {{ #{_anchor(check)} }}\n\n{check.requirement} *({', '.join(words)})*\n\n"
        f"- Why: {check.why}\n- What to do: {check.remedy}\n"
    )
