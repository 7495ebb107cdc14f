"""The reference of the GitHub Action and the GitLab template: their inputs and outputs."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from docs_pages.markdown import cell

_HEAD = """# In CI: every input

The inputs of `action.yml` and of `docs/examples/ci/gitlab.yml`; [how they are used](../ci.md).
"""


def page(repository: Path) -> str:
    """Every input of both, and the action's outputs."""
    action: Mapping[str, Any] = yaml.safe_load((repository / "action.yml").read_text())
    template = next(yaml.safe_load_all((repository / "docs/examples/ci/gitlab.yml").read_text()))
    return "\n".join(
        [
            *(_HEAD, "## The GitHub Action\n", *_table("Input", action["inputs"])),
            *("\n## The outputs of the GitHub Action\n", *_table("Output", action["outputs"])),
            *("\n## The GitLab template\n", *_table("Input", template["spec"]["inputs"]), ""),
        ]
    )


def _table(title: str, told: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield f"| {title} | What it is |\n|---|---|"
    for name, words in told.items():
        default = f" (default: `{words['default']}`)" if words.get("default") else ""
        yield f"| `{name}` | {cell(words['description'])}{default} |"
