"""The draft GetPreferredAllocations, asked as the reference node asks it."""

import time
from collections.abc import Iterable, Sequence

from numaproof.harness.api import preferredallocations_draft_pb2 as draft
from numaproof.harness.conformance.connection import Connection, Service
from numaproof.harness.conformance.happenings import Method, Probe

Wish = tuple[list[str], list[str], int]  # available, must include, size


def ask_draft(connection: Connection, ids: Sequence[str], wishes: Iterable[Wish], seconds: float) -> None:
    """Ask for costs, then for sets, each twice; for no more sets when so many seconds are over.

    Our own service announces what is answered. The proposal's path announces nothing: who answers a request for no
    device there is asked for sets, and for costs if it tells any.
    """
    for_costs = draft.PreferredAllocationsRequest(available_deviceIDs=ids)
    options = connection.call(
        Method.DRAFT_OPTIONS, draft.PreferredAllocationsOptionsRequest(), Probe.OPTIONS, service=Service.DRAFT
    )
    if isinstance(options, draft.PreferredAllocationsOptions):
        service, sets, costs = Service.DRAFT, options.get_preferred_allocations_available, options.costs_available
    else:
        service = Service.PROPOSAL
        nothing = draft.PreferredAllocationsRequest()
        sets = connection.call(Method.DRAFT, nothing, Probe.EMPTY, service=service) is not None
        told = connection.call(Method.DRAFT, for_costs, Probe.EMPTY, service=service) if sets else None
        costs = isinstance(told, draft.PreferredAllocationsResponse) and bool(told.preferred_allocations_for_domain)
    for _ in range(2 if costs else 0):
        connection.call(Method.DRAFT, for_costs, Probe.COSTS, service=service)
    end = time.monotonic() + seconds
    for available, must, size in wishes if sets else ():
        request = draft.PreferredAllocationsRequest(
            available_deviceIDs=available, must_include_deviceIDs=must, size=size
        )
        for _ in range(2):
            connection.call(Method.DRAFT, request, Probe.VALID, service=service)
        if time.monotonic() > end:
            return
