"""Where a plugin serves the draft GetPreferredAllocations, if it does."""

from collections.abc import Callable
from dataclasses import dataclass

import grpc

from numaproof.harness.api import preferredallocations_draft_pb2 as draft
from numaproof.harness.api import preferredallocations_draft_pb2_grpc as draft_grpc
from numaproof.harness.node.plugins.status import code_of

Ask = Callable[[draft.PreferredAllocationsRequest, float], draft.PreferredAllocationsResponse]  # within so many s


@dataclass(frozen=True, slots=True)
class Draft:
    """How to make the draft call, and what it is answered with."""

    ask: Ask
    sets: bool
    costs: bool


# What a call may end with though no implementation of it has seen it.
_UNSEEN = {
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
}


def find_draft(channel: grpc.Channel, seconds: float) -> Draft | None:
    """The plural draft in our own service, which says whether to use it, else on the proposal's path; None: nowhere.

    The proposal gives a plugin no option to announce the call, so it is made once with a request for no device:
    whoever knows it answers, be it with an error of its own, and may be asked for sets and for costs.
    """
    own = draft_grpc.PreferredAllocationsStub(channel)
    proposed = draft_grpc.DevicePluginStub(channel)
    try:
        options = own.GetPreferredAllocationsOptions(draft.PreferredAllocationsOptionsRequest(), timeout=seconds)
    except grpc.RpcError as error:
        if code_of(error) is not grpc.StatusCode.UNIMPLEMENTED:
            return None
    except ValueError:
        return None  # the channel is closed: the node stops
    else:
        sets, costs = options.get_preferred_allocations_available, options.costs_available
        if not sets and not costs:
            return None
        return Draft(lambda request, limit: own.GetPreferredAllocations(request, timeout=limit), sets, costs)
    try:
        proposed.GetPreferredAllocations(draft.PreferredAllocationsRequest(), timeout=seconds)
    except grpc.RpcError as error:
        if code_of(error) in _UNSEEN:
            return None
    except ValueError:
        return None
    return Draft(lambda request, limit: proposed.GetPreferredAllocations(request, timeout=limit), sets=True, costs=True)
