"""The check of GetDevicePluginOptions."""

from numaproof.harness.conformance.checks.check import RequirementLevel, check
from numaproof.harness.conformance.exchange import Called, Ended, Exchange
from numaproof.harness.conformance.finding import Facts, Finding, finding_of
from numaproof.harness.conformance.happenings import Happening, Method, Probe, Session


@check(
    "dp/options/1",
    RequirementLevel.MUST,
    title="GetDevicePluginOptions",
    requirement="GetDevicePluginOptions succeeds.",
    why="The kubelet calls it inside Register, and its error fails the registration.",
    remedy="Implement it; an empty DevicePluginOptions is a good answer.",
    sessions=(Session.CALLS,),
    about=(Method.OPTIONS,),
)
def options_succeed(exchange: Exchange, _facts: Facts) -> Finding:
    wrong = [
        f"{call.code}: {call.details}"
        for call in exchange.calls(Method.OPTIONS, Probe.REGISTER, Probe.OPTIONS)
        if call.code != "OK" and not _reaches_nobody(exchange, call)
    ]
    return finding_of(wrong, "it answers")


def _reaches_nobody(exchange: Exchange, call: Called) -> bool:
    """Whether a call reached nobody because the subject was just dying, of another call or by the suite's own hand."""
    ends = [event.time for event in exchange.of(Ended, call.session)]
    ends += [event.time for event in exchange.happenings(Happening.CONNECTIONS_END, call.session)]
    return call.code in {"UNAVAILABLE", "CANCELLED"} and any(end <= call.time + call.seconds for end in ends)
