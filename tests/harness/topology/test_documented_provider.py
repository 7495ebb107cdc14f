"""The provider of docs/providers.md: the page shows the very file, and it does what the page says."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_shows_the_file_and_its_output(capsys: pytest.CaptureFixture[str]) -> None:
    page = (DOCS / "providers.md").read_text()
    example = DOCS / "examples" / "bandwidth_provider.py"
    assert f"```python\n{example.read_text()}```" in page
    runpy.run_path(str(example), run_name="__main__")
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) == 3
    assert printed in page
