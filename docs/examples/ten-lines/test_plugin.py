"""The conformance suite in a plugin author's own pytest."""

import sys
from pathlib import Path

from numaproof import Settings, check


def test_the_plugin_is_conformant() -> None:
    plugin = Path(__file__).with_name("plugin.py")
    report = check([sys.executable, str(plugin)], Settings(supervise=True, strict=True))
    assert report.failures() == ()
