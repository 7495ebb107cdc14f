"""Checks of registering, starting and ending."""

from numaproof.harness.conformance.checks.check import RequirementLevel, check
from numaproof.harness.conformance.exchange import Exchange, Registered
from numaproof.harness.conformance.finding import NOT_REACHED, Facts, Finding, failed, finding_of, passed, skipped
from numaproof.harness.conformance.happenings import Happening, Method, Session, Topic
from numaproof.harness.resource_names import resource_name_problem
from numaproof.harness.vocabulary import DEVICE_PLUGIN_DIRECTORY, LONGEST_SOCKET_PATH, PLUGIN_REGISTRY_DIRECTORY


@check(
    "dp/register/1",
    RequirementLevel.MUST,
    title="API version",
    requirement="The plugin registers with the version `v1beta1`.",
    why="The kubelet refuses every other version, and the resource never appears on the node.",
    remedy="Set RegisterRequest.version (or GetInfo's supported_versions) to `v1beta1`.",
    sessions=(Session.CALLS,),
    about=(Method.REGISTER, Method.GET_INFO),
)
def version(exchange: Exchange, _facts: Facts) -> Finding:
    seen = exchange.of(Registered)
    wrong = [
        f"{event.resource}: version {event.version!r}" for event in seen if "v1beta1" not in event.version.split(",")
    ]
    return finding_of(wrong, f"version {seen[0].version}")


@check(
    "dp/register/2",
    RequirementLevel.MUST,
    title="resource name",
    requirement=(
        "The resource name is `domain/name`: exactly one `/`, a lower-case DNS domain without `kubernetes.io/` and "
        "without the prefix `requests.`, at most 253 characters with `requests.`, and a name part of at most 63 "
        "characters."
    ),
    why="The kubelet accepts extended resources only, and refuses a registration with any other name.",
    remedy="Use a domain that is yours, such as `example.com/gpu`.",
    sessions=(Session.CALLS,),
    about=(Method.REGISTER, Method.GET_INFO),
)
def resource_name(exchange: Exchange, _facts: Facts) -> Finding:
    names = exchange.resources()
    wrong = [f"{name!r}: {problem}" for name in names if (problem := resource_name_problem(name))]
    return finding_of(wrong, ", ".join(names))


@check(
    "dp/register/3",
    RequirementLevel.MUST,
    title="serves before it registers",
    requirement="The plugin's own socket answers when Register is called.",
    why=(
        "The kubelet dials back within 10 s and calls GetDevicePluginOptions before Register returns; a plugin that "
        "waits for Register before it serves is never registered."
    ),
    remedy="Start the gRPC server, wait until it answers, and register then.",
    sessions=(Session.CALLS,),
    about=(Method.REGISTER, Method.OPTIONS),
)
def serves_first(exchange: Exchange, _facts: Facts) -> Finding:
    wrong = [f"{event.resource}: {event.dial_error}" for event in exchange.of(Registered) if event.dial_error]
    return finding_of(wrong, "it answered when the kubelet dialled back")


@check(
    "dp/register/4",
    RequirementLevel.MUST,
    title="endpoint",
    requirement=(
        "The endpoint is the name of a socket in the plugin directory, without any path, and the whole path has at "
        "most 107 bytes."
    ),
    why="The kubelet joins it to the directory's path; a unix socket's path holds no more than 107 bytes.",
    remedy="Register the socket's base name, such as `example-gpu.sock`.",
    sessions=(Session.CALLS,),
    about=(Method.REGISTER, Method.GET_INFO),
)
def endpoint(exchange: Exchange, _facts: Facts) -> Finding:
    wrong = []
    for event in exchange.of(Registered):
        name = event.endpoint
        if event.via is Method.GET_INFO:
            path = name if name.startswith("/") else f"{PLUGIN_REGISTRY_DIRECTORY}/{name}"
        else:
            path = f"{DEVICE_PLUGIN_DIRECTORY}/{name}"
            if "/" in name or not name:
                wrong.append(f"endpoint {name!r} is not a plain name")
        if len(path.encode()) > LONGEST_SOCKET_PATH and "/" not in name:
            wrong.append(f"{path}: {len(path.encode())} bytes, more than {LONGEST_SOCKET_PATH}")
    return finding_of(wrong, ", ".join(dict.fromkeys(event.endpoint for event in exchange.of(Registered))))


