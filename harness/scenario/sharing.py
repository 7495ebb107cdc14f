"""How the workers of a run share its instances: those of one machine stay together.

With docker a machine's warm host is then started once; elsewhere a host is turned to another machine less often.

xdist's own `loadgroup` does not group with pytest 9.2 (pytest-dev/pytest-xdist#1386); its hook for schedulers does.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from numaproof.harness.scenario.instances import Instance

_SHARES = 4  # of each worker, about: the last ones to end then wait for each other a quarter of the time at most


def shares(listed: Sequence[Instance], workers: int) -> dict[str, str]:
    """Instance id -> the share that it belongs to: a machine's instances, in even parts where they are many."""
    usual = math.ceil(len(listed) / (_SHARES * workers))
    by_machine: defaultdict[str, list[str]] = defaultdict(list)
    for instance in listed:
        by_machine[instance.machine].append(instance.id)
    found = {}
    for machine, ids in by_machine.items():
        # A part a bit larger than usual costs less than the host that another worker would start for the rest.
        size = math.ceil(len(ids) / max(1, round(len(ids) / usual)))
        found.update({one: f"{machine} {number // size}" for number, one in enumerate(ids)})
    return found


class ByMachine:
    """A plugin of pytest that hands out whole shares."""

    def __init__(self, share_of: Mapping[str, str]) -> None:
        self._share_of = share_of

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> LoadScopeScheduling:
        """The hook of xdist."""
        return _Shares(config, log, self._share_of)


class _Shares(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """xdist's scheduler by scope, where a scope is a share."""

    def __init__(self, config: pytest.Config, log: Any, share_of: Mapping[str, str]) -> None:
        super().__init__(config, log)
        self._share_of = share_of

    def _split_scope(self, nodeid: str) -> str:
        instance = nodeid.partition("::")[2]
        return self._share_of.get(instance, instance)  # a file may have changed since it was listed
