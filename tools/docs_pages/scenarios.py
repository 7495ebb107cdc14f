"""The reference of scenarios: every kind of step, every expectation, every key of a plugin and of what is needed."""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import fields
from textwrap import dedent

from docs_pages.comments import field_comments
from docs_pages.markdown import cell
from numaproof.harness.scenario.expectations import _CONTAINER_KEYS, ALIGNMENTS, CALLS, KEYS
from numaproof.harness.scenario.model import Expected, Needs, PluginSpec
from numaproof.harness.scenario.steps.action import Action
from numaproof.harness.scenario.steps.kinds import KINDS

_HEAD = """# The words of scenarios

What the reader of [scenarios](../scenarios.md) knows, from its code. That page teaches them; here nothing is left out.
"""


# What no comment of the code says, as the name says it there.
_PLAIN = {
    "admitted": "whether the pod is admitted",
    "reason": "of a refusal, as the kubelet writes it",
    "resource": "the name of the resource",
    "plural": "it serves the draft GetPreferredAllocations, too",
    "pre_start": "it asks for PreStartContainer",
}


def page() -> str:
    """Steps, expectations, plugins and needs."""
    return "\n".join(
        [
            _HEAD,
            "## Steps\n",
            *(_step(name, kind) for name, kind in KINDS.items()),
            "## Expectations\n",
            "Of a step's `expect`; what is not named is not looked at.\n",
            _table(_told(Expected, KEYS)),
            f"`aligned` is one of {_listed(ALIGNMENTS)}; `calls` counts {_listed(CALLS)}.\n",
            "### Of a container\n",
            _table({key: kind for key, (_, kind) in _CONTAINER_KEYS.items()}),
            "## Plugins\n",
            "Of each of `plugins`.\n",
            _table(_told(PluginSpec)),
            "## Needs\n",
            "What a machine must have for the scenario to mean anything there.\n",
            _table(_told(Needs)),
        ]
    )


def _told(kind: type, keys: Iterable[str] = ()) -> dict[str, str]:
    """Each key, by default each field of a class, and what it says; a KeyError names one that nothing is said of."""
    said = _PLAIN | field_comments(kind)
    return {key: said[key] for key in keys or (field.name for field in fields(kind))}


def _step(name: str, kind: type[Action]) -> str:
    """What its docstring says in a sentence, its keys, and its example."""
    summary, _, example = (inspect.getdoc(kind) or "").partition("\n")
    keys = inspect.getdoc(kind.parse)
    return f"### {name}\n\n{summary}\n\nTakes: {keys}\n\n```yaml\n{dedent(example).strip()}\n```\n"


def _table(rows: Mapping[str, str]) -> str:
    lines = (f"| `{key}` | {cell(text.replace('None', 'null'))} |" for key, text in rows.items())
    return "\n".join(["| Key | What it says |", "|---|---|", *lines, ""])


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)
