"""Checks of plugins that the kubelet finds in plugins_registry."""

from numaproof.harness.conformance.checks.check import Feature, RequirementLevel, check
from numaproof.harness.conformance.checks.register import after_refusal
from numaproof.harness.conformance.exchange import Exchange
from numaproof.harness.conformance.finding import Facts, Finding, finding_of
from numaproof.harness.conformance.happenings import Happening, Method, Probe, Session, Topic


@check(
    "dp/watcher/1",
    RequirementLevel.MUST,
    title="registration by plugins_registry",
    requirement=(
        "GetInfo answers within 1 s with the type `DevicePlugin`, NotifyRegistrationStatus within 5 s, and the "
        "socket's name does not begin with a dot."
    ),
    why="The kubelet's plugin watcher has these deadlines, and ignores names with a dot.",
    remedy="Answer at once; name the socket after the resource.",
    sessions=(Session.CALLS,),
    about=(Method.GET_INFO, Method.NOTIFY, Topic.REGISTRY),
    feature=Feature.WATCHER,
    since="v1.12",
)
def answers_in_time(exchange: Exchange, _facts: Facts) -> Finding:
    wrong = []
    infos = exchange.calls(Method.GET_INFO, Probe.FOUND)
    answered = [call for call in infos if call.response is not None]
    if infos and not answered:
        wrong.append(f"GetInfo: {infos[0].code} after {infos[0].seconds:.2f} s: {infos[0].details}")
    for call in (*answered, *exchange.calls(Method.GET_INFO, Probe.PATIENT)):
        kind = getattr(call.response, "type", "DevicePlugin")
        if kind != "DevicePlugin":
            wrong.append(f"GetInfo: type {kind!r}")
    notices = exchange.calls(Method.NOTIFY, Probe.ACCEPT)
    if notices and all(call.code != "OK" for call in notices):
        wrong.append(f"NotifyRegistrationStatus: {notices[0].code} after {notices[0].seconds:.2f} s")
    names = {event.details for event in exchange.happenings(Happening.REGISTRY_SOCKET)}
    wrong += [f"the socket {name} begins with a dot" for name in sorted(names) if name.startswith(".")]
    return finding_of(wrong, "answers in time")


@check(
    "dp/watcher/2",
    RequirementLevel.SHOULD,
    title="recovers from a refusal",
    requirement="After NotifyRegistrationStatus(false) the plugin can still be registered, or exits.",
    why="The kubelet tries again, with growing intervals; a plugin that stopped serving stays unknown.",
    remedy="Go on serving, or create the socket anew.",
    sessions=(Session.REFUSED,),
    about=(Method.GET_INFO, Method.NOTIFY, Topic.SUBJECT),
    feature=Feature.WATCHER,
    since="v1.12",
)
def recovers_from_refusal(exchange: Exchange, _facts: Facts) -> Finding:
    return after_refusal(exchange)
