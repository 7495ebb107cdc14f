"""Checks of GetPreferredAllocation."""

from collections.abc import Iterable, Iterator, Sequence

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.conformance.checks.check import Feature, RequirementLevel, check
from numaproof.harness.conformance.exchange import Called, Exchange
from numaproof.harness.conformance.finding import NO_DEVICE, Facts, Finding, finding_of, skipped
from numaproof.harness.conformance.happenings import Method, Probe, Session


def _preferences(
    exchange: Exchange, *probes: Probe
) -> Iterator[tuple[Called, api.ContainerPreferredAllocationRequest, list[str] | None]]:
    for call in exchange.calls(Method.PREFERRED, *probes):
        assert isinstance(call.request, api.PreferredAllocationRequest)
        answer: list[str] | None = None
        if isinstance(call.response, api.PreferredAllocationResponse):
            answers = call.response.container_responses
            answer = list(answers[0].deviceIDs) if answers else []
        yield call, call.request.container_requests[0], answer


@check(
    "dp/preferred/1",
    RequirementLevel.MUST,
    title="valid preferences",
    requirement=(
        "A preferred allocation holds available ids only, all that must be included, exactly as many as asked for, "
        "none twice; an empty answer is fine, an error is not."
    ),
    why="An error fails the pod's admission, and the kubelet does not use an invalid answer as it was meant.",
    remedy="Answer nothing when you have no preference.",
    sessions=(Session.CALLS,),
    about=(Method.PREFERRED,),
    feature=Feature.PREFERRED,
    since="v1.19",
)
def valid_preferences(exchange: Exchange, _facts: Facts) -> Finding:
    wrong, judged = [], 0
    for call, asked, answer in _preferences(exchange):
        judged += 1
        wish = f"{asked.allocation_size} of {len(asked.available_deviceIDs)} with {list(asked.must_include_deviceIDs)}"
        if answer is None:
            wrong.append(f"{wish}: {call.code}: {call.details}")
        elif answer:
            wrong += [
                f"{wish}: {problem}"
                for problem in set_problems(
                    answer, asked.available_deviceIDs, asked.must_include_deviceIDs, asked.allocation_size
                )
            ]
    return finding_of(wrong, f"{judged} requests were answered") if judged else skipped(NO_DEVICE)


def set_problems(
    chosen: Sequence[str], available: Iterable[str], must_include: Iterable[str], size: int
) -> Iterator[str]:
    """What is wrong with a set of devices that a plugin prefers."""
    if outside := set(chosen).difference(available):
        yield f"{sorted(outside)[0]!r} is not available"
    if missing := set(must_include).difference(chosen):
        yield f"{sorted(missing)[0]!r} must be included, and is not"
    if len(set(chosen)) < len(chosen):
        yield "an id is repeated"
    if len(chosen) != size:
        yield f"{len(chosen)} ids are answered"


@check(
    "dp/preferred/2",
    RequirementLevel.SHOULD,
    title="steady and sensible preferences",
    requirement=(
        "The same request gets the same answer, and when only one answer is possible (all that is available, or all "
        "that must be included, is asked for), it is given."
    ),
    why="An answer by chance makes placements that nobody can reproduce.",
    remedy="Sort the ids first; do not range over a map.",
    sessions=(Session.CALLS,),
    about=(Method.PREFERRED,),
    feature=Feature.PREFERRED,
    since="v1.19",
)
def steady_preferences(exchange: Exchange, _facts: Facts) -> Finding:
    wrong, judged = [], 0
    before: dict[str, list[str]] = {}
    for call, asked, answer in _preferences(exchange):
        if answer is None:
            continue
        judged += 1
        key = f"{call.resource} {asked}"
        said = before.setdefault(key, answer)
        if sorted(said) != sorted(answer):
            wrong.append(f"{asked.allocation_size} of {len(asked.available_deviceIDs)}: {said}, then {answer}")
        if call.probe == Probe.EDGE and not answer:
            wrong.append(
                f"{asked.allocation_size} of {len(asked.available_deviceIDs)}: nothing, where one answer is possible"
            )
    return (
        finding_of(wrong, f"{judged} answers agree")
        if judged
        else skipped("it answered nothing that could be compared")
    )