@check(
    "dp/register/5",
    RequirementLevel.SHOULD,
    title="options agree",
    requirement="The options in Register equal those of GetDevicePluginOptions.",
    why="The kubelet uses the latter only: what is said in Register alone has no effect.",
    remedy="Fill both from the same variable.",
    sessions=(Session.CALLS,),
    about=(Method.REGISTER, Method.OPTIONS),
)
def same_options(exchange: Exchange, _facts: Facts) -> Finding:
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
    return finding_of(wrong, "equal") if compared else skipped("there was nothing to compare")


@check(
    "dp/register/6",
    RequirementLevel.MUST,
    title="registers again after a kubelet restart",
    requirement=(
        "When the kubelet restarts (streams end, sockets are wiped, kubelet.sock is new), the plugin serves and "
        "registers again."
    ),
    why=(
        "A restarted kubelet knows no plugin: without a new registration the node's devices are gone until somebody "
        "restarts the plugin."
    ),
    remedy=(
        "Watch the directory for a new kubelet.sock, then serve on a new socket and register. If your plugin exits in "
        "order to be restarted, check it with --supervise."
    ),
    sessions=(Session.RESTART,),
    about=(Method.REGISTER, Topic.SUBJECT, Topic.KUBELET),
)
def registers_again(exchange: Exchange, _facts: Facts) -> Finding:
    if missing := exchange.happened(Happening.NOT_REGISTERED_AGAIN):
        ends = exchange.happenings(Happening.SUBJECT_EXITED, Session.RESTART)
        ended = f"; it exited with the code {ends[-1].value}" if ends else ""
        return failed(f"not registered again: {missing.details}{ended}")
    again = exchange.happened(Happening.REGISTERED_AGAIN)
    if again is None:
        return skipped(NOT_REACHED)
    helped = exchange.happened(Happening.SUBJECT_RESTARTED, Session.RESTART)
    return passed(again.details + ("; it had exited, and was restarted as a DaemonSet would do" if helped else ""))


@check(
    "dp/register/7",
    RequirementLevel.MUST,
    title="registrations do not overlap",
    requirement="The old ListAndWatch stream has ended before the plugin registers again.",
    why=(
        "When the old stream ends after the new registration, the kubelet takes it for the end of the new one, and the "
        "resource has 0 allocatable devices from then on."
    ),
    remedy="Stop the old gRPC server, with its streams, before you start and register the new one.",
    sessions=(Session.RESTART,),
    about=(Method.REGISTER, Method.LIST_AND_WATCH, Topic.STREAM),
)
def no_overlap(exchange: Exchange, _facts: Facts) -> Finding:
    wrong = [
        f"{event.resource} was registered again while its old stream was open"
        for event in exchange.of(Registered)
        if event.overlaps
    ]
    if not wrong and exchange.happened(Happening.NOT_REGISTERED_AGAIN, Session.RESTART):
        return skipped("it does not register again at all")
    quiet = exchange.happened(Happening.NO_OVERLAPPING_REGISTRATION)
    return finding_of(wrong, quiet.what.text if quiet else "the old streams had ended")


@check(
    "dp/register/8",
    RequirementLevel.SHOULD,
    title="starts before the kubelet",
    requirement="Started before the kubelet, the plugin waits for it, or exits with a code other than 0.",
    why="At boot nobody orders the two: a plugin that ends well, or sits idle, is not started again.",
    remedy="Wait until kubelet.sock appears, or exit with an error so that your pod is restarted.",
    sessions=(Session.EARLY,),
    about=(Method.REGISTER, Topic.SUBJECT, Topic.KUBELET),
)
def starts_early(exchange: Exchange, _facts: Facts) -> Finding:
    if exchange.happened(Happening.REGISTERED_LATE):
        return passed("it waited")
    if idle := exchange.happened(Happening.IDLE_BEFORE_LATE_KUBELET):
        return failed(f"the kubelet came, and it did nothing {idle.details}")
    end = exchange.happened(Happening.SUBJECT_EXITED, Session.EARLY)
    if end is None:
        return skipped(NOT_REACHED)
    return passed(f"it exited with the code {end.value}") if end.value else failed("it exited with the code 0")


