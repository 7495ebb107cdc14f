"""From the exchange to the verdict of each check."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from numaproof.harness.conformance.catalogue import BY_ID, Check, Level
from numaproof.harness.conformance.checks import allocate, listing, register
from numaproof.harness.conformance.exchange import Called, Exchange, Registered
from numaproof.harness.conformance.happenings import Happening, Method
from numaproof.harness.conformance.outcome import Facts, Outcome

PASS, FAIL, WARN, SKIP, ERROR = "pass", "fail", "warn", "skip", "error"

Judge = Callable[[Exchange, Facts], Outcome]

JUDGES: Mapping[str, Judge] = {
    "dp/register/1": register.version,
    "dp/register/2": register.resource_name,
    "dp/register/3": register.serves_first,
    "dp/register/4": register.endpoint,
    "dp/register/5": register.same_options,
    "dp/register/6": register.registers_again,
    "dp/register/7": register.no_overlap,
    "dp/register/8": register.starts_early,
    "dp/register/9": register.refusal,
    "dp/register/10": register.stale_socket,
    "dp/register/11": register.sigterm,
    "dp/options/1": register.options_succeed,
    "dp/list/1": listing.full_and_prompt,
    "dp/list/2": listing.unique_ids,
    "dp/list/3": listing.health_words,
    "dp/list/4": listing.id_lengths,
    "dp/list/5": listing.list_size,
    "dp/list/6": listing.numa_exists,
    "dp/list/7": listing.numa_true,
    "dp/list/8": listing.stays_open,
    "dp/list/9": listing.survives_cancel,
    "dp/list/10": listing.reaches_current,
    "dp/list/11": listing.recovers,
    "dp/allocate/1": allocate.has_response,
    "dp/allocate/2": allocate.as_many,
    "dp/allocate/3": allocate.invalid_ids,
    "dp/allocate/4": allocate.steady,
    "dp/allocate/5": allocate.distinct_paths,
    "dp/allocate/6": allocate.well_formed,
    "dp/allocate/7": allocate.environment_names,
    "dp/allocate/8": allocate.fast,
    "dp/preferred/1": allocate.valid_preferences,
    "dp/preferred/2": allocate.steady_preferences,
    "dp/prestart/1": allocate.pre_start,
    "dp/watcher/1": register.watcher_answers,
    "dp/watcher/2": register.watcher_refusal,
}


@dataclass(frozen=True, slots=True)
class Result:
    """A check's verdict: pass, fail, warn, skip (with its reason) or error (the suite's own fault)."""

    check: Check
    verdict: str
    seen: str

    @property
    def violated(self) -> bool:
        """Whether the subject does not do what is required, whatever that weighs."""
        return self.verdict in {FAIL, WARN}


@dataclass(frozen=True, slots=True)
class Conditions:
    """What decides, besides the exchange, whether a check can be judged and how much it weighs."""

    facts: Facts
    absent: Mapping[str, str]  # session -> why it did not take place
    broken: Mapping[str, str]  # session -> the suite's own fault in it
    features: frozenset[str] | None = None  # None: what the subject says of itself
    health: bool = False  # a way to change a device's health was given
    strict: bool = False


def judge(check_id: str, exchange: Exchange, conditions: Conditions) -> Result:
    """The verdict of one check."""
    check = BY_ID[check_id]
    broken = [conditions.broken[session] for session in check.sessions if session in conditions.broken]
    if broken:
        return Result(check, ERROR, broken[0])
    if reason := _not_judged(check, exchange, conditions):
        return Result(check, SKIP, reason)
    try:
        outcome = JUDGES[check_id](exchange, conditions.facts)
    except Exception as error:  # whatever it is, it is the suite's own fault, and told as such
        return Result(check, ERROR, f"{type(error).__name__}: {error}")
    if outcome.verdict != FAIL:
        return Result(check, outcome.verdict, outcome.seen)
    fails = check.level == Level.MUST or (check.level == Level.SHOULD and conditions.strict)
    return Result(check, FAIL if fails else WARN, outcome.seen)


def _not_judged(check: Check, exchange: Exchange, conditions: Conditions) -> str:
    """Why a check cannot be judged; empty: it can."""
    there = [session for session in check.sessions if session not in conditions.absent]
    if not there:
        return conditions.absent[check.sessions[0]]
    if check.feature and (reason := _lacks(check.feature, exchange, conditions)):
        return reason
    silent = [exchange.happened(Happening.NOT_REGISTERED, session) for session in there]
    if all(silent):
        last = silent[0].details if silent[0] else ""
        return f"the subject did not register in this session; its last words: {last or 'none'}"
    if check.area == "register" and not exchange.of(Registered) and not exchange.happened(Happening.SIGTERM):
        return "no registration was seen: the suite was given a socket"
    return ""


def _lacks(feature: str, exchange: Exchange, conditions: Conditions) -> str:
    if feature == "health":
        return "" if conditions.health else "no way to change a device's health was given (--unhealthy, --healthy)"
    if feature == "watcher":
        seen = any(event.via == Method.GET_INFO for event in exchange.of(Registered)) or bool(
            exchange.calls(Method.GET_INFO)
        )
        return "" if seen else "it registers by itself, not by plugins_registry"
    if conditions.features is not None:
        return "" if feature in conditions.features else f"left out by --features ({feature} is not among them)"
    flag = {"preferred": "get_preferred_allocation_available", "prestart": "pre_start_required"}[feature]
    answers = [call.response for call in exchange.calls(Method.OPTIONS) if isinstance(call, Called)]
    if any(getattr(answer, flag, False) for answer in answers):
        return ""
    return f"its options do not offer it ({flag} is false)"
