"""Metrics at a unix socket; what they say is judged by the stories and the node's own tests."""

from pathlib import Path

import pytest

from numaproof.harness.rig.metrics_page import read_metrics


def test_nobody_there(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        read_metrics(tmp_path / "http.sock", timeout=60)
