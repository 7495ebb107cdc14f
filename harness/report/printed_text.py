"""What the subject printed in words, for reports: beside the exchange, and as a whole."""

from collections.abc import Sequence

from numaproof.harness.conformance.checks.check import Check
from numaproof.harness.conformance.exchange import Called, Ended, Event, Happened, Registered
from numaproof.harness.conformance.happenings import Happening
from numaproof.harness.conformance.printed import Printed
from numaproof.harness.conformance.result import Report
from numaproof.harness.report.exchange_text import events_about

_MOST_LINES = 40
_MOST_MOMENTS = 200
_AFTER_SECONDS = 0.5  # what is printed because of something comes a little later
_WENT_WRONG = {
    Happening.SUBJECT_EXITED,
    Happening.NOT_REGISTERED,
    Happening.NOT_REGISTERED_AGAIN,
    Happening.NOT_REGISTERED_OVER_STALE_SOCKET,
    Happening.SURVIVES_SIGTERM,
    Happening.GAVE_UP,
}


def lines_beside(check: Check, report: Report) -> list[str]:
    """What the subject printed in the sessions that a check is judged by; of many lines those nearest to its events.

    Where something went wrong among the events (a call failed, a stream broke, the subject ended), that is the moment.
    """
    printed = sorted((one for one in report.output if one.session in check.sessions), key=lambda one: one.time)
    if len(printed) <= _MOST_LINES:
        return [line(one) for one in printed]
    moments = _moments(check, report)
    printed = [one for one in printed if any(one.session is moment.session for moment in moments)] or printed
    ranked = sorted(range(len(printed)), key=lambda n: (_distance(printed[n], moments), -n))
    return _with_gaps(printed, sorted(ranked[:_MOST_LINES]))


def last_lines(check: Check, report: Report, most: int) -> list[str]:
    """The last that the subject had printed when it came to what a check is judged by, and a moment after it."""
    moments = _moments(check, report)
    if not moments:
        return []
    last = max(moments, key=_end)
    until = _end(last) + _AFTER_SECONDS
    return [line(one) for one in report.output if one.session is last.session and one.time <= until][-most:]


def line(printed: Printed) -> str:
    """A line, with its time and its session as the exchange has them."""
    return f"{printed.time:8.3f} s  {printed.session:8} {printed.text}"


def _moments(check: Check, report: Report) -> list[Event]:
    """The events at which something went wrong, else all of them; of very many the last."""
    events = events_about(check, report.exchange)
    return ([one for one in events if _went_wrong(one)] or events)[-_MOST_MOMENTS:]


def _with_gaps(printed: Sequence[Printed], chosen: Sequence[int]) -> list[str]:
    told: list[str] = []
    expected = 0
    for number in (*chosen, len(printed)):
        if number > expected:
            told.append(f"... {number - expected} more ...")
        if number < len(printed):
            told.append(line(printed[number]))
        expected = number + 1
    return told


def _went_wrong(event: Event) -> bool:
    match event:
        case Called():
            return event.code != "OK"
        case Ended():
            return not event.expected
        case Registered():
            return not event.accepted or bool(event.dial_error) or event.overlaps
        case Happened():
            return event.what in _WENT_WRONG
        case _:
            return False


def _distance(printed: Printed, events: Sequence[Event]) -> float:
    """Seconds between a line and the nearest event of its session."""
    return min((_seconds_between(printed.time, one) for one in events if one.session is printed.session), default=1e9)


def _seconds_between(time: float, event: Event) -> float:
    return max(event.time - time, time - _end(event), 0.0)


def _end(event: Event) -> float:
    return event.time + event.seconds if isinstance(event, Called) else event.time
