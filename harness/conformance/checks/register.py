"""Judgements about registering, starting and ending."""

import re

from numaproof.harness.conformance.exchange import Called, Ended, Exchange, Happened, Registered
from numaproof.harness.conformance.happenings import Happening, Method, Probe, Session
from numaproof.harness.conformance.outcome import Facts, Outcome, failed, passed, skipped, verdict_of
from numaproof.harness.conformance.subject import KUBELET_DIRECTORY, KUBELET_REGISTRY
from numaproof.harness.vocabulary import LONGEST_SOCKET_PATH

_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


def version(exchange: Exchange, _facts: Facts) -> Outcome:
    """register/1."""
    seen = exchange.of(Registered)
    wrong = [
        f"{event.resource}: version {event.version!r}" for event in seen if "v1beta1" not in event.version.split(",")
    ]
    return verdict_of(wrong, f"version {seen[0].version}")


def resource_name(exchange: Exchange, _facts: Facts) -> Outcome:
    """register/2."""
    names = exchange.resources()
    wrong = [f"{name!r}: {problem}" for name in names if (problem := name_problem(name))]
    return verdict_of(wrong, ", ".join(names))


def name_problem(name: str) -> str:
    """What is wrong with an extended resource's name; empty: nothing."""
    domain, slash, part = name.partition("/")
    if not slash or "/" in part:
        return f"has {name.count('/')} slashes, not one"
    if "kubernetes.io/" in name:
        return "is in the domain kubernetes.io, which is Kubernetes' own"
    if name.startswith("requests."):
        return "begins with `requests.`"
    if not _DOMAIN.fullmatch(domain):
        return f"{domain!r} is not a lower-case DNS domain"
    if len(f"requests.{domain}") > 253:
        return f"its domain has {len(f'requests.{domain}')} characters with `requests.`, more than 253"
    if not _NAME.fullmatch(part):
        return f"{part!r} is not a name of letters, digits, `-`, `_` and `.`"
    if len(part) > 63:
        return f"its name part has {len(part)} characters, more than 63"
    return ""


def serves_first(exchange: Exchange, _facts: Facts) -> Outcome:
    """register/3."""
    wrong = [f"{event.resource}: {event.dial_error}" for event in exchange.of(Registered) if event.dial_error]
    return verdict_of(wrong, "it answered when the kubelet dialled back")


def endpoint(exchange: Exchange, _facts: Facts) -> Outcome:
    """register/4."""
    wrong = []
    for event in exchange.of(Registered):
        name = event.endpoint
        if event.via == Method.GET_INFO:
            path = name if name.startswith("/") else f"{KUBELET_REGISTRY}/{name}"
        else:
            path = f"{KUBELET_DIRECTORY}/{name}"
            if "/" in name or not name:
                wrong.append(f"endpoint {name!r} is not a plain name")
        if len(path.encode()) > LONGEST_SOCKET_PATH and "/" not in name:
            wrong.append(f"{path}: {len(path.encode())} bytes, more than {LONGEST_SOCKET_PATH}")
    return verdict_of(wrong, ", ".join(dict.fromkeys(event.endpoint for event in exchange.of(Registered))))


def same_options(exchange: Exchange, _facts: Facts) -> Outcome:
    """register/5."""
    wrong = []
    compared = 0
    for event in exchange.of(Registered):
        answers = [call.response for call in exchange.calls(Method.OPTIONS) if call.resource == event.resource]
        for answer in answers:
            if event.options is None or answer is None:
                continue
            compared += 1
            if event.options != answer:
                said = str(event.options).replace("\n", " ").strip() or "none"
                gives = str(answer).replace("\n", " ").strip() or "none"
                wrong.append(f"{event.resource}: Register says {said}, GetDevicePluginOptions {gives}")
    return verdict_of(wrong, "equal") if compared else skipped("there was nothing to compare")


def registers_again(exchange: Exchange, _facts: Facts) -> Outcome:
    """register/6."""
    if missing := exchange.happened(Happening.NOT_REGISTERED_AGAIN):
        ends = exchange.happenings(Happening.SUBJECT_EXITED, Session.RESTART)
        ended = f"; it exited with the code {ends[-1].value}" if ends else ""
        return failed(f"not registered again: {missing.details}{ended}")
    again = exchange.happened(Happening.REGISTERED_AGAIN)
    if again is None:
        return skipped("the session did not come so far")
    helped = exchange.happened(Happening.SUBJECT_RESTARTED, Session.RESTART)
    return passed(again.details + ("; it had exited, and was restarted as a DaemonSet would do" if helped else ""))


def no_overlap(exchange: Exchange, _facts: Facts) -> Outcome:
    """register/7."""
    wrong = [
        f"{event.resource} was registered again while its old stream was open"
        for event in exchange.of(Registered)
        if event.overlaps
    ]
    if not wrong and exchange.happened(Happening.NOT_REGISTERED_AGAIN, Session.RESTART):
        return skipped("it does not register again at all")
    quiet = exchange.happened(Happening.NO_OVERLAPPING_REGISTRATION)
    return verdict_of(wrong, quiet.what.text if quiet else "the old streams had ended")


