"""A node's metrics, read at its unix socket as a scraper would."""

from pathlib import Path

from numaproof.harness.scenario.samples import parse_samples
from numaproof.harness.unix_http import get_page


def read_metrics(path: Path, timeout: float) -> dict[str, float]:
    """The samples that /metrics shows at a unix socket; OSError if nobody answers."""
    return parse_samples(get_page(path, "/metrics", timeout))
