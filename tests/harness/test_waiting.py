"""Waiting: what comes ends it, and what does not come in time is told with what was seen last."""

import pytest

from numaproof.harness.waiting import WaitTimeoutError, wait_until, wait_until_nothing


def test_the_first_answer_that_counts_is_given() -> None:
    answers = iter([0, "", "now"])
    assert wait_until(lambda: next(answers), timeout=60, what="an answer") == "now"


def test_waiting_ends_when_nothing_is_left() -> None:
    left = iter([["a", "b"], ["b"], []])
    wait_until_nothing(lambda: next(left), timeout=60, what="all")
    assert next(left, None) is None


def test_what_was_seen_last_is_told() -> None:
    with pytest.raises(WaitTimeoutError, match=r"waited 0 s for an answer; seen last: \[\]"):
        wait_until(list, timeout=0, what="an answer")
    with pytest.raises(WaitTimeoutError, match=r"waited 0 s for all; seen last: gpu-1 as missing"):
        wait_until_nothing(lambda: "gpu-1 as missing", timeout=0, what="all")
