"""From the exchange to the verdict of each check."""

from collections.abc import Mapping
from dataclasses import dataclass

from numaproof.harness.conformance.checks.check import Check, Feature, RequirementLevel
from numaproof.harness.conformance.exchange import Exchange, Registered
from numaproof.harness.conformance.finding import CheckVerdict, Facts
from numaproof.harness.conformance.happenings import Happening, Method, Session
from numaproof.harness.conformance.result import CheckResult

# Feature -> the flag of DevicePluginOptions by which a plugin offers it.
_FLAGS = {Feature.PREFERRED: "get_preferred_allocation_available", Feature.PRESTART: "pre_start_required"}


@dataclass(frozen=True, slots=True)
class Conditions:
    """What decides, besides the exchange, whether a check can be judged and how much it weighs."""

    facts: Facts
    absent: Mapping[Session, str]  # session -> why it did not take place
    broken: Mapping[Session, str]  # session -> the suite's own fault in it
    features: frozenset[Feature] | None = None  # None: what the subject says of itself
    health: bool = False  # a way to change a device's health was given
    strict: bool = False


def judge(check: Check, exchange: Exchange, conditions: Conditions) -> CheckResult:
    """The verdict of one check."""
    broken = [conditions.broken[session] for session in check.sessions if session in conditions.broken]
    if broken:
        return CheckResult(check, CheckVerdict.ERROR, broken[0])
    if reason := _reason_to_skip(check, exchange, conditions):
        return CheckResult(check, CheckVerdict.SKIP, reason)
    try:
        finding = check.judge(exchange, conditions.facts)
    except Exception as error:  # whatever it is, it is the suite's own fault, and reported as such
        return CheckResult(check, CheckVerdict.ERROR, f"{type(error).__name__}: {error}")
    if finding.verdict is not CheckVerdict.FAIL:
        return CheckResult(check, finding.verdict, finding.seen)
    is_failure = check.level is RequirementLevel.MUST or (check.level is RequirementLevel.SHOULD and conditions.strict)
    return CheckResult(check, CheckVerdict.FAIL if is_failure else CheckVerdict.WARN, finding.seen)


def _reason_to_skip(check: Check, exchange: Exchange, conditions: Conditions) -> str:
    """Why a check cannot be judged; empty: it can."""
    present = [session for session in check.sessions if session not in conditions.absent]
    if not present:
        return conditions.absent[check.sessions[0]]
    if check.feature and (reason := _reason_to_lack(check.feature, exchange, conditions)):
        return reason
    silent = [exchange.happened(Happening.NOT_REGISTERED, session) for session in present]
    if all(silent):
        last = silent[0].details if silent[0] else ""
        return f"the subject did not register in this session; its last words: {last or 'none'}"
    if check.area == "register" and not exchange.of(Registered) and not exchange.happened(Happening.SIGTERM):
        return "no registration was seen: the suite was given a socket"
    return ""


def _reason_to_lack(feature: Feature, exchange: Exchange, conditions: Conditions) -> str:
    """Why the subject does not offer a feature; empty: it does."""
    if feature is Feature.HEALTH:
        return "" if conditions.health else "no way to change a device's health was given (--unhealthy, --healthy)"
    if feature is Feature.WATCHER:
        is_found = any(event.via is Method.GET_INFO for event in exchange.of(Registered))
        return "" if is_found or exchange.calls(Method.GET_INFO) else "it registers by itself, not by plugins_registry"
    if conditions.features is not None:
        return "" if feature in conditions.features else f"left out by --features ({feature} is not among them)"
    if feature is Feature.DRAFT:
        answered = [
            call for call in exchange.calls(Method.DRAFT_OPTIONS) + exchange.calls(Method.DRAFT) if call.response
        ]
        return "" if answered else "it does not serve the draft GetPreferredAllocations"
    flag = _FLAGS[feature]
    answers = [call.response for call in exchange.calls(Method.OPTIONS)]
    if any(getattr(answer, flag, False) for answer in answers):
        return ""
    return f"its options do not offer it ({flag} is false)"