@check(
    "dp/register/9",
    RequirementLevel.SHOULD,
    title="refused registration",
    requirement="After a refused registration the plugin tries again, or exits.",
    why="A kubelet that is just starting refuses; a plugin that ignores it offers nothing, and looks healthy.",
    remedy="Check the error that Register returns; retry, or exit with it.",
    sessions=(Session.REFUSED,),
    about=(Method.REGISTER, Topic.SUBJECT),
)
def refusal(exchange: Exchange, _facts: Facts) -> Finding:
    if any(event.via is Method.GET_INFO for event in exchange.of(Registered, Session.REFUSED)):
        return skipped("it is registered by plugins_registry: see dp/watcher/2")
    return after_refusal(exchange)


def after_refusal(exchange: Exchange) -> Finding:
    """Whether the subject came again after a refusal, or exited."""
    if exchange.happened(Happening.TRIED_AGAIN):
        return passed("it tried again")
    if idle := exchange.happened(Happening.GAVE_UP):
        return failed(f"it neither tried again nor exited {idle.details}")
    end = exchange.happened(Happening.SUBJECT_EXITED, Session.REFUSED)
    return passed(f"it exited with the code {end.value}") if end else skipped(NOT_REACHED)


@check(
    "dp/register/10",
    RequirementLevel.SHOULD,
    title="stale socket",
    requirement="Killed and started again, the plugin serves although its old socket is still there.",
    why="A killed process leaves its socket behind, and binding to it fails until somebody removes it.",
    remedy="Remove your own socket before you listen.",
    sessions=(Session.REFUSED,),
    about=(Method.REGISTER, Topic.SUBJECT),
)
def stale_socket(exchange: Exchange, _facts: Facts) -> Finding:
    if exchange.happened(Happening.REGISTERED_OVER_STALE_SOCKET):
        return passed("it serves and registers")
    bad = exchange.happened(Happening.NOT_REGISTERED_OVER_STALE_SOCKET)
    if bad is None:
        return skipped(NOT_REACHED)
    ends = exchange.happenings(Happening.SUBJECT_EXITED, Session.REFUSED)
    ended = f"it exited with the code {ends[-1].value}" if ends else "it did not register"
    return failed(f"killed and started again, {ended}: {bad.details}".rstrip(": "))


@check(
    "dp/register/11",
    RequirementLevel.SHOULD,
    title="SIGTERM",
    requirement="On SIGTERM the plugin removes its socket and exits with the code 0.",
    why="Pods end by SIGTERM: an orphaned socket confuses whoever dials it, and an error code looks like a crash.",
    remedy="Handle SIGTERM: stop the server, remove the socket, return from main.",
    sessions=(Session.EARLY,),
    about=(Topic.SUBJECT, Topic.SOCKET),
)
def sigterm(exchange: Exchange, _facts: Facts) -> Finding:
    sent = exchange.happened(Happening.SIGTERM)
    if sent is None:
        return skipped(NOT_REACHED)
    if still := exchange.happened(Happening.SURVIVES_SIGTERM):
        return failed(f"it still runs {still.details}")
    ends = exchange.happenings(Happening.SUBJECT_EXITED, Session.EARLY, since=sent.time)
    if not ends:
        return skipped("it had ended before")
    end = ends[0]
    left = exchange.happened(Happening.SOCKET_LEFT)
    wrong = [f"exit code {end.value}"] if end.value else []
    wrong += [f"left its socket behind: {left.details}"] if left else []
    return finding_of(wrong, "exit code 0, no socket left")
