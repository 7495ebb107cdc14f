"""Timing that a busy machine disturbs least: of the processor's time, the least that several runs take."""

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

Name = TypeVar("Name")


def least_times(actions: Mapping[Name, Callable[[], object]], rounds: int) -> dict[Name, float]:
    """The seconds of processor time that each action takes at its fastest; in turns, so that all get the same luck."""
    best = dict.fromkeys(actions, float("inf"))
    for _ in range(rounds):
        for name, action in actions.items():
            begun = time.thread_time()
            action()
            best[name] = min(best[name], time.thread_time() - begun)
    return best


def judge(what: str, figure: float, limit: float, unit: str = "", *, at_least: bool = False) -> bool:
    """Print a figure beside its limit, and say whether it keeps it."""
    good = figure >= limit if at_least else figure <= limit
    bound = "at least" if at_least else "at most"
    print(f"{'ok    ' if good else 'MISSED'} {what}: {figure:.3g}{unit} ({bound} {limit:.3g}{unit})", flush=True)
    return good
