"""Checks of the draft GetPreferredAllocations: sets of devices, and what devices cost."""

from collections.abc import Iterator

from numaproof.harness.api import preferredallocations_draft_pb2 as draft
from numaproof.harness.conformance.checks.check import Feature, RequirementLevel, check
from numaproof.harness.conformance.checks.preferred import set_problems
from numaproof.harness.conformance.exchange import Called, Exchange, Listed
from numaproof.harness.conformance.finding import Facts, Finding, finding_of, skipped
from numaproof.harness.conformance.happenings import Method, Probe, Session
from numaproof.harness.node.plugins.costs import entries_from

_NO_SETS = "it offers no sets"
_NO_COSTS = "it offers no costs"


def _answers(
    exchange: Exchange, *probes: Probe
) -> Iterator[tuple[Called, draft.PreferredAllocationsRequest, draft.PreferredAllocationsResponse | None]]:
    for call in exchange.calls(Method.DRAFT, *probes):
        assert isinstance(call.request, draft.PreferredAllocationsRequest)
        answer = call.response
        yield call, call.request, answer if isinstance(answer, draft.PreferredAllocationsResponse) else None


def _wish(asked: draft.PreferredAllocationsRequest) -> str:
    return f"{asked.size} of {len(asked.available_deviceIDs)} with {list(asked.must_include_deviceIDs)}"


@check(
    "dp/draft/1",
    RequirementLevel.MUST,
    title="valid sets",
    requirement=(
        "Every preferred set of the draft GetPreferredAllocations holds available ids only, all that must be included, "
        "exactly as many as asked for, none twice; no sets are fine, an error is not."
    ),
    why="A node takes the sets for those that it may allocate as they are.",
    remedy="Make sets of the available ids of the request; answer none if you prefer none.",
    sessions=(Session.CALLS,),
    about=(Method.DRAFT,),
    feature=Feature.DRAFT,
    since=None,
)
def valid_sets(exchange: Exchange, _facts: Facts) -> Finding:
    wrong, judged = [], 0
    for call, asked, answer in _answers(exchange, Probe.VALID):
        judged += 1
        if answer is None:
            wrong.append(f"{_wish(asked)}: {call.code}: {call.details}")
            continue
        for chosen in answer.preferred_allocations:
            wrong += [
                f"{_wish(asked)}: {problem}"
                for problem in set_problems(
                    chosen.devices_ids, asked.available_deviceIDs, asked.must_include_deviceIDs, asked.size
                )
            ]
    return finding_of(wrong, f"{judged} requests were answered") if judged else skipped(_NO_SETS)


@check(
    "dp/draft/2",
    RequirementLevel.MUST,
    title="costs alone",
    requirement="A request for a set of 0 out of all devices is answered, with costs and without sets.",
    why="So a node asks for costs, once for each list of other devices.",
    remedy="Do not refuse a size of 0; answer preferred_allocations_for_domain only.",
    sessions=(Session.CALLS,),
    about=(Method.DRAFT_OPTIONS, Method.DRAFT),
    feature=Feature.DRAFT,
    since=None,
)
def costs_alone(exchange: Exchange, _facts: Facts) -> Finding:
    wrong, judged = [], 0
    for call, _, answer in _answers(exchange, Probe.COSTS):
        judged += 1
        if answer is None:
            wrong.append(f"{call.code}: {call.details}")
        elif any(chosen.devices_ids for chosen in answer.preferred_allocations):
            wrong.append(f"{len(answer.preferred_allocations)} sets are answered")
    return finding_of(wrong, f"{judged} requests were answered") if judged else skipped(_NO_COSTS)


@check(
    "dp/draft/3",
    RequirementLevel.MUST,
    title="valid costs",
    requirement=(
        "Costs are 0 or more; they start at listed devices; they lead to cpuN in the domain cpu, to nodeN in the "
        "domain memory, to listed devices in the own one, or into a domain that is a resource's name; no pair has two."
    ),
    why="A node can make nothing of others, and goes without them: devices are chosen as if they cost nothing.",
    remedy="Name devices as the list does, CPUs cpu0, memory node0; tell each pair once.",
    sessions=(Session.CALLS,),
    about=(Method.DRAFT,),
    feature=Feature.DRAFT,
    since=None,
)
def valid_costs(exchange: Exchange, _facts: Facts) -> Finding:
    listed: dict[str, set[str]] = {}
    for event in exchange.of(Listed):
        listed.setdefault(event.resource, set()).update(device.ID for device in event.response.devices)
    wrong: list[str] = []
    judged = 0
    for call, _, answer in _answers(exchange):
        if answer is not None and answer.preferred_allocations_for_domain:
            judged += len(answer.preferred_allocations_for_domain)
            ids = listed.get(call.resource, set())
            wrong += entries_from(call.resource, ids, answer.preferred_allocations_for_domain)[1]
    return finding_of(wrong, f"{judged} entries can be used") if judged else skipped(_NO_COSTS)


@check(
    "dp/draft/4",
    RequirementLevel.SHOULD,
    title="steady answers",
    requirement="The same request gets the same sets and the same costs.",
    why="A node asks for costs once: what it would have heard a moment later it never hears.",
    remedy="Sort what you answer; tell where devices stand, not how busy they are.",
    sessions=(Session.CALLS,),
    about=(Method.DRAFT,),
    feature=Feature.DRAFT,
    since=None,
)
def steady_answers(exchange: Exchange, _facts: Facts) -> Finding:
    wrong, judged = [], 0
    before: dict[str, draft.PreferredAllocationsResponse] = {}
    for call, asked, answer in _answers(exchange, Probe.COSTS, Probe.VALID):
        if answer is None:
            continue
        judged += 1
        said = before.setdefault(f"{call.resource} {asked}", answer)
        if said != answer:
            wrong.append(f"{_wish(asked)}: another answer the second time")
    return finding_of(wrong, f"{judged} answers agree") if judged else skipped("it answered nothing to be compared")
