"""Actions in order, and later."""

import logging
import threading

import pytest

from numaproof.harness.node.plugins.dispatcher import Dispatcher
from tests.waiting import wait_until


def test_actions_are_done_in_order_and_late_ones_by_their_time(caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []
    dispatcher = Dispatcher("test")
    dispatcher.post_after(0.2, lambda: done.append("last"))
    dispatcher.post_after(0.1, lambda: done.append("later"))
    dispatcher.post(lambda: done.append("first"))
    dispatcher.post(lambda: done.append(str(1 // 0)))
    dispatcher.post(lambda: done.append("second"))
    dispatcher.start()
    with caplog.at_level(logging.CRITICAL):
        wait_until(lambda: len(done) == 4, "four actions")
    dispatcher.close()
    assert done == ["first", "second", "later", "last"]


def test_closing_waits_for_the_action_under_way_and_drops_the_rest() -> None:
    done: list[str] = []
    begun, release = threading.Event(), threading.Event()

    def long() -> None:
        begun.set()
        release.wait()
        done.append("long")

    dispatcher = Dispatcher("test")
    dispatcher.start()
    dispatcher.post(long)
    dispatcher.post(lambda: done.append("dropped"))
    dispatcher.post_after(0, lambda: done.append("dropped"))
    assert begun.wait(60)
    closing = threading.Thread(target=dispatcher.close)
    closing.start()
    wait_until(lambda: dispatcher.closed, "the beginning of the closing")
    release.set()
    closing.join(60)
    assert done == ["long"]


def test_a_dispatcher_that_was_never_started_closes() -> None:
    Dispatcher("test").close()
