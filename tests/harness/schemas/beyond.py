"""Mistakes that a schema cannot tell, each with its reason; the reader refuses all of them."""

from collections.abc import Mapping

_TEXTS = ("-7", "2.5", "0", "3", "'@'", "'0-3'")
_WORDS = ("'@'", "'0-3'")

# Kind of file -> why -> mapping and key -> the mistakes.
BEYOND: Mapping[str, Mapping[str, Mapping[tuple[str, str], tuple[str, ...]]]] = {
    "scenario": {
        "it names what is not there, or is named elsewhere": {
            ("scenario", "matrix"): ("removed", "{}"),
            ("scenario", "plugins"): ("removed", "[]"),
            ("plugin", "resource"): _TEXTS,
            ("pod", "name"): _TEXTS,
            ("container", "name"): _TEXTS,
            ("bind", "pod"): _WORDS,
            ("health", "resource"): _TEXTS,
            ("step", "restart"): _WORDS,
            ("step", "stop"): _WORDS,
            ("step", "start"): _WORDS,
            ("step", "remove"): _WORDS,
            ("expected", "evicted"): ("['@']",),
            ("expected", "listed"): ("{'@': []}",),
            ("expected", "pending"): ("['@']",),
            ("expected", "when"): ("{'@': '@'}",),
            ("given", "devices"): ("{'@': []}",),
            ("given", "same_cpus_as"): ("''", *_WORDS),
        },
        "it names a file that is not there": {("kubelet", "file"): _TEXTS, ("pod", "file"): _TEXTS},
        "the kubelet's own rules judge, when the file is read": {
            ("kubelet", "cpuManagerPolicy"): (
                *("True", *_TEXTS, "[]", "['@']", "[[]]", "[3]", "{}"),
                *("{'@': '@'}", "{'@': []}"),
            ),
        },
    },
    "machine": {
        "counts, lists and ids do not go together": {
            ("machine", "groups"): ("removed",),
            ("machine", "preset"): ("removed",),
            ("machine", "distances"): ("[]", "[[]]", "[3]"),
            ("machine", "packages"): ("removed", "3"),
            ("machine", "dies"): ("3",),
            ("machine", "nodes"): ("3",),
            ("machine", "cores"): ("removed", "[]"),
            ("machine", "node-ids"): ("removed", "[]", "[3]"),
            ("machine", "spare-nodes"): ("0", "'0-3'"),
            ("machine", "devices"): ("removed", "[]"),
            ("group", "packages"): ("3",),
            ("group", "dies"): ("3",),
            ("group", "nodes"): ("3",),
            ("cores", "count"): ("removed", "3"),
            ("cores", "threads"): ("3",),
            ("access", "initiators"): ("3", "'0-3'"),
            ("pciDevice", "node"): ("3",),
            ("pciDevice", "buses"): ("removed",),
            ("pciDevice", "class"): ("removed",),
            ("vfs", "total"): ("0",),
        },
        "sizes do not go together, or are not those of pages": {
            ("machine", "memory"): ("removed", "2.5", "0", "3"),
            ("group", "memory"): ("2.5", "0", "3"),
            ("numaNode", "memory"): ("2.5", "0", "3"),
            ("machine", "hugepage-sizes"): ("[3]",),
        },
        "an editor sees a number, the reader its digits: 00 and 0, 0x030200 and 197120": {
            ("hostBridge", "root"): ("0", "3"),
            ("pciDevice", "buses"): ("0", "3"),
            ("pciDevice", "class"): ("0", "3"),
        },
    },
    "check": {
        "it names no check or feature, or is no NAME=VALUE": {
            ("options", "env"): ("['@']",),
            ("options", "exclude"): ("['@']",),
            ("options", "features"): _WORDS,
        },
    },
    "costs": {},
}


def beyond(kind: str) -> set[tuple[str, str, str]]:
    """All of a kind: mapping, key, mistake."""
    return {
        (mapping, key, done)
        for places in BEYOND[kind].values()
        for (mapping, key), mistakes in places.items()
        for done in mistakes
    }
