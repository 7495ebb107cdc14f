"""The check of PreStartContainer."""

from numaproof.harness.conformance.checks.check import Feature, RequirementLevel, check
from numaproof.harness.conformance.exchange import Exchange
from numaproof.harness.conformance.finding import NO_DEVICE, Facts, Finding, finding_of, skipped
from numaproof.harness.conformance.happenings import Method, Probe, Session


@check(
    "dp/prestart/1",
    RequirementLevel.MUST,
    title="PreStartContainer",
    requirement="PreStartContainer answers within 30 s.",
    why="The kubelet gives up after 30 s, and the container does not start.",
    remedy="Answer in time, or do not ask for the call in your options.",
    sessions=(Session.CALLS,),
    about=(Method.PRE_START,),
    feature=Feature.PRESTART,
    since="v1.11",
)
def pre_start(exchange: Exchange, _facts: Facts) -> Finding:
    calls = exchange.calls(Method.PRE_START, Probe.VALID)
    wrong = [f"{call.code} after {call.seconds:.1f} s: {call.details}" for call in calls if call.code != "OK"]
    return finding_of(wrong, "it answers in time") if calls else skipped(NO_DEVICE)