def starts_early(exchange: Exchange, _facts: Facts) -> Outcome:
    """register/8."""
    if exchange.happened(Happening.REGISTERED_LATE):
        return passed("it waited")
    if idle := exchange.happened(Happening.IDLE_BEFORE_LATE_KUBELET):
        return failed(f"the kubelet came, and it did nothing {idle.details}")
    end = exchange.happened(Happening.SUBJECT_EXITED, Session.EARLY)
    if end is None:
        return skipped("the session did not come so far")
    return passed(f"it exited with the code {end.value}") if end.value else failed("it exited with the code 0")


def refusal(exchange: Exchange, _facts: Facts) -> Outcome:
    """register/9."""
    if any(event.via == Method.GET_INFO for event in exchange.of(Registered, Session.REFUSED)):
        return skipped("it is registered by plugins_registry: see dp/watcher/2")
    return _after_refusal(exchange)


def _after_refusal(exchange: Exchange) -> Outcome:
    if exchange.happened(Happening.TRIED_AGAIN):
        return passed("it tried again")
    if idle := exchange.happened(Happening.GAVE_UP):
        return failed(f"it neither tried again nor exited {idle.details}")
    end = exchange.happened(Happening.SUBJECT_EXITED, Session.REFUSED)
    return passed(f"it exited with the code {end.value}") if end else skipped("the session did not come so far")


def watcher_refusal(exchange: Exchange, _facts: Facts) -> Outcome:
    """watcher/2."""
    return _after_refusal(exchange)


def stale_socket(exchange: Exchange, _facts: Facts) -> Outcome:
    """register/10."""
    if exchange.happened(Happening.REGISTERED_OVER_STALE_SOCKET):
        return passed("it serves and registers")
    bad = exchange.happened(Happening.NOT_REGISTERED_OVER_STALE_SOCKET)
    if bad is None:
        return skipped("the session did not come so far")
    ends = exchange.happenings(Happening.SUBJECT_EXITED, Session.REFUSED)
    ended = f"it exited with the code {ends[-1].value}" if ends else "it did not register"
    return failed(f"killed and started again, {ended}: {bad.details}".rstrip(": "))


def sigterm(exchange: Exchange, _facts: Facts) -> Outcome:
    """register/11."""
    sent = exchange.happened(Happening.SIGTERM)
    if sent is None:
        return skipped("the session did not come so far")
    if still := exchange.happened(Happening.SURVIVES_SIGTERM):
        return failed(f"it still runs {still.details}")
    ends = [
        e for e in exchange.of(Happened, Session.EARLY) if e.what == Happening.SUBJECT_EXITED and e.time >= sent.time
    ]
    if not ends:
        return skipped("it had ended before")
    end = ends[0]
    left = exchange.happened(Happening.SOCKET_LEFT)
    wrong = [f"exit code {end.value}"] if end.value else []
    wrong += [f"left its socket behind: {left.details}"] if left else []
    return verdict_of(wrong, "exit code 0, no socket left")


def watcher_answers(exchange: Exchange, _facts: Facts) -> Outcome:
    """watcher/1."""
    wrong = []
    infos = exchange.calls(Method.GET_INFO, Probe.FOUND)
    answered = [call for call in infos if call.response is not None]
    if infos and not answered:
        wrong.append(f"GetInfo: {infos[0].code} after {infos[0].seconds:.2f} s: {infos[0].details}")
    for call in (*answered, *exchange.calls(Method.GET_INFO, Probe.PATIENT)):
        kind = getattr(call.response, "type", "DevicePlugin")
        if kind != "DevicePlugin":
            wrong.append(f"GetInfo: type {kind!r}")
    told = exchange.calls(Method.NOTIFY, Probe.ACCEPT)
    if told and all(call.code != "OK" for call in told):
        wrong.append(f"NotifyRegistrationStatus: {told[0].code} after {told[0].seconds:.2f} s")
    dotted = {
        e.details for e in exchange.of(Happened) if e.what == Happening.REGISTRY_SOCKET and e.details.startswith(".")
    }
    wrong += [f"the socket {name} begins with a dot" for name in sorted(dotted)]
    return verdict_of(wrong, "answers in time")


def options_succeed(exchange: Exchange, _facts: Facts) -> Outcome:
    """options/1."""
    wrong = [
        f"{call.code}: {call.details}"
        for call in exchange.calls(Method.OPTIONS, Probe.REGISTER, Probe.OPTIONS)
        if call.code != "OK" and not _is_asked_in_vain(exchange, call)
    ]
    return verdict_of(wrong, "it answers")


def _is_asked_in_vain(exchange: Exchange, call: Called) -> bool:
    """Whether a call reached nobody because the subject was just dying, of another call or by the suite's own hand."""
    ends = [event.time for event in exchange.of(Ended, call.session)]
    ends += [event.time for event in exchange.of(Happened, call.session) if event.what == Happening.CONNECTIONS_END]
    return call.code in {"UNAVAILABLE", "CANCELLED"} and any(end <= call.time + call.seconds for end in ends)
