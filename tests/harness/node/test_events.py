"""Events: numbered, told to whoever watches, and forgotten in time."""

import threading

from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.node.events import REMEMBERED, REMEMBERED_BYTES, EventLog
from tests.waiting import wait_until


def event(name: str) -> api.Event:
    return api.Event(kind=api.ADMITTED, message=name)


def test_events_are_numbered_and_told_from_any_point_on() -> None:
    log, wanted = EventLog(), threading.Event()
    wanted.set()
    for name in "abc":
        log.add(event(name))
    told: list[str] = []
    thread = threading.Thread(target=lambda: told.extend(one.message for one in log.follow(1, wanted)))
    thread.start()
    wait_until(lambda: len(told) == 2, "the events that were remembered")
    log.add(event("d"))
    log.close()
    thread.join(60)
    assert told == ["b", "c", "d"]
    assert log.last == 4


def test_a_watcher_that_is_not_wanted_any_more_is_let_go() -> None:
    log, wanted = EventLog(), threading.Event()
    wanted.set()
    thread = threading.Thread(target=lambda: list(log.follow(0, wanted)))
    thread.start()
    wanted.clear()
    log.wake()
    thread.join(60)
    assert not thread.is_alive()


def test_old_events_are_forgotten() -> None:
    log, wanted = EventLog(), threading.Event()
    wanted.set()
    for _ in range(REMEMBERED + 5):
        log.add(event("x"))
    log.close()
    assert [one.number for one in log.follow(0, wanted)][:1] == [6]


def test_large_events_are_forgotten_sooner() -> None:
    log, wanted = EventLog(), threading.Event()
    wanted.set()
    for _ in range(3):
        log.add(event("x" * (REMEMBERED_BYTES // 2)))
    log.close()
    assert [one.number for one in log.follow(0, wanted)] == [3]
