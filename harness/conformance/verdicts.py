"""From the exchange to the verdict of each check."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from numaproof.harness.conformance import checks_allocate, checks_list, checks_register
from numaproof.harness.conformance.catalogue import BY_ID, Check, Level
from numaproof.harness.conformance.exchange import Called, Exchange, Registered
from numaproof.harness.conformance.outcome import Facts, Outcome

PASS, FAIL, WARN, SKIP, ERROR = "pass", "fail", "warn", "skip", "error"

Judge = Callable[[Exchange, Facts], Outcome]

JUDGES: Mapping[str, Judge] = {
    "dp/register/1": checks_register.version,
    "dp/register/2": checks_register.resource_name,
    "dp/register/3": checks_register.serves_first,
    "dp/register/4": checks_register.endpoint,
    "dp/register/5": checks_register.same_options,
    "dp/register/6": checks_register.registers_again,
    "dp/register/7": checks_register.no_overlap,
    "dp/register/8": checks_register.starts_early,
    "dp/register/9": checks_register.refusal,
    "dp/register/10": checks_register.stale_socket,
    "dp/register/11": checks_register.sigterm,
    "dp/options/1": checks_register.options_succeed,
    "dp/list/1": checks_list.full_and_prompt,
    "dp/list/2": checks_list.unique_ids,
    "dp/list/3": checks_list.health_words,
    "dp/list/4": checks_list.id_lengths,
    "dp/list/5": checks_list.list_size,
    "dp/list/6": checks_list.numa_exists,
    "dp/list/7": checks_list.numa_true,
    "dp/list/8": checks_list.stays_open,
    "dp/list/9": checks_list.survives_cancel,
    "dp/list/10": checks_list.reaches_current,
    "dp/list/11": checks_list.recovers,
    "dp/allocate/1": checks_allocate.has_response,
    "dp/allocate/2": checks_allocate.as_many,
    "dp/allocate/3": checks_allocate.invalid_ids,
    "dp/allocate/4": checks_allocate.steady,
    "dp/allocate/5": checks_allocate.distinct_paths,
    "dp/allocate/6": checks_allocate.well_formed,
    "dp/allocate/7": checks_allocate.environment_names,
    "dp/allocate/8": checks_allocate.fast,
    "dp/preferred/1": checks_allocate.valid_preferences,
    "dp/preferred/2": checks_allocate.steady_preferences,
    "dp/prestart/1": checks_allocate.pre_start,
    "dp/watcher/1": checks_register.watcher_answers,
    "dp/watcher/2": checks_register.watcher_refusal,
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
    silent = [exchange.happened("not registered", session) for session in there]
    if all(silent):
        last = silent[0].details if silent[0] else ""
        return f"the subject did not register in this session; its last words: {last or 'none'}"
    if check.area == "register" and not exchange.of(Registered) and not exchange.happened("SIGTERM"):
        return "no registration was seen: the suite was given a socket"
    return ""


def _lacks(feature: str, exchange: Exchange, conditions: Conditions) -> str:
    if feature == "health":
        return "" if conditions.health else "no way to change a device's health was given (--unhealthy, --healthy)"
    if feature == "watcher":
        seen = any(event.via == "GetInfo" for event in exchange.of(Registered)) or bool(exchange.calls("GetInfo"))
        return "" if seen else "it registers by itself, not by plugins_registry"
    if conditions.features is not None:
        return "" if feature in conditions.features else f"left out by --features ({feature} is not among them)"
    flag = {"preferred": "get_preferred_allocation_available", "prestart": "pre_start_required"}[feature]
    answers = [call.response for call in exchange.calls("GetDevicePluginOptions") if isinstance(call, Called)]
    if any(getattr(answer, flag, False) for answer in answers):
        return ""
    return f"its options do not offer it ({flag} is false)"
