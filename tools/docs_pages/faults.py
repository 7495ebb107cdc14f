"""The reference of fake plugins: what can go wrong with them."""

from docs_pages.markdown import cell
from numaproof.plugins_mock.faults import FAULTS

_HEAD = """# Faults of fake plugins

What `numaproof plugin KIND --fault CALL=KIND[:VALUE][*TIMES]` makes go wrong ([plugins](../plugins.md)); scenarios take
the same words in `plugins[].faults`.
"""


def page() -> str:
    """Every fault, call by call."""
    parts = [_HEAD]
    for call, kinds in FAULTS.items():
        lines = (f"| `{call}={kind}` | {cell(meaning)} |" for kind, meaning in kinds.items())
        parts += [f"## {call}\n", "| Fault | What happens |\n|---|---|", *lines, ""]
    return "\n".join(parts)
