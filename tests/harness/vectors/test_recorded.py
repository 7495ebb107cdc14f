"""Every decision recorded from the real kubelet comes out the same here."""

from pathlib import Path

import pytest

from numaproof.harness.vectors.kinds import kind_of
from numaproof.harness.vectors.replay import replay_file

RECORDED = Path(__file__).parents[2] / "vectors"
LINES = {
    "cpu-hang": 4,
    "cpu-hints": 1474,
    "cpu": 2481,
    "device-alloc": 2364,
    "device-hints": 1737,
    "memory": 1247,
    "merge-kep": 2685,
    "merge": 2693,
    "node": 696,
}


@pytest.mark.parametrize("kind", LINES)
def test_every_line_is_reproduced(kind: str) -> None:
    path = RECORDED / f"{kind}.jsonl.xz"
    outcome = replay_file(path, kind_of(path))
    assert outcome.differing == []
    assert outcome.total == LINES[kind]


def test_no_recorded_kind_is_left_out() -> None:
    assert {path.name for path in RECORDED.iterdir()} == {f"{kind}.jsonl.xz" for kind in LINES}
