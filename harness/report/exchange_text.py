"""The exchange in words, for reports: one line an event, long messages shortened."""

from google.protobuf.message import Message

from numaproof.harness.conformance.checks.check import Check
from numaproof.harness.conformance.exchange import Called, Ended, Event, Exchange, Listed, Opened, Registered
from numaproof.harness.conformance.happenings import Method, Topic
from numaproof.harness.conformance.printed import plain

_LONGEST_MESSAGE = 600
_MOST_EVENTS = 60
_LONGEST_LINE = 5000


def lines_about(check: Check, exchange: Exchange) -> list[str]:
    """The events that a check is judged by, as lines of plain text; of many the first and the last."""
    lines = [_plain(line(event)) for event in events_about(check, exchange)]
    if len(lines) > _MOST_EVENTS:
        half = _MOST_EVENTS // 2
        lines = [*lines[:half], f"... {len(lines) - 2 * half} more ...", *lines[-half:]]
    return lines


def events_about(check: Check, exchange: Exchange) -> list[Event]:
    """The events that a check is judged by, in the order of time."""
    events = [e for e in exchange.events if e.session in check.sessions and _topics(e) & set(check.about)]
    return sorted(events, key=lambda event: event.time)


def _plain(text: str) -> str:
    """What the subject says of itself may be anything, of any length, and of several lines (its last words are)."""
    lines = [plain(one) for one in text[:_LONGEST_LINE].split("\n")]
    return "\n".join(lines) if len(text) <= _LONGEST_LINE else "\n".join(lines) + " ..."


def _topics(event: Event) -> frozenset[Method | Topic]:
    """What an event is about."""
    match event:
        case Called():
            return frozenset({event.name})
        case Registered():
            return frozenset({event.via})
        case Listed():
            return frozenset({Method.LIST_AND_WATCH})
        case Opened() | Ended():
            return frozenset({Topic.STREAM})
        case _:
            return frozenset(event.what.topics)


def line(event: Event) -> str:
    """An event in one line."""
    where = f"{event.time:8.3f} s  {event.session:8}"
    match event:
        case Called():
            answer = message(event.response) if event.response is not None else f"{event.code} {event.details}"
            return (
                f"{where} -> {event.name} [{event.probe}] {message(event.request)} <- {answer} ({event.seconds:.3f} s)"
            )
        case Registered():
            what = f"{event.resource} {event.version} {event.endpoint}"
            how = event.dial_error or ("accepted" if event.accepted else "refused")
            return f"{where} <- {event.via} {what}: {how}{', overlaps' if event.overlaps else ''}"
        case Listed():
            return f"{where} <- ListAndWatch stream {event.stream}: {event.size} bytes {message(event.response)}"
        case Opened():
            return f"{where} -> ListAndWatch stream {event.stream} opened [{event.probe}]"
        case Ended():
            whose = "as expected" if event.expected else "unexpectedly"
            return f"{where} .. stream {event.stream} ended {whose}: {event.code} {event.details}"
        case _:
            value = f" ({event.value})" if event.value else ""
            return f"{where} .. {event.what.text}{value} {event.details}".rstrip()


def message(content: Message) -> str:
    """A message in one line, shortened."""
    # A list of 100,000 devices is not worth printing whole only to cut it.
    if content.ByteSize() > 20 * _LONGEST_MESSAGE:
        devices = getattr(content, "devices", ())
        few = " ".join(message(device) for device in devices[:3])
        return f"{{{len(devices)} devices: {few} ...}}"
    text = " ".join(str(content).split())
    return "{" + (text if len(text) <= _LONGEST_MESSAGE else text[:_LONGEST_MESSAGE] + " ...") + "}"
