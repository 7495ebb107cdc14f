"""The catalogue: every check, area by area, in the order in which reports have them."""

from numaproof.harness.conformance.checks import (
    allocate,
    draft,
    listing,
    options,
    preferred,
    prestart,
    register,
    watcher,
)
from numaproof.harness.conformance.checks.check import Check

_AREAS = (register, options, listing, allocate, preferred, prestart, watcher, draft)

CATALOGUE: tuple[Check, ...] = tuple(
    check for area in _AREAS for check in vars(area).values() if isinstance(check, Check)
)
BY_ID = {check.id: check for check in CATALOGUE}
