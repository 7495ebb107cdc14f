"""Waiting for a state, instead of sleeping and hoping."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class WaitTimeoutError(Exception):
    """A state did not come about in time; the text says which, and what was seen last."""


def wait_until(condition: Callable[[], T], *, timeout: float, what: str, interval: float = 0.01) -> T:
    """The first truthy answer of `condition`, asked again and again until `timeout` seconds have passed."""
    end = time.monotonic() + timeout
    while True:
        seen = condition()
        if seen:
            return seen
        if time.monotonic() >= end:
            raise WaitTimeoutError(f"waited {timeout:g} s for {what}; seen last: {seen!r}")
        time.sleep(interval)


def wait_until_nothing(left: Callable[[], object], *, timeout: float, what: str, interval: float = 0.01) -> None:
    """Ask for what is left to be waited for, until it is nothing; a time-out tells what was left last."""
    end = time.monotonic() + timeout
    while still := left():
        if time.monotonic() >= end:
            raise WaitTimeoutError(f"waited {timeout:g} s for {what}; seen last: {still}")
        time.sleep(interval)
