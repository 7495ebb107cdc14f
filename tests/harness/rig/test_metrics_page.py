"""A page of metrics: that one is fetched is shown by the scenarios that expect metrics."""

from pathlib import Path

import pytest

from numaproof.harness.rig.observe.metrics_page import scrape


def test_nobody_there(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        scrape(tmp_path / "http.sock", timeout=60)
