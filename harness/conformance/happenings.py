"""What the sessions tell the checks: every word that both sides use."""

from enum import Enum, StrEnum


class Session(StrEnum):
    """A part of the run, with a subject and a kubelet of its own."""

    CALLS = "calls"  # every call, valid and invalid; the cancelled stream last
    RESTART = "restart"  # the kubelet restarts; health changes; registrations overlap
    EARLY = "early"  # the subject starts before the kubelet; it ends by SIGTERM
    REFUSED = "refused"  # the first registration is refused; the subject is killed and starts over its own socket


class Method(StrEnum):
    """A call between a kubelet and a plugin, in either direction."""

    REGISTER = "Register"
    OPTIONS = "GetDevicePluginOptions"
    LIST_AND_WATCH = "ListAndWatch"
    ALLOCATE = "Allocate"
    PREFERRED = "GetPreferredAllocation"
    PRE_START = "PreStartContainer"
    DRAFT_OPTIONS = "GetPreferredAllocationsOptions"
    DRAFT = "GetPreferredAllocations"
    GET_INFO = "GetInfo"
    NOTIFY = "NotifyRegistrationStatus"


class Probe(StrEnum):
    """Why the suite makes a call, or opens a stream."""

    REGISTER = "register"  # the options, as a kubelet asks for them inside Register
    OPTIONS = "options"  # the options, later
    AFTER_CANCEL = "after cancel"  # the options, after a cancelled stream
    REGISTERED = "registered"  # the stream that a registration brings
    SECOND = "second"  # the stream after a cancelled one
    SINGLE = "single"  # Allocate for one container
    ORDERED = "ordered"  # the same ids in several orders
    ALL = "all"  # every id at once
    BATCH = "batch"  # several containers of one device each
    MIXED_SIZES = "mixed sizes"  # several containers of different sizes
    SAME_TWICE = "same twice"  # the only device for two containers
    UNKNOWN = "unknown"  # an id that is not listed
    MIXED = "mixed"  # listed ids and one that is not
    EMPTY = "empty"  # no id at all
    VALID = "valid"  # a preference among several that are possible; a good PreStartContainer
    EDGE = "edge"  # a preference where only one answer is possible
    COSTS = "costs"  # the draft call with a size of 0: no sets, only costs
    FOUND = "found"  # GetInfo within the kubelet's deadline
    PATIENT = "patient"  # GetInfo once more, with more time
    ACCEPT = "accept"  # NotifyRegistrationStatus(true)
    REFUSE = "refuse"  # NotifyRegistrationStatus(false)


class Topic(StrEnum):
    """What a happening is about; a check names the topics that its report shows."""

    SUBJECT = "subject"
    KUBELET = "kubelet"
    STREAM = "stream"
    SOCKET = "socket"
    HEALTH = "health"
    REGISTRY = "registry"


class Happening(Enum):
    """What the suite did, and what became of the subject, besides calls and streams: its words and its topics."""

    SUBJECT_STARTED = "subject started", Topic.SUBJECT
    SUBJECT_EXITED = "subject exited", Topic.SUBJECT  # its value: the exit code
    SUBJECT_RESTARTED = "subject restarted", Topic.SUBJECT  # as a DaemonSet would
    SUBJECT_REVIVED = "subject revived", Topic.SUBJECT  # for the rest of the checks

    KUBELET_STARTED = "kubelet started", Topic.KUBELET
    KUBELET_RESTARTS = "kubelet restarts", Topic.KUBELET
    KUBELET_SOCKET_REPLACED = "kubelet.sock replaced", Topic.KUBELET
    CONNECTIONS_END = ("connections end",)  # by the suite's own hand
    REGISTRY_SOCKET = "registry socket", Topic.REGISTRY, Topic.SOCKET  # its details: the socket's name

    NOT_REGISTERED = "not registered", Topic.SUBJECT  # its details: the subject's last output
    STREAM_CANCELLED = "stream cancelled", Topic.STREAM

    REGISTERED_AGAIN = "registered again", Topic.SUBJECT
    NOT_REGISTERED_AGAIN = "not registered again", Topic.SUBJECT
    NO_OVERLAPPING_REGISTRATION = ("no registration while the streams are open",)

    REGISTERED_LATE = "registered with the late kubelet", Topic.SUBJECT, Topic.KUBELET
    IDLE_BEFORE_LATE_KUBELET = "idle before the late kubelet", Topic.KUBELET
    SIGTERM = "SIGTERM", Topic.SUBJECT
    SURVIVES_SIGTERM = "survives SIGTERM", Topic.SUBJECT
    SOCKET_LEFT = "socket left", Topic.SOCKET

    TRIED_AGAIN = "tried again", Topic.SUBJECT
    GAVE_UP = "gave up", Topic.SUBJECT
    REGISTERED_OVER_STALE_SOCKET = "registered over its stale socket", Topic.SUBJECT, Topic.SOCKET
    NOT_REGISTERED_OVER_STALE_SOCKET = "not registered over its stale socket", Topic.SUBJECT, Topic.SOCKET

    # Of those that are asked for, the value is the exit code of the user's command.
    UNHEALTHY_ASKED_BEFORE = "unhealthy asked before the restart", Topic.HEALTH
    UNHEALTHY_SEEN_BEFORE = "unhealthy seen before the restart", Topic.HEALTH
    UNHEALTHY_NOT_SEEN_BEFORE = "unhealthy not seen before the restart", Topic.HEALTH
    HEALTHY_ASKED_BEFORE = "healthy asked before the restart", Topic.HEALTH
    HEALTHY_SEEN_BEFORE = "healthy seen before the restart", Topic.HEALTH
    HEALTHY_NOT_SEEN_BEFORE = "healthy not seen before the restart", Topic.HEALTH
    UNHEALTHY_ASKED_AFTER = "unhealthy asked after the restart", Topic.HEALTH
    UNHEALTHY_SEEN_AFTER = "unhealthy seen after the restart", Topic.HEALTH
    UNHEALTHY_NOT_SEEN_AFTER = "unhealthy not seen after the restart", Topic.HEALTH
    HEALTHY_ASKED_AFTER = "healthy asked after the restart", Topic.HEALTH
    HEALTHY_SEEN_AFTER = "healthy seen after the restart", Topic.HEALTH
    HEALTHY_NOT_SEEN_AFTER = "healthy not seen after the restart", Topic.HEALTH

    def __init__(self, text: str, *topics: Topic) -> None:
        self.text = text
        self.topics = frozenset(topics)
