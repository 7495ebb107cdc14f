"""Waiting in tests: one generous deadline, because a loaded machine is slow and not wrong."""

from collections.abc import Callable
from typing import TypeVar

from numaproof.harness import waiting

T = TypeVar("T")


def wait_until(condition: Callable[[], T], what: str, timeout: float = 60) -> T:
    """The first truthy answer of `condition`; fails with what was awaited and what was seen last."""
    return waiting.wait_until(condition, timeout=timeout, what=what)
